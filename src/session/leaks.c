/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leak search (theory in leaks.h). */

#include "session/leaks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/core_file.h"
#include "os/pagemap.h"
#include "os/tracer.h"
#include "probe/event.h"
#include "session/heap.h"
#include "session/private.h"
#include "session/view.h"
#include "target/module.h"
#include "target/region.h"
#include "target/target.h"

#define CHUNK_HEADER	16u
#define STACK_WORDS	512u
#define QUIET_NS	1000000000ull	/* how long to wait for calls that are under way */
#define MOMENT_NS	50000ull	/* the first; each is twice the one before */

struct job {
	struct session *session;
	struct session_leaks *ret;
	struct view view;		/* what is searched */
	struct mark_ranges root, heap, out, code;
	VEC(uint64_t) words;
	struct pagemap pagemap;
	uint64_t deadline;		/* of waiting for calls that are under way */
	struct session_heap walk;	/* if walked */
	struct err *err;
};

static void job_free(struct job *job)
{
	view_free(&job->view);
	vec_free(&job->root.vec);
	vec_free(&job->heap.vec);
	vec_free(&job->out.vec);
	vec_free(&job->code.vec);
	vec_free(&job->words);
	session_heap_free(&job->walk);
	pagemap_close(&job->pagemap);
}

static struct err *add_range(struct mark_ranges *ranges, uint64_t start, uint64_t end)
{
	return start < end ? vec_push(&ranges->vec, ((struct mark_range){ start, end })) : NULL;
}

static void add_words(struct job *job, const uint64_t *word, size_t nr)
{
	for (size_t i = 0; i < nr && !job->err; i++)
		if (word[i])
			job->err = vec_push(&job->words, word[i]);
}

/* --- blocks --- */

static void drop_others(struct job *job)
{
	struct session_leaks *ret = job->ret;
	uint8_t process = job->view.process;
	size_t nr = 0;

	for (size_t i = 0; i < ret->blocks.vec.nr; i++) {
		if (ret->blocks.vec.at[i].process == process)
			ret->blocks.vec.at[nr++] = ret->blocks.vec.at[i];
	}
	ret->others = ret->blocks.vec.nr - nr;
	ret->blocks.vec.nr = nr;
}

static void count_took(struct thread *thread, void *ctx)
{
	struct job *job = ctx;
	const struct thread_ops *ops = thread->data;

	for (unsigned i = 0; ops && i < ops->nr; i++)
		job->ret->under_way += ops->op[i].took;
}

/* What a realloc has in hand. */
static struct err *take_in_hand(struct job *job, struct in_hand *in_hand)
{
	struct err *err = session_in_hand(job->session, in_hand);

	job->ret->under_way = in_hand->vec.nr;
	target_each_thread(job->session->target, count_took, job);
	return err;
}

/*
 * A realloc may have moved what is in a block, and what is in the new one is not known yet. (Of a block
 * that is given out, and in no record yet, nothing is known either, but there is nothing in it.)
 */
static struct err *settle(struct job *job, bool may_run)
{
	uint64_t moment = MOMENT_NS;

	for (;;) {
		struct in_hand in_hand = { VEC_INIT };
		struct err *err = take_in_hand(job, &in_hand);

		vec_free(&in_hand.vec);
		if (err || !job->ret->under_way || !may_run || tracer_now() > job->deadline)
			return err;
		err = target_run_for(job->session->target, moment);
		if (err)
			return err;
		moment *= 2;
	}
}

/* Without a walk: the log alone. */
static struct err *log_blocks(struct job *job)
{
	struct in_hand in_hand = { VEC_INIT };
	struct err *err = take_in_hand(job, &in_hand);

	if (!err)
		err = blocks_from_log(&job->session->region->log, &in_hand, &job->ret->blocks);
	vec_free(&in_hand.vec);
	return err;
}

static struct err *walk_heaps(struct job *job, bool may_run)
{
	struct session_leaks *ret = job->ret;
	struct err *err = session_heap_stopped(job->session, may_run, &job->walk,
					       &ret->blocks);

	if (err && err->code == ERR_NOMEM)
		return err;
	if (err) {
		snprintf(ret->why, sizeof(ret->why), "%.255s", err->msg);
		return NULL;
	}
	ret->walked = true;
	ret->damages = job->walk.walk.damages;
	ret->caches_known = job->walk.walk.caches_known;
	return NULL;
}

/* In the walk a target that runs may go on for moments, and begin another realloc. */
static struct err *find_blocks(struct job *job, bool may_run)
{
	struct session_leaks *ret = job->ret;
	struct err *err = NULL;

	while (!err) {
		struct in_hand in_hand = { VEC_INIT };

		err = settle(job, may_run);
		if (!err && !*ret->why) {
			blocks_free(&ret->blocks);
			session_heap_free(&job->walk);
			err = walk_heaps(job, may_run);
		}
		if (!err)
			err = take_in_hand(job, &in_hand);
		vec_free(&in_hand.vec);
		if (!ret->under_way || !may_run || tracer_now() > job->deadline)
			break;
	}
	return err || ret->walked ? err : log_blocks(job);
}

/* The last of malloc's blocks that does not start behind address, or NULL. */
static const struct block *block_before(const struct job *job, uint64_t address)
{
	const struct block *block = job->ret->blocks.vec.at;
	size_t low = 0, high = job->ret->blocks.vec.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (block[middle].heap != LOG_HEAP_USER && block[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &block[low - 1] : NULL;
}

static const struct block *block_at(const struct job *job, uint64_t address)
{
	const struct block *block = block_before(job, address);

	return block && address - block->address < block->size ? block : NULL;
}

/* --- mappings --- */

static bool is_private_anonymous(const struct proc_map *map)
{
	return !map->shared && !map->inode &&
	       (!*map->path || map->path[0] == '[');
}

/* A device's memory may do something when it is read. */
static bool is_device(const struct proc_map *map)
{
	return !strncmp(map->path, "/dev/", 5) && strncmp(map->path, "/dev/shm/", 9) &&
	       strcmp(map->path, "/dev/zero");
}

static bool is_root(const struct proc_map *map)
{
	if (!map->read || is_device(map) ||
	    !strncmp(map->path, JOURNAL_MEMFD_PATH, strlen(JOURNAL_MEMFD_PATH)))
		return false;
	return map->write || (!map->exec && is_private_anonymous(map) && !*map->path);
}

/* Is all of glibc's memory known, so that what is no block in it is free? */
static bool spans_count(const struct job *job)
{
	return job->ret->walked && !job->ret->damages;
}

/* The end of the span of glibc's heaps that holds address, or 0. */
static uint64_t span_end(const struct job *job, uint64_t address)
{
	const struct heap_span *span = job->walk.walk.spans.at;
	size_t low = 0, high = spans_count(job) ? job->walk.walk.spans.nr : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (span[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < span[low - 1].end ? span[low - 1].end : 0;
}

/* Does a block lie in the mapping that is in no span? */
static bool has_blocks(const struct job *job, const struct proc_map *map)
{
	const struct block *at = job->ret->blocks.vec.at, *end = at + job->ret->blocks.vec.nr;
	const struct block *block = block_before(job, map->start);
	uint64_t behind = 0;

	if (!spans_count(job) && !strcmp(map->path, "[heap]"))
		return true;
	if (block && block->address + block->size <= map->start)
		block++;
	for (block = block ? block : at; block < end && block->heap != LOG_HEAP_USER &&
					 block->address < map->end; block++) {
		if (block->address < behind)
			continue;
		behind = span_end(job, block->address);
		if (!behind)
			return true;
	}
	return false;
}

static struct err *sort_maps(struct job *job)
{
	struct err *err = NULL;

	for (size_t i = 0; i < job->view.maps.vec.nr && !err; i++) {
		const struct proc_map *map = &job->view.maps.vec.at[i];

		if (map->exec)
			err = add_range(&job->code, map->start, map->end);
		if (!err && is_root(map))
			err = add_range(has_blocks(job, map) ? &job->heap : &job->root, map->start,
					map->end);
	}
	return err;
}

/*
 * Where some of the blocks that are mappings of their own may be the program's mappings, all of
 * them are taken for roots.
 */
static void keep_mapped(struct job *job)
{
	const struct session_leaks *ret = job->ret;

	for (size_t i = 0; ret->walked && !job->walk.walk.mmapped_certain && i < ret->blocks.vec.nr; i++)
		if (ret->blocks.vec.at[i].preattach && ret->blocks.vec.at[i].heap == LOG_HEAP_MMAP)
			add_words(job, &ret->blocks.vec.at[i].address, 1);
}

/* What glibc keeps of its heaps besides the blocks. */
static struct err *leave_out_heaps(struct job *job)
{
	const struct heap_walk *heaps = &job->walk.walk;
	struct err *err = NULL;

	for (size_t i = 0; spans_count(job) && i < heaps->spans.nr && !err; i++)
		err = add_range(&job->out, heaps->spans.at[i].start, heaps->spans.at[i].end);
	for (size_t i = 0; spans_count(job) && i < heaps->arenas.nr && !err; i++)
		err = add_range(&job->out, heaps->arenas.at[i].address, heaps->arenas.at[i].bins_end);
	return err;
}

/* What mdbg has mapped, which the kernel may have merged with what lies beside it. */
static struct err *leave_out_ours(struct job *job)
{
	const struct journal *journal = job->session->region->journal;
	uint32_t nr = MIN(__atomic_load_n(&journal->nr, __ATOMIC_RELAXED), journal->room);
	struct err *err = NULL;

	for (uint32_t i = 0; i < nr && !err; i++) {
		const struct journal_entry *entry = &journal->entry[i];

		if ((entry->state == JOURNAL_PLANNED || entry->state == JOURNAL_DONE) &&
		    entry->kind != JOURNAL_TEXT && entry->kind != JOURNAL_SIGACTION &&
		    entry->kind != JOURNAL_FD)
			err = add_range(&job->out, entry->address, entry->address + entry->len);
	}
	return err;
}

static bool next_present(void *ctx, uint64_t start, uint64_t end, struct mark_range *ret)
{
	struct job *job = ctx;

	if (job->view.core)
		return core_file_next(job->view.core, start, end, &ret->start, &ret->end);
	while (start < end) {
		const struct proc_map *map = proc_maps_find(&job->view.maps, start);
		uint64_t stop = map ? MIN(map->end, end) : end;

		if (!map || !is_private_anonymous(map)) {
			*ret = (struct mark_range){ start, stop };
			return true;
		}
		if (pagemap_next(&job->pagemap, start, stop, &ret->start, &ret->end))
			return true;
		start = stop;
	}
	return false;
}

/*
 * Chunks in use that are no blocks: a call for them is under way, or a thread that is in the allocator
 * has the address of an old one (heap/block.h). They may hold pointers.
 */
static struct err *add_left_out(struct job *job)
{
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk;
	struct err *err = NULL;

	while (!err && spans_count(job) && heap_chunks_next(&job->walk.walk.chunks, &at, &chunk))
		if (chunk_held(&chunk) && chunk.note == NOTE_NONE)
			err = add_range(&job->heap, chunk.address,
					chunk.address + chunk_usable(&chunk));
	return err;
}

/* --- threads --- */

static void add_vector_registers(struct job *job, const struct view_thread *thread)
{
	job->ret->blind_threads += thread->blind;
	add_words(job, job->view.vectors.at + thread->vector, thread->nr_vectors);
}

static void add_dtv(struct job *job, uint64_t tp)
{
	const struct arch *arch = job->view.arch;
	uint64_t dtv;

	if (!tp || memory_read_u64(job->view.memory, tp + arch->dtv, &dtv))
		return;		/* no libc, no thread control block */
	dtv -= arch->dtv_first;
	add_words(job, &dtv, 1);
}

/* Does the thread's control block say that SP is in its stack? *start_ret: where that begins. */
static bool block_says(const struct job *job, uint64_t sp, uint64_t tp, uint64_t *start_ret)
{
	uint64_t word[2];

	if (!job->view.stack_offset || !tp ||
	    memory_read(job->view.memory, tp + job->view.stack_offset, word, sizeof(word)))
		return false;
	*start_ret = word[0];
	return word[0] && sp - word[0] < word[1];
}

/*
 * A guard page below, the control block above SP, and nothing but one mapping in between: that is
 * the stack of a thread of glibc's or musl's, whatever the kernel has merged it with.
 */
static bool mappings_say(const struct job *job, uint64_t sp, uint64_t tp, uint64_t *start_ret)
{
	const struct proc_map *map = proc_maps_find(&job->view.maps, sp);
	const struct proc_map *guard = map ? proc_maps_find(&job->view.maps, map->start - 1) : NULL;

	if (!map)
		return false;
	*start_ret = map->start;
	return !strcmp(map->path, "[stack]") ||
	       (guard && !guard->read && !guard->write && is_private_anonymous(map) && sp < tp &&
		tp < map->end);
}

/* What lies below SP is nobody's any more. */
static void add_stack(struct job *job, uint64_t sp, uint64_t tp)
{
	const struct block *block = block_at(job, sp);
	uint64_t start;

	if (block)		/* of a coroutine: this alone keeps it */
		add_words(job, &block->address, 1);
	else if (block_says(job, sp, tp, &start) || mappings_say(job, sp, tp, &start))
		job->err = add_range(&job->out, start, sp - job->view.arch->red_zone);
}

/* Words that name a block's chunk, as the allocator itself does. */
static void add_chunks(struct job *job, const uint64_t *word, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint64_t address = word[i] + CHUNK_HEADER;
		const struct block *block = block_before(job, address);

		if (block && block->address == address && block->preattach)
			add_words(job, &address, 1);
	}
}

/*
 * A thread that frees a block from before the attach, which no record tells of, or has been given one
 * that is in no record yet, may be where it has the address of its chunk alone.
 */
static void add_chunks_in_use(struct job *job, const struct view_thread *thread)
{
	const struct arch *arch = job->view.arch;
	uint64_t word[STACK_WORDS];
	size_t got;

	add_chunks(job, thread->regs.word, arch->regs_words);
	/* Less, where the stack ends. */
	if (!memory_read_some(job->view.memory,
			      (regs_get(&thread->regs, arch->sp) - arch->red_zone) & ~7ull, word,
			      sizeof(word), &got))
		add_chunks(job, word, got / sizeof(*word));
}

static void look_at_thread(struct job *job, const struct view_thread *thread)
{
	const struct arch *arch = job->view.arch;

	if (thread->stopped) {
		add_words(job, thread->regs.word, arch->regs_words);
		if (!thread->in_syscall)
			add_vector_registers(job, thread);
		add_dtv(job, thread->tp);
		if (job->ret->walked)
			add_chunks_in_use(job, thread);
	} else {
		job->ret->blind_threads++;
	}
	if (thread->placed && !job->err)
		add_stack(job, regs_get(&thread->regs, arch->sp), thread->tp);
}

static struct err *look_at_threads(struct job *job)
{
	for (size_t i = 0; i < job->view.threads.nr && !job->err; i++)
		look_at_thread(job, &job->view.threads.at[i]);
	keep_mapped(job);
	return job->err;
}

/* --- all of it --- */

static struct err *collect(struct job *job)
{
	struct err *err;

	drop_others(job);
	err = sort_maps(job);

	if (!err)
		err = leave_out_heaps(job);
	if (!err)
		err = leave_out_ours(job);
	if (!err)
		err = look_at_threads(job);
	if (!err)
		err = mark_ranges_subtract(&job->root, &job->out);
	if (!err)
		err = mark_ranges_subtract(&job->heap, &job->out);
	return err ? err : add_left_out(job);
}

static struct err *mark(struct job *job)
{
	const struct mark_source source = {
		.memory = job->view.memory,
		.block = job->ret->blocks.vec.at, .nr_blocks = job->ret->blocks.vec.nr,
		.root = job->root.vec.at, .nr_roots = job->root.vec.nr,
		.heap = job->heap.vec.at, .nr_heaps = job->heap.vec.nr,
		.word = job->words.at, .nr_words = job->words.nr,
		.code = job->code.vec.at, .nr_code = job->code.vec.nr,
		.next_present = next_present,
		.ctx = job,
	};

	return mark_run(&source, &job->ret->mark);
}

static struct err *leaks_job(void *arg)
{
	struct job *job = arg;
	struct session *session = job->session;
	uint64_t begun;
	bool was;
	struct err *err;

	if (!session->region)
		return err_hint(err_create(ERR_STATE, "nothing was recorded of process %d",
					   session->pid), "`malloc on` begins to");
	begun = tracer_now();
	job->deadline = begun + QUIET_NS;
	err = session_hold(session, &was);
	if (err)
		return err;
	err = find_blocks(job, !was);
	if (!err)
		err = view_take(session, true, &job->view);
	job->ret->core = job->view.core;
	if (!err) {
		pagemap_open(job->view.pages_of, &job->pagemap);
		err = collect(job);
	}
	if (!err)
		err = mark(job);
	if (!session->ended)
		session_let_go(session, was);
	job->ret->pause_ns = tracer_now() - begun;
	return err;
}

#define JOB_INIT(of, leaks)	{ .session = (of), .ret = (leaks), .view = VIEW_INIT, \
				  .pagemap = { .fd = -1 }, \
				  .walk = SESSION_HEAP_INIT }

static struct err *search(struct session *session, struct session_leaks *ret)
{
	struct session_leaks leaks = { .blocks = BLOCKS_INIT };
	struct job job = JOB_INIT(session, &leaks);
	struct err *no_walk = session_heap_walkable(session), *err;

	if (no_walk)
		snprintf(leaks.why, sizeof(leaks.why), "%.255s", no_walk->msg);
	err = session_call(session, leaks_job, &job);
	job_free(&job);
	if (err)
		session_leaks_free(&leaks);
	else
		*ret = leaks;
	return err;
}

/* --- at the end --- */

#define COPY(to, from, nr)	\
	({ (to) = malloc(((nr) + 1) * sizeof(*(to))); \
	   if (to) \
		   memcpy(to, from, (nr) * sizeof(*(to))); \
	   (to) ? NULL : err_nomem; })
#define COPY_VEC(to, from)	\
	({ (to)->at = NULL; \
	   (to)->nr = (to)->room = (from)->nr; \
	   (from)->nr ? COPY((to)->at, (from)->at, (from)->nr) : NULL; })

static struct err *copy(const struct session_leaks *from, struct session_leaks *ret)
{
	struct session_leaks to = *from;
	size_t nr = from->blocks.vec.nr;
	struct err *err[] = {
		COPY_VEC(&to.blocks.vec, &from->blocks.vec),
		COPY_VEC(&to.blocks.live, &from->blocks.live),
		COPY(to.mark.kind, from->mark.kind, nr),
		COPY(to.mark.leader, from->mark.leader, nr),
		COPY_VEC(&to.mark.unread_roots.vec, &from->mark.unread_roots.vec),
		COPY_VEC(&to.mark.unread_blocks.vec, &from->mark.unread_blocks.vec),
	};

	for (size_t i = 0; i < ARRAY_SIZE(err); i++) {
		if (err[i]) {
			session_leaks_free(&to);
			return err[i];
		}
	}
	*ret = to;
	return NULL;
}

void session_look_at_end(struct session *session)
{
	struct session_leaks *leaks = calloc(1, sizeof(*leaks));
	struct job job = JOB_INIT(session, leaks);
	struct err *err = leaks ? NULL : err_nomem;

	/* Names of modules that came last. */
	if (!err)
		err = modules_refresh(&session->target->modules, session->target->mem.tid,
				      &session->target->mem.memory, NULL);
	if (!err)
		err = leaks_job(&job);
	job_free(&job);
	if (!err) {
		session->end_leaks = leaks;
		return;
	}
	err_copy(&session->end_err, err);
	if (leaks)
		session_leaks_free(leaks);
	free(leaks);
}

static struct err *found_at_end(const struct session *session, struct session_leaks *ret)
{
	struct err *err;

	if (session->end_leaks)
		return copy(session->end_leaks, ret);
	if (*session->end_err.msg)
		return err_wrap(err_adopt(&session->end_err), "at the end of process %d",
				session->pid);
	if (!session->config.leaks_at_end)
		return err_hint(err_create(ERR_STATE, "process %d has ended", session->pid),
				"`set leaks-at-end on` before has its leaks looked for when it ends");
	err = err_create(ERR_STATE, "process %d was not looked at when it ended", session->pid);
	return session->execed ? err_hint(err, "it has executed another program: `set follow-exec on`") :
	       err;
}

struct err *session_leaks(struct session *session, struct session_leaks *ret)
{
	struct err *err;

	if (session_state(session) == SESSION_ENDED)
		return found_at_end(session, ret);
	err = session_need_view(session);
	return err ? err : search(session, ret);
}

void session_leaks_free(struct session_leaks *leaks)
{
	blocks_free(&leaks->blocks);
	mark_free(&leaks->mark);
}
