/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The places that point to a block, and what they are (find_address.h). */

#include "inspect/find_address.h"

#include "inspect/leak_search.h"
#include "inspect/memory_view.h"
#include "inspect/tls.h"
#include "tracee/backtrace.h"
#include "tracee/target.h"

#define CONTROL_MAX	65536u

struct finder {
	const struct memory_view *view;
	const struct search_origins *origins;
	struct find_address *find;
	struct tls tls;
	/* The last stack that was walked. */
	pid_t walked;
	struct stack_frames frames;
};

static const char *const words[FIND_REFERRER_KINDS] = {
	[FIND_REFERRER_REGISTER] = "register", [FIND_REFERRER_VECTOR] = "vector",
	[FIND_REFERRER_CHUNK] = "chunk", [FIND_REFERRER_STACK] = "stack",
	[FIND_REFERRER_TLS] = "tls", [FIND_REFERRER_CONTROL] = "control",
	[FIND_REFERRER_MEMORY] = "memory", [FIND_REFERRER_HEAP] = "heap",
	[FIND_REFERRER_BLOCK] = "block",
};

const char *find_address_word(enum find_referrer_kind kind)
{
	return words[kind];
}

/*
 * As in leak_search.c: a thread keeps the stack that it is on, and the table that it points into.
 */
static bool is_firm(void *ctx, const struct referrer *referrer)
{
	const struct finder *finder = ctx;
	const struct memory_view *view = finder->view;

	if (referrer->in == WORD_ALONE) {
		const struct search_origin *origin = &finder->origins->vec.at[referrer->place];

		return origin->from == SEARCH_REGISTER && origin->index == view->arch->sp;
	}
	vec_each(thread, &view->threads) {
		if (thread->tp && referrer->place == thread->tp + view->arch->dtv)
			return true;
	}
	return false;
}

static void walk_stack(struct finder *finder, const struct memory_view_thread *thread)
{
	if (finder->walked == thread->tid)
		return;
	backtrace_frames_free(&finder->frames);
	finder->walked = thread->tid;
	/* Without memory for it the frames are not found. */
	err_ignore(memory_view_frames(finder->view, thread, &finder->frames));
}

/* Is the place in a frame that the walk has reached? */
static bool find_frame(struct finder *finder, const struct memory_view_thread *thread,
		       struct find_referrer *referrer)
{
	if (!thread->stopped)
		return false;
	walk_stack(finder, thread);
	return backtrace_frames_at(&finder->frames, referrer->place, &referrer->pc,
				   &referrer->returns);
}

static bool is_tls(const struct finder *finder, const struct memory_view_thread *thread,
		   struct find_referrer *referrer)
{
	uint64_t start, end;

	if (!thread->tp)
		return false;
	if (referrer->place < thread->tp) {
		size_t number = (size_t)(thread - finder->view->threads.at);

		if (referrer->place < tls_low(&finder->tls, finder->view, number))
			return false;
		referrer->kind = FIND_REFERRER_TLS;
	} else {
		if (referrer->place - thread->tp >= CONTROL_MAX ||
		    !memory_view_stack_bounds(finder->view, thread->tp, &start, &end) ||
		    thread->tp - start >= end - start || referrer->place >= end)
			return false;
		referrer->kind = FIND_REFERRER_CONTROL;
	}
	referrer->tid = thread->tid;
	referrer->tp = thread->tp;
	return true;
}

/* Is the place in a frame, or above SP in memory that is known to be a stack? */
static bool is_stack(struct finder *finder, const struct memory_view_thread *thread,
		     struct find_referrer *referrer)
{
	const struct memory_view *view = finder->view;
	uint64_t sp = regs_get(&thread->regs, view->arch->sp), start, end;
	const struct proc_map *map = thread->placed ? procparse_maps_find(&view->maps, sp) : NULL;
	bool known;

	if (!map || referrer->place < memory_view_stack_low(view, thread) ||
	    referrer->place >= map->end)
		return false;
	known = memory_view_stack(view, thread, &start, &end) && referrer->place < end;
	if (!find_frame(finder, thread, referrer) && !known)
		return false;
	referrer->kind = FIND_REFERRER_STACK;
	referrer->tid = thread->tid;
	return true;
}

static void look_at_root(struct finder *finder, struct find_referrer *referrer)
{
	const struct memory_view *view = finder->view;

	for (size_t i = 0; i < view->threads.nr; i++)
		if (is_tls(finder, &view->threads.at[i], referrer))
			return;
	for (size_t i = 0; i < view->threads.nr; i++)
		if (is_stack(finder, &view->threads.at[i], referrer))
			return;
}

/* This holds for all kinds of memory. */
static void look_at_tls(const struct finder *finder, struct find_referrer *referrer)
{
	const struct tls_block *block = tls_at(&finder->tls, referrer->place);

	if (!block)
		return;
	referrer->tid = block->tid;
	referrer->tls_module = block->module;
	referrer->tls_offset = referrer->place - block->start;
}

static void take_word(const struct finder *finder, const struct referrer *referrer,
		      struct find_referrer *ret)
{
	const struct search_origin *origin = &finder->origins->vec.at[referrer->place];

	ret->place = 0;
	ret->tid = origin->tid;
	ret->index = origin->index;
	ret->kind = origin->from == SEARCH_REGISTER ? FIND_REFERRER_REGISTER :
		    origin->from == SEARCH_VECTOR ? FIND_REFERRER_VECTOR :
			    FIND_REFERRER_CHUNK;
}

static struct err *take(struct finder *finder, const struct referrer *referrer)
{
	struct find_referrer is = { .firm = referrer->firm, .place = referrer->place,
				     .word = referrer->word, .block = referrer->block };

	switch (referrer->in) {
	case WORD_ALONE:
		take_word(finder, referrer, &is);
		break;
	case WORD_ROOT:
		is.kind = FIND_REFERRER_MEMORY;
		look_at_root(finder, &is);
		break;
	case WORD_HEAP:
		is.kind = FIND_REFERRER_HEAP;
		break;
	default:
		is.kind = FIND_REFERRER_BLOCK;
		break;
	}
	if (is.place)
		look_at_tls(finder, &is);
	return vec_push(&finder->find->vec, is);
}

static struct err *take_all(struct finder *finder, const struct referrers *referrers)
{
	struct find_address *find = finder->find;
	struct err *err = NULL;

	find->block = referrers->block;
	find->outer = referrers->outer;
	find->nr_firm = referrers->nr_firm;
	find->nr_inner = referrers->nr_inner;
	find->own = referrers->own;
	find->unread = referrers->unread_roots.bytes + referrers->unread_blocks.bytes;
	for (size_t i = 0; i < referrers->firm.nr && !err; i++)
		err = take(finder, &referrers->firm.at[i]);
	for (size_t i = 0; i < referrers->inner.nr && !err; i++)
		err = take(finder, &referrers->inner.at[i]);
	return err;
}

/* An address behind the end of a block, but still in its chunk, counts as in that block. */
static uint64_t block_around(const struct find_address *find, uint64_t address)
{
	struct heap_chunk chunk;

	return find->in.walked && heap_chunk_around(&find->heap.walk.chunks, address, &chunk) &&
		       chunk_held(&chunk) && address >= chunk.address ? chunk.address : 0;
}

/* Does anything but a block keep it? */
static bool has_root(const struct referrers *referrers)
{
	vec_each(referrer, &referrers->firm) {
		if (referrer->in != WORD_BLOCK)
			return true;
	}
	return false;
}

/* The blocks are those of find, and what is not sure of them is known from the search before. */
static struct err *find_way(const struct memory_view *view, uint32_t block,
			    struct find_address *find)
{
	struct leak_marks again = find->in;
	struct owner_graph *way = &find->way;
	struct err *err;

	again.heap = find->heap;
	err = leak_search_graph(view, &again, &way->origins, &way->graph);
	if (!err)
		err = block_path_find(&way->graph, block, 1, &way->path);
	way->block = block;
	return err;
}

/* Its control block is itself, or one of those that point to it. A snapshot lacks pages of files. */
static void find_shared(const struct memory_view *view, const struct referrers *referrers,
			struct find_address *find)
{
	const struct packed_list *list = &find->in.held;

	find->shared = (struct shared_counts){ 0 };
	if (shared_counts_read(view->memory, view->target->memory,
			       packed_at(list, referrers->block)->address, &find->shared))
		return;
	vec_each(referrer, &referrers->firm) {
		const struct packed_block *from = referrer->in == WORD_BLOCK ?
						  packed_at(list, referrer->block) : NULL;

		if (from && shared_counts_read(view->memory, view->target->memory, from->address,
					       &find->shared) &&
		    shared_counts_leads(&find->shared, packed_size(list, from), referrer->place))
			return;
	}
	find->shared = (struct shared_counts){ 0 };
}

struct err *find_address_search(const struct memory_view *view, uint64_t address, size_t limit,
				struct find_address *find, struct find_places *ret)
{
	struct finder finder = { .view = view, .origins = &ret->origins };
	struct referrers_spec spec = {
		.address = address, .otherwise = block_around(find, address),
		.limit = limit, .is_firm = is_firm, .ctx = &finder,
	};

	struct err *err;

	*ret = (struct find_places){ .origins = { VEC_INIT } };
	owner_graph_free(&find->way);		/* of a look that was of no use */
	find->way = (struct owner_graph){ .block = WORD_NO_BLOCK };
	err = leak_search_referrers(view, find, &spec, &ret->origins, &ret->referrers);
	if (err || ret->referrers.block == REFERRERS_NO_BLOCK)
		return err;
	find_shared(view, &ret->referrers, find);
	return has_root(&ret->referrers) ? NULL :
	       find_way(view, ret->referrers.block, find);
}

struct err *find_address_name(const struct memory_view *view, const struct find_places *places,
			      struct find_address *find)
{
	struct finder finder = { .view = view, .origins = &places->origins, .find = find };
	struct err *err;

	tls_read(view, &finder.tls);
	err = take_all(&finder, &places->referrers);
	tls_free(&finder.tls);
	backtrace_frames_free(&finder.frames);
	find->generation = view->target->modules.generation;
	return err || !find->way.path.ways.nr ? err : owner_graph_name(view, &find->way);
}

void find_address_free_places(struct find_places *places)
{
	referrers_free(&places->referrers);
	vec_free(&places->origins.vec);
}

void find_address_free(struct find_address *find)
{
	leak_marks_free(&find->in);
	heaps_free(&find->heap);
	procparse_maps_free(&find->maps);
	vec_free(&find->vec);
	owner_graph_free(&find->way);
}

uint64_t find_address_way_blocks(const struct find_address *find)
{
	const struct block_path *path = &find->way.path;
	uint64_t nr = 0;

	for (uint32_t at = path->ways.at[0].block; at != find->block; at = block_path_next(path, at))
		nr++;
	return nr;
}
