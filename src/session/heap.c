/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The heaps and the log in one stop (heap/heap_walk.h, heap/reconcile.h).
 *
 * A thread that is inside the allocator (session/memory_view.h) may have a block that is in no
 * record yet, or chunks half written. All words in its registers and on the top of its stack are
 * taken as words in flight. So before each look, if the target may run, the threads that are inside
 * run alone until they have come out; then mostly no thread is inside and nothing is uncertain.
 * While words in flight still make blocks uncertain, or the walk finds damage, the whole target
 * runs for a moment and is looked at again (heap/reconcile.h).
 */

#include "session/heap.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "heap/reconcile.h"
#include "os/tracer.h"
#include "probe/probe.h"
#include "session/private.h"
#include "session/memory_view.h"
#include "session/walk_limit.h"
#include "tracee/core_target.h"
#include "tracee/region.h"
#include "tracee/target.h"
#include "tracee/wait.h"

#define ROUNDS_NS	3000000000ull	/* no more rounds after this */
#define STEP_NS		50000ull	/* how long the target runs before the second, ... */
#define STEP_MOST_NS	50000000ull	/* ... and at most before a later one */
/* how long in all others wait for those inside the allocator */
#define DRAIN_NS	100000000ull
#define CALM_ROUNDS	3u

struct job {
	struct session *session;
	bool check;
	const struct session_heap_look *at;
	struct err *look_err;
	struct session_heap *ret;
	/* gets the blocks of the log at each look; NULL: not wanted */
	struct packed_list *held;
	struct memory_view view;		/* of this look */
	VEC(struct heap_map) maps;
	VEC(struct heap_map) data;
	struct word_list threads, in_flight_words;
	bool may_run;			/* the target, between the looks */
	bool stood;			/* it stood still before */
	uint64_t drain_budget;
	struct word_list left_out;	/* of this look */
	struct reconcile_history before;		/* this one */
	unsigned calm;			/* looks in a row with nobody inside */
	VEC(struct heap_inside) inside;	/* their words are in ... */
	VEC(uint64_t) words;		/* ... this, one thread's behind another's */
	bool all_threads;
	struct err *err;
};

static void job_free(struct job *job)
{
	memory_view_free(&job->view);
	vec_free(&job->maps);
	vec_free(&job->data);
	vec_free(&job->threads.vec);
	vec_free(&job->in_flight_words.vec);
	vec_free(&job->left_out.vec);
	reconcile_free(&job->before);
	vec_free(&job->inside);
	vec_free(&job->words);
}

/*
 * A heap may consist of several mappings, one behind the other: a forked child grows its heap in a
 * new one, and madvise or mlock splits a mapping.
 */
static struct err *push_map(struct job *job, const struct heap_map *map)
{
	struct heap_map *last = job->maps.nr ? &job->maps.at[job->maps.nr - 1] : NULL;

	if (!last || last->end != map->start || last->brk != map->brk ||
	    last->anonymous != map->anonymous)
		return vec_push(&job->maps, *map);
	last->end = map->end;
	return NULL;
}

static struct err *add_map(struct job *job, const struct proc_map *map)
{
	struct heap_map is = {
		.start = map->start,
		.end = map->end,
		.brk = !strcmp(map->path, "[heap]"),
		.anonymous = !*map->path || !strncmp(map->path, "[anon:", 6),
	};
	struct err *err = NULL;

	if (!map->read || !map->write || map->shared)
		return NULL;
	if (is.brk) {
		job->ret->brk_start = job->ret->brk_start ? job->ret->brk_start : is.start;
		job->ret->brk = is.end;
	}
	if (map->start >= job->view.allocator_start && map->end <= job->view.allocator_end)
		err = vec_push(&job->data, is);
	return err ? err : push_map(job, &is);
}

static struct err *look_at_maps(struct job *job)
{
	struct err *err = NULL;

	vec_clear(&job->maps);
	vec_clear(&job->data);
	for (size_t i = 0; i < job->view.maps.vec.nr && !err; i++)
		err = add_map(job, &job->view.maps.vec.at[i]);
	return err;
}

static struct err *add_in_flight_word(struct job *job, uint64_t word)
{
	struct err *err;

	if (!word || word % 8)
		return NULL;
	err = vec_push(&job->in_flight_words.vec, word);
	return err ? err : vec_push(&job->words, word);
}

/* A thread that is inside the allocator, or may be: one that could not be stopped has no words. */
static struct err *add_inside(struct job *job, const struct memory_view_thread *thread)
{
	struct heap_inside inside = {
		.tid = thread->tid,
		.aborts = thread->aborts,
		.tp = thread->tp,
	};
	uint8_t regs = thread->stopped ? job->view.arch->regs_words : 0;
	uint64_t word[MEMORY_VIEW_STACK_WORDS];
	size_t before = job->words.nr;
	size_t nr = thread->stopped ? memory_view_stack_words(&job->view, thread, word) : 0;
	struct err *err = NULL;

	for (uint8_t i = 0; i < regs && !err; i++)
		err = add_in_flight_word(job, regs_get(&thread->regs, i));
	for (size_t i = 0; i < nr && !err; i++)
		err = add_in_flight_word(job, word[i]);
	inside.nr_words = job->words.nr - before;
	return err ? err : vec_push(&job->inside, inside);
}

/* The words do not move any more. */
static void place_words(struct job *job)
{
	size_t at = 0;

	vec_each(inside, &job->inside) {
		inside->word = inside->nr_words ? &job->words.at[at] : NULL;
		at += inside->nr_words;
	}
}

static struct err *look_at_threads(struct job *job)
{
	struct err *err = NULL;
	bool inside = false;

	vec_clear(&job->threads.vec);
	vec_clear(&job->in_flight_words.vec);
	vec_clear(&job->inside);
	vec_clear(&job->words);
	job->all_threads = true;
	for (size_t i = 0; i < job->view.threads.nr && !err; i++) {
		const struct memory_view_thread *thread = &job->view.threads.at[i];

		if (!thread->stopped)
			job->all_threads = false;
		else if (thread->tp)
			err = vec_push(&job->threads.vec, thread->tp);
		if (!err && (thread->inside || !thread->stopped))
			err = add_inside(job, thread);
		inside |= thread->inside;
	}
	place_words(job);
	word_list_sort(&job->in_flight_words);
	job->calm = inside ? 0 : job->calm + 1;
	return err;
}

static struct err *walk_heaps(struct job *job)
{
	struct known known = KNOWN_INIT(job->view.log, job->view.process);
	struct heap_source source = {
		.memory = job->view.memory,
		.map = job->maps.at, .nr_maps = job->maps.nr,
		.data = job->data.at, .nr_data = job->data.nr,
		.main_arena = job->view.main_arena,
		.thread = job->threads.vec.at, .nr_threads = job->threads.vec.nr,
		.all_threads = job->all_threads,
		.known_from = known_from, .ctx = &known,
		.in_flight_word = job->in_flight_words.vec.at, .nr_in_flight =
				     job->in_flight_words.vec.nr,
		.inside = job->inside.at, .nr_inside = job->inside.nr,
		.lockless = job->view.one_thread,
		.check = job->check,
	};
	struct walk_limit limit;
	struct err *err;

	walk_limit_find(job->session, job->view.pages_of, &limit);
	source.most_chunks = limit.chunks;
	err = job->view.allocator->walk(&source, &job->ret->walk);
	known_free(&known);
	return walk_limit_say(job->session, &limit, err);
}

/* Chunks that words in flight point to count as in hand, too. */
static struct err *take_loose(struct job *job)
{
	struct err *err = NULL;

	for (size_t i = 0; i < job->ret->walk.loose.nr && !err; i++)
		err = vec_push(&job->in_flight_words.vec, job->ret->walk.loose.at[i]);
	word_list_sort(&job->in_flight_words);
	return err;
}

struct err *session_heap_log(const struct memory_view *view, bool timed, struct packed_list *ret)
{
	struct packed_source source = {
		.log = view->log,
		.in_hand = &view->in_hand,
		.until = view->until,
		.process = view->process,
		.timed = timed,
	};

	*ret = (struct packed_list){ .process = view->process, .timed = timed };
	return view->log ? packed_from_log(&source, ret) : NULL;
}

static struct err *read_log(struct job *job)
{
	bool timed = job->held->timed;

	packed_free(job->held);
	return session_heap_log(&job->view, timed, job->held);
}

static struct err *merge(struct job *job)
{
	struct walk_merge merge = {
		.log = job->view.log,
		.in_hand = &job->view.in_hand,
		.held = job->held,
		.process = job->view.process,
		.complete = job->view.complete,
		.in_flight_word = job->in_flight_words.vec.at, .nr_in_flight =
				   job->in_flight_words.vec.nr,
		.sure = job->before.sure.vec.at, .nr_sure = job->before.sure.vec.nr,
	};

	vec_clear(&job->left_out.vec);
	return walk_merge(&job->ret->walk, &merge, &job->left_out);
}

void session_heap_free(struct session_heap *heap)
{
	if (heap->walked && !heap->lent)
		heap_walk_free(&heap->walk);
	heap->walked = false;
}

/* Walk the heaps of the view. */
static struct err *walk_view(struct job *job)
{
	struct err *err;

	if (!job->view.allocator)
		return err_create(ERR_UNSUPPORTED, "no glibc in process %d", job->session->current->pid);
	err = look_at_maps(job);
	if (!err)
		err = look_at_threads(job);
	if (!err)
		err = walk_heaps(job);
	job->ret->walked = !err;
	return err ? err : take_loose(job);
}

static struct err *look(struct job *job)
{
	struct err *err;

	session_heap_free(job->ret);
	job->ret->complete = job->view.complete;
	job->ret->process = job->view.process;
	err = walk_view(job);
	if (!err && job->held)
		err = read_log(job);
	if (!err)
		err = merge(job);
	return err;
}

/*
 * Damage that is found while no thread is inside the allocator will stay. mdbg does not know all
 * threads that are inside (a thread may be freeing its cache at its end, or have left free by a
 * jump that cannot be followed), so a few looks are needed.
 */
static bool is_certain(const struct job *job)
{
	return !job->ret->under_way &&
	       (!heap_walk_all_damage(&job->ret->walk) || job->calm >= CALM_ROUNDS);
}

/* Look again and again; each look keeps what it needs from the one before. */
static struct err *look_when_drained(void *ctx, bool *done_ret)
{
	struct job *job = ctx;
	struct err *err = NULL;

	if (job->ret->walked)
		err = reconcile_keep(&job->before, &job->ret->walk, &job->left_out);
	if (!err && job->may_run)
		err = memory_view_drain(job->session, &job->drain_budget);
	memory_view_free(&job->view);
	job->view = (struct memory_view)MEMORY_VIEW_INIT;
	if (!err)
		err = memory_view_take(job->session, false, &job->view);
	if (!err)
		reconcile_drop_freed(&job->before, job->view.log, job->view.complete);
	if (!err)
		err = look(job);
	if (!err)
		job->ret->under_way = reconcile_unsure(&job->before, &job->left_out);
	*done_ret = !err && is_certain(job);
	return err;
}

/* The target is stopped. */
static struct err *look_until_certain(struct job *job, bool may_run)
{
	const struct target_wait wait = {
		.look = look_when_drained, .ctx = job,
		.step = STEP_NS, .step_most = STEP_MOST_NS,
		.deadline = may_run ? tracer_now() + ROUNDS_NS : 0,
	};
	bool certain;

	job->may_run = may_run;
	job->drain_budget = DRAIN_NS;
	return target_wait(job->session->current->target, &wait, &certain);
}

static struct err *heap_held(struct session *session UNUSED, bool stood, void *arg)
{
	struct job *job = arg;
	struct err *err = look_until_certain(job, !stood);

	job->stood = stood;
	if (!err && job->at)
		job->look_err = job->at->at(job->at->ctx, job->ret, job->view.log,
					      &job->view.in_hand);
	return err;
}

/*
 * Give the result of the job to the caller, or free it after an error. list has the blocks, or is
 * NULL.
 */
static struct err *finish(struct job *job, struct err *err, struct session_heap *ret,
			  struct packed_list *list, struct packed_list *list_ret)
{
	job_free(job);
	if (!err) {
		*ret = *job->ret;
		if (list)
			*list_ret = *list;
		return NULL;
	}
	session_heap_free(job->ret);
	if (list)
		packed_free(list);
	return err;
}

struct err *session_heap_stopped(struct session *session, bool may_run, bool timed,
				 struct session_heap *ret, struct packed_list *held_ret)
{
	struct session_heap heap = SESSION_HEAP_INIT;
	struct packed_list list = { .timed = timed };
	struct job job =
 { .session = session, .ret = &heap, .held = &list, .view = MEMORY_VIEW_INIT };
	struct err *err = look_until_certain(&job, may_run);

	if (!err)
		err = packed_merge_walk(&list, &heap.walk, heap.complete);
	return finish(&job, err, ret, &list, held_ret);
}

struct err *session_heap_checked(struct session *session, struct session_heap *ret)
{
	struct session_heap heap = SESSION_HEAP_INIT;
	struct job job =
 { .session = session, .check = true, .ret = &heap, .view = MEMORY_VIEW_INIT };

	return finish(&job, look_until_certain(&job, false), ret, NULL, NULL);
}

/*
 * A block that was freed since, and whose slot in the log another block has taken, is in no record:
 * it cannot be distinguished from one that was allocated before the attach.
 */
static bool is_complete(const struct memory_view *view)
{
	return view->complete && log_accounts_get(view->log).frees == view->frees;
}

static struct err *merge_past(struct job *job, bool timed, struct packed_list *list)
{
	struct walk_merge merge = {
		.log = job->view.log,
		.process = job->view.process,
		.until = job->view.until,
		.in_flight_word = job->in_flight_words.vec.at, .nr_in_flight =
				   job->in_flight_words.vec.nr,
	};
	struct err *err = session_heap_log(&job->view, timed, list);

	/* Ask this after the log was read, because the log goes on meanwhile. */
	merge.complete = is_complete(&job->view);
	return err ? err : packed_merge_past(list, &job->ret->walk, &merge, &job->left_out);
}

struct err *session_heap_past(struct session *session, const struct memory_view *view, bool timed,
			      struct session_heap *ret, struct packed_list *held_ret)
{
	struct session_heap heap = SESSION_HEAP_INIT;
	struct packed_list list = PACKED_INIT;
	struct job job = { .session = session, .ret = &heap, .view = *view };
	struct err *err = walk_view(&job);

	if (!err)
		err = merge_past(&job, timed, &list);
	heap.under_way = job.left_out.vec.nr;
	job.view = (struct memory_view)MEMORY_VIEW_INIT;	/* the caller's */
	return finish(&job, err, ret, &list, held_ret);
}

/* Without a stop. */
static struct err *look_at_log(struct job *job)
{
	const struct session *session = job->session;
	struct in_hand in_hand = { VEC_INIT };
	struct err *err = NULL;

	job->ret->process = session->current->probes ? session->current->probes->process : 0;
	if (session->region)
		err = session_in_hand(session, &in_hand);
	if (!err && job->at)
		err = job->at->at(job->at->ctx, job->ret,
				    session->region ? &session->region->log : NULL, &in_hand);
	vec_free(&in_hand.vec);
	return err;
}

/* Then blocks of an allocator that cannot be walked are in no other heaps. */
struct err *session_heap_walkable(struct session *session)
{
	const struct session_allocators *is = session_allocators(session);

	if ((!session->current->target->core &&
	     (!session->current->probes || !session->current->probes->all.nr)) ||
	    !is->nr || is->walkable)
		return NULL;
	return err_create(ERR_UNSUPPORTED, "mdbg cannot walk the heaps of %.100s",
			  session_allocator(session));
}

static struct err *walk_or_say(struct job *job)
{
	struct session *session = job->session;
	const struct session_allocators *is = &session->allocators;
	struct err *err = session_need_view(session);
	uint64_t pause = 0;

	if (!err)
		err = session_heap_walkable(session);
	walk_limit_prepare(session);
	if (!err)
		err = session_call_held(session, heap_held, job, &pause);
	job->ret->pause_ns = job->stood ? 0 : pause;
	if (is->nr + is->others > 1 && (!err || err->code == ERR_NOTFOUND))
		snprintf(job->ret->why, sizeof(job->ret->why),
			 "of its allocators (%.150s) only %s's heaps can be walked%s",
			 is->text, (is->walkable ? is->walkable : allocator_guess)->name,
			 err ? ", and nothing is allocated there" : "");
	else if (err)
		snprintf(job->ret->why, sizeof(job->ret->why), "%.255s", err->msg);
	if (!err || err->code == ERR_NOMEM)
		return err ? err : job->look_err;
	session_heap_free(job->ret);
	job->ret->under_way = 0;
	return look_at_log(job);
}

/* The number of bytes that a truncated core file lacks. */
static void note_missing(const struct session *session, struct session_heap *heap)
{
	const struct core *core = session->current->target ? session->current->target->core : NULL;
	size_t len = strlen(heap->why);

	heap->missing = core ? core->file->missing : 0;
	if (heap->missing && !heap->walked)
		snprintf(heap->why + len, sizeof(heap->why) - len,
			 " (%" PRIu64 " bytes of the core are missing)",
			 heap->missing);
}

static bool was_checked(const struct session *session, enum session_heap_how how)
{
	return how == SESSION_HEAP_CHECK && session->end_heap &&
	       session_state(session) == SESSION_ENDED;
}

struct err *session_heap(struct session *session, enum session_heap_how how,
			 const struct session_heap_look *at, struct session_heap *ret)
{
	struct job job = { .session = session, .check = how == SESSION_HEAP_CHECK, .at = at,
			   .ret = ret, .view = MEMORY_VIEW_INIT };
	struct err *err;

	if (was_checked(session, how)) {
		*ret = *session->end_heap;
		ret->lent = true;
		return NULL;
	}
	*ret = (struct session_heap)SESSION_HEAP_INIT;
	err = how == SESSION_HEAP_LOG ? look_at_log(&job) : walk_or_say(&job);
	if (!err)
		note_missing(session, ret);
	job_free(&job);
	if (err)
		session_heap_free(ret);
	return err;
}
