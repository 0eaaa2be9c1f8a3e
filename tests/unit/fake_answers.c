/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a session without a process (fake_session.h) answers of blocks, memory and threads. */

#include "fake_private.h"

#include <stdio.h>
#include <string.h>

#include "heap/block.h"
#include "log/log_totals.h"
#include "session/search/session_search.h"
#include "session/account.h"
#include "session/heap.h"
#include "session/leaks.h"
#include "session/pool/session_contents.h"
#include "session/trim/trim.h"

struct err *session_agent_totals(const struct session *session, struct log_totals *ret)
{
	const struct log_record *held = &fake_of(session)->held;
	struct err *err = log_totals_init(&session->region->log, ret);

	if (err)
		return err;
	log_totals_begin(&session->region->log, ret);
	if (held->address)
		log_totals_add(ret, held->stack, 1, held->size);
	log_totals_end(ret);
	return NULL;
}

struct err *session_agent_in_hand(const struct session *session, struct in_hand *ret)
{
	*ret = (struct in_hand){ VEC_INIT };
	return fake_of(session)->held.address ? vec_push(&ret->vec, fake_of(session)->held) : NULL;
}

struct err *session_heap(struct session *session, enum session_heap_how how,
			 const struct session_heap_look *look, struct heaps *ret)
{
	struct in_hand in_hand = { VEC_INIT };
	const struct session_heap_moment moment = {
		.log = &session->region->log, .in_hand = &in_hand, .until = UINT64_MAX,
	};
	struct err *err = session_agent_in_hand(session, &in_hand);

	*ret = (struct heaps)HEAPS_INIT;
	if (how != SESSION_HEAP_LOG)
		snprintf(ret->why, sizeof(ret->why), "the fake session has no heap");
	if (!err && look)
		err = look->at(look->ctx, ret, &moment);
	vec_free(&in_hand.vec);
	return err;
}

/* Nothing points to anything: all is definitely lost. */
struct err *session_leaks(struct session *session, enum look_how how UNUSED, bool timed,
			  struct leak_marks *ret)
{
	struct leak_marks leaks = { .held = PACKED_INIT, .why = "the fake session has no heap" };
	struct reach_source source = { .unasked = UINT64_MAX, .list = &leaks.held,
				       .memory = &fake_of(session)->memory.memory };
	struct packed_source blocks = { .log = &session->region->log, .until = UINT64_MAX,
					.timed = timed };
	struct err *err = packed_from_log(&blocks, &leaks.held);

	if (!err)
		err = reach_run(&source, &leaks.mark);
	if (err)
		packed_free(&leaks.held);
	else
		*ret = leaks;
	return err;
}

/* One word of memory points to each: to the start of the first block, and to byte 8 of the others. */
struct err *session_leaks_find(struct session *session, const struct find_ask *ask,
			       struct find_address *ret)
{
	uint64_t address = ask->address;
	struct find_address find = { .in = { .held = PACKED_INIT,
					     .why = "the fake session has no heap" },
				     .heap = HEAPS_INIT,
				     .block = REFERRERS_NO_BLOCK, .outer = REFERRERS_NO_BLOCK };
	struct find_referrer referrer = { .kind = FIND_REFERRER_MEMORY, .place = 0x5008 };
	struct packed_source blocks = { .log = &session->region->log, .until = UINT64_MAX,
					.timed = true };
	struct err *err = packed_from_log(&blocks, &find.in.held);

	for (uint32_t i = 0; i < find.in.held.nr && !err; i++) {
		struct block is = packed_block(&find.in.held, i), *block = &is;

		if (address - block->address >= block->size)
			continue;
		find.block = i;
		referrer.firm = !i;
		referrer.word = block->address + 8 * (i > 0);
		find.nr_firm = referrer.firm;
		find.nr_inner = !referrer.firm;
		if (ask->limit)
			err = vec_push(&find.vec, referrer);
	}
	if (err)
		find_address_free(&find);
	else
		*ret = find;
	return err;
}

/* The root at 0x5008 points to the first block, that to the second one, and so on. */
struct err *session_leaks_graph(struct session *session, const struct owner_ask *ask,
				struct owner_graph *ret)
{
	struct owner_graph graph = { .in = { .held = PACKED_INIT,
					     .why = "the fake session has no heap" },
				     .block = WORD_NO_BLOCK };
	struct packed_source blocks = { .log = &session->region->log, .until = UINT64_MAX,
					.timed = ask->timed };
	struct err *err = packed_from_log(&blocks, &graph.in.held);
	uint32_t nr = (uint32_t)graph.in.held.nr;

	graph.graph.nr = nr;
	graph.graph.first = calloc(nr + 1, sizeof(*graph.graph.first));
	if (!err && nr)
		err = vec_push(&graph.graph.roots, ((struct graph_root){ 0x5008, 0, WORD_ROOT }));
	graph.graph.nr_firm = graph.graph.roots.nr;
	for (uint32_t i = 0; i < nr && !err; i++) {
		const struct packed_block *held = packed_at(&graph.in.held, i);

		if (i + 1 < nr)
			err = vec_push(&graph.graph.to, i + 1);
		graph.graph.first[i + 1] = (uint32_t)graph.graph.to.nr;
		if (ask->address - held->address < packed_size(&graph.in.held, held))
			graph.block = i;
	}
	if (!err && ask->address && graph.block == WORD_NO_BLOCK)
		err = err_create(ERR_NOTFOUND, "no block is there");
	if (!err && ask->limit && graph.block != WORD_NO_BLOCK)
		err = block_path_find(&graph.graph, graph.block, ask->limit, &graph.path);
	for (uint32_t i = 0; !err && ask->limit && i <= graph.block; i++)
		err = vec_push(&graph.hops, ((struct owner_hop){ .block = i, .from = 8 }));
	if (err)
		owner_graph_free(&graph);
	else
		*ret = graph;
	return err;
}

/* All of them are in no memory. */
struct err *session_contents(struct session *session, const struct session_contents_ask *ask,
			     struct session_contents *ret)
{
	struct packed_source blocks = { .log = &session->region->log, .until = UINT64_MAX,
					.timed = ask->timed };
	struct err *err;

	*ret = (struct session_contents){ .blocks = { .held = PACKED_INIT, .heap = HEAPS_INIT,
						   .why = "the fake session has no heap" } };
	err = packed_from_log(&blocks, &ret->blocks.held);
	if (!err)
		err = block_types_find(&(struct block_types_source){
			.memory = &fake_of(session)->memory.memory,
			.list = &ret->blocks.held }, &ret->types);
	return err;
}

struct err *session_contents_begin(struct session *session, const struct session_contents_ask *ask,
				   struct session_contents_look *look,
				   struct session_contents *ret)
{
	*look = (struct session_contents_look){ .session = session, .ask = ask, .ret = ret };
	return session_contents(session, ask, ret);
}

struct err *session_contents_end(struct session_contents_look *look UNUSED)
{
	return NULL;
}

void session_contents_rest(struct session_contents_look *look UNUSED)
{
}

void session_contents_free(struct session_contents *types)
{
	block_types_free(&types->types);
	leak_marks_free(&types->blocks);
}

struct err *trim_run(struct session *session UNUSED, struct session_trim *ret)
{
	*ret = (struct session_trim){ .before_kb = 300, .after_kb = 200, .pause_ns = 1500000000 };
	return NULL;
}

/* At the first look the heap has 16 KB in memory, later 12 KB. */
struct err *session_memory_use(struct session *session, unsigned flags, struct memory_use *ret)
{
	const char *text = session->memory_last.has_look ?
		"1000-5000 rw-p 00000000 00:00 0 [heap]\nRss: 12 kB\n" :
		"1000-5000 rw-p 00000000 00:00 0 [heap]\nRss: 16 kB\n";
	struct memory_owners owners = { .vec = VEC_INIT };
	struct smaps smaps;
	struct err *err = session_need_view(session);

	if (err)
		return err;
	fake_check(smaps_parse(text, &smaps));
	fake_check(memory_use_make(&smaps, &owners, NULL, ret));
	smaps_free(&smaps);
	ret->min_faults = 17;
	ret->quick = !(flags & SESSION_MEMORY_ALL);
	return NULL;
}

/* Some blocks, of 12 KB in memory. */
struct err *session_account(struct session *session, struct session_account *ret)
{
	struct err *err = session_need_view(session);

	if (err)
		return err;
	*ret = (struct session_account){ .use = MEMORY_USE_INIT, .pause_ns = 1500000000 };
	ret->account.part[ACCOUNT_HELD] = ret->account.part[ACCOUNT_ALL] = 12 << 10;
	ret->account.part[ACCOUNT_SWAPPED] = MEMORY_UNKNOWN;
	return NULL;
}

struct err *session_account_of(struct session *session, const struct heaps *heap UNUSED,
			       struct session_account *ret)
{
	return session_account(session, ret);
}

void session_account_verdict(struct session *session UNUSED, struct session_account *account UNUSED,
			     struct memory_verdict *ret)
{
	*ret = (struct memory_verdict){ .kind = MEMORY_NOTHING_GROWS, .text = "nothing grows",
					.ask = "memory system" };
}

void session_account_free(struct session_account *account UNUSED)
{
}

const struct memory_look *session_memory_last(struct session *session)
{
	return session->memory_last.has_look ? &session->memory_last.look : NULL;
}

void session_memory_keep(struct session *session, const struct memory_look *look)
{
	session->memory_last.look = *look;
	session->memory_last.has_look = true;
}

void session_memory_verdict(struct session *session UNUSED, const struct memory_look *before,
			    struct memory_look *now, struct memory_verdict *ret)
{
	memory_verdict(before, now, ret);
}

struct err *session_memory_changes(struct session *session, const struct memory_use *use,
				   struct memory_changes *ret)
{
	*ret = (struct memory_changes){ .known = session->memory_last.has_maps, .vec = VEC_INIT };
	session->memory_last.has_maps = true;
	for (size_t i = 0; i < use->vec.nr; i++)
		fake_check(vec_push(&ret->vec, -5));
	return NULL;
}

struct err *session_threads(struct session *session, struct session_threads *ret)
{
	struct session_thread main = {
		.lwp = FAKE_PID, .pthread = FAKE_PTHREAD, .name = { "fake" }, .state = 'S', .main = true
	};
	struct session_thread worker = {
		.lwp = FAKE_PID + 1, .name = { "worker" }, .state = 'R', .blocks_sigtrap = true
	};
	struct err *err = vec_push(&ret->vec, main);

	(void)session;
	return err ? err : vec_push(&ret->vec, worker);
}

struct err *session_thread_stacks(struct session *session, pid_t lwp, uint32_t max,
				  struct session_stacks *ret)
{
	pid_t each;
	struct err *err = NULL;

	(void)session;
	for (each = FAKE_PID; !err && each <= FAKE_PID + 1; each++) {
		struct session_stack stack = { .lwp = each,
					       .pcs = VEC_INIT,
					       .end = max < 2 ? WALK_DEPTH : WALK_COMPLETE };

		if (lwp && lwp != each)
			continue;
		err = vec_push(&stack.pcs, (uint64_t)(uintptr_t)fake_load);
		if (!err && max > 1)
			err = vec_push(&stack.pcs, (uint64_t)(uintptr_t)fake_main + 2);
		if (!err)
			err = vec_push(&ret->vec, stack);
	}
	return err;
}

void session_thread_stacks_free(struct session_stacks *stacks)
{
	size_t i;

	for (i = 0; i < stacks->vec.nr; i++)
		vec_free(&stacks->vec.at[i].pcs);
	vec_free(&stacks->vec);
}

/* The innermost frame, of which no more than the place is known. */
struct err *session_thread_frame(struct session *session, pid_t lwp, uint32_t nr,
				 struct session_frame *ret)
{
	(void)session;
	(void)lwp;
	if (nr)
		return err_create(ERR_NOTFOUND, "no frame %u", nr);
	*ret = (struct session_frame){ .nr = 1, .at[0] = { .pc = 0x555555555140, .exact = true } };
	return NULL;
}

void session_thread_frame_free(struct session_frame *frame)
{
	(void)frame;
}

struct err *session_thread_data(struct session *session UNUSED, pid_t lwp, uint64_t module UNUSED,
				uint64_t *ret UNUSED)
{
	return err_create(ERR_NOTFOUND, "thread %d has no data", lwp);
}

/* The fake's memory is searched from its first byte to its last. */
struct err *session_search(struct session *session UNUSED, struct session_search *search)
{
	search->mapped = 100;
	return memory_search_range(&search->of, session_memory(session), search->start, search->end);
}

struct err *session_thread_registers(struct session *session, pid_t lwp, struct regs *ret)
{
	(void)session;
	memset(ret, 0, sizeof(*ret));
	regs_set(ret, arch_host()->pc, (uintptr_t)fake_load);
	regs_set(ret, arch_host()->sp, (uint64_t)lwp);
	return NULL;
}

struct err *session_maps(struct session *session, struct proc_maps *ret)
{
	struct proc_map uprobes = { .start = FAKE_UPROBES, .end = FAKE_UPROBES + 4096,
				    .exec = true };

	(void)session;
	fake_check(procfs_maps(getpid(), ret));
	uprobes.path = strdup("[uprobes]");
	fake_check(vec_push(&ret->vec, uprobes));
	return NULL;
}

static bool add_double(const struct log_unknown_free *free, void *ctx)
{
	struct unknown_free unknown = {
		.kind = UNKNOWN_FREE_DOUBLE, .free = *free, .address = free->address,
	};
	struct unknown_frees *unknown_frees = ctx;

	return vec_push(&unknown_frees->vec, unknown);
}

/* Double frees only: all others are judged by what a process has. */
struct err *session_heap_unknown_frees(struct session *session, struct unknown_frees *ret)
{
	*ret = (struct unknown_frees){
		.vec = VEC_INIT, .doubles = reader_accounts(&session->region->log).double_frees,
	};
	reader_each_unknown_free(&session->region->log, LOG_UNKNOWN_FREE_DOUBLE, add_double, ret);
	return NULL;
}
