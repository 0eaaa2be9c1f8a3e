/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The heaps and the log at one moment (heap/heap_walk.h, heap/reconcile.h), in a stop or in a
 * snapshot (session/look.h).
 *
 * A thread that is inside the allocator (inspect/memory_view.h) may have a block that is in no
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

#include "inspect/heap_view.h"
#include "os/tracer.h"
#include "probe/probe.h"
#include "session/look.h"
#include "session/private.h"
#include "session/view_take.h"
#include "tracee/core_target.h"
#include "tracee/region.h"
#include "tracee/target.h"
#include "tracee/target_wait.h"

#define ROUNDS_NS	3000000000ull	/* no more rounds after this */
#define STEP_NS		50000ull	/* how long the target runs before the second, ... */
#define STEP_MOST_NS	50000000ull	/* ... and at most before a later one */
/* how long in all others wait for those inside the allocator */
#define DRAIN_NS	100000000ull
#define CALM_ROUNDS	3u

struct job {
	struct session *session;
	const struct session_heap_look *at;
	struct err *look_err;
	struct heaps *ret;
	/* gets the blocks of the log at each look; NULL: not wanted */
	struct packed_list *held;
	struct memory_view view;		/* of this look, in a stop */
	struct look look;			/* of all */
	struct heap_view walk;
	bool may_run;			/* the target, between the looks */
	uint64_t drain_budget;
	struct word_list left_out;	/* of this look */
	struct reconcile_history before;		/* this one */
	unsigned calm;			/* looks in a row with nobody inside */
	struct log_older older;		/* of the log, at the moment of the walk */
};

#define JOB_INIT(of, heap, checks)	{ .session = (of), .ret = (heap), .view = MEMORY_VIEW_INIT, \
					  .look = { LOOK_INIT }, \
					  .walk = { .own_memory = &(of)->own_memory, .check = (checks), \
						    .ret = (heap) } }

static void job_free(struct job *job)
{
	memory_view_free(&job->view);
	look_free(&job->look);
	heap_view_free(&job->walk);
	vec_free(&job->left_out.vec);
	reconcile_free(&job->before);
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

static struct err *look(struct job *job)
{
	struct err *err;

	job->walk.view = &job->view;
	err = heaps_walk(&job->walk, &job->before, job->held, &job->left_out);
	job->calm = !err && job->ret->calm ? job->calm + 1 : 0;
	return err;
}

/* Look again and again; each look keeps what it needs from the one before. */
static struct err *look_when_drained(void *ctx, bool *done_ret)
{
	struct job *job = ctx;
	struct err *err = NULL;

	if (job->ret->walked)
		err = reconcile_keep(&job->before, &job->ret->walk, &job->left_out);
	if (!err && job->may_run)
		err = view_take_drain(job->session, &job->drain_budget);
	memory_view_free(&job->view);
	job->view = (struct memory_view)MEMORY_VIEW_INIT;
	if (!err)
		err = view_take(job->session, false, &job->view);
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

/* What a look that is of no use any more has found. */
static void forget(struct job *job)
{
	heaps_free(job->ret);
	vec_clear(&job->left_out.vec);
	job->ret->under_way = 0;
	job->ret->gone = (struct walk_gone){ .blocks = 0 };
	job->calm = 0;
}

static void call_look(struct job *job, const struct memory_view *view)
{
	const struct session_heap_moment moment = {
		.log = view->log, .in_hand = &view->in_hand, .until = view->until,
		.accounts = &view->accounts, .pages_of = view->pages_of,
	};

	if (view->log)
		job->older = log_older_of(view->log, &view->accounts);
	if (job->at)
		job->look_err = job->at->at(job->at->ctx, job->ret, &moment);
}

static struct err *heap_held(struct session *session UNUSED, bool stood, void *arg)
{
	struct job *job = arg;
	struct err *err;

	forget(job);
	err = look_until_certain(job, !stood);
	if (!err)
		call_look(job, &job->view);
	return err;
}

/*
 * Give the result of the job to the caller, or free it after an error. list has the blocks, or is
 * NULL.
 */
static struct err *finish(struct job *job, struct err *err, struct heaps *ret,
			  struct packed_list *list, struct packed_list *list_ret)
{
	job_free(job);
	if (!err) {
		*ret = *job->ret;
		if (list)
			*list_ret = *list;
		return NULL;
	}
	heaps_free(job->ret);
	if (list)
		packed_free(list);
	return err;
}

struct err *session_heap_stopped(struct session *session, bool may_run, bool timed,
				 struct heaps *ret, struct packed_list *held_ret)
{
	struct heaps heap = HEAPS_INIT;
	struct packed_list list = { .timed = timed };
	struct job job = JOB_INIT(session, &heap, false);
	struct err *err;

	job.held = &list;
	err = look_until_certain(&job, may_run);
	if (!err)
		err = packed_merge_walk(&list, &heap.walk, heap.complete);
	return finish(&job, err, ret, &list, held_ret);
}

struct err *session_heap_checked(struct session *session, struct heaps *ret)
{
	struct heaps heap = HEAPS_INIT;
	struct job job = JOB_INIT(session, &heap, true);

	return finish(&job, look_until_certain(&job, false), ret, NULL, NULL);
}

/* For struct look: the heaps of a snapshot, and notes of what the log had then. */
static struct err *walk_past(void *ctx, enum look_sure *sure_ret)
{
	struct job *job = ctx;
	unsigned calm = job->calm;
	struct err *err;

	forget(job);
	job->walk.view = &job->look.view;
	err = heaps_walk_past(&job->walk, &job->left_out);
	if (err)
		return err;
	job->calm = job->ret->calm ? calm + 1 : 0;
	*sure_ret = is_certain(job) ? LOOK_SURE : LOOK_UNSURE;
	return NULL;
}

static struct err *past_found(void *ctx)
{
	struct job *job = ctx;

	call_look(job, &job->look.view);
	return NULL;
}

/* The heaps lie in such memory. */
static bool may_be_heap(const struct session *session UNUSED, const struct proc_map *map)
{
	return map->read && map->write && !map->shared;
}

/* Without a stop. */
static struct err *look_at_log(struct job *job)
{
	const struct session *session = job->session;
	struct in_hand in_hand = { VEC_INIT };
	const struct session_heap_moment moment = {
		.log = session->region ? &session->region->log : NULL,
		.in_hand = &in_hand, .until = UINT64_MAX,
	};
	struct err *err = NULL;

	job->ret->process = session->current->probes ? session->current->probes->process : 0;
	if (session->region)
		err = session_agent_in_hand(session, &in_hand);
	if (!err && job->at)
		err = job->at->at(job->at->ctx, job->ret, &moment);
	vec_free(&in_hand.vec);
	return err;
}

/* Then blocks of an allocator that cannot be walked are in no other heaps. */
struct err *session_heap_walkable(struct session *session)
{
	const struct session_allocators *is = session_allocators(session);

	if ((session->current->target->kind->live &&
	     (!session->current->probes || !session->current->probes->all.nr)) ||
	    !is->nr || is->walkable)
		return NULL;
	return err_create(ERR_UNSUPPORTED, "mdbg cannot walk the heaps of %.100s",
			  session_allocator(session));
}

static struct err *look_at_heaps(struct job *job)
{
	struct look *look = &job->look;
	struct err *err = session_heap_walkable(job->session);

	if (err)
		return err;
	look->session = job->session;
	look->wants = may_be_heap;
	look->stopped = heap_held;
	look->walked = walk_past;
	look->found = past_found;
	look->ctx = job;
	err = look_run(look);
	job->ret->pause_ns = look->pause_ns;
	snprintf(job->ret->no_snapshot, sizeof(job->ret->no_snapshot), "%s", look->no_snapshot);
	return err;
}

/* The first glibc with no arena that is known, though its data are not those of an unused one. */
static const struct heaps_libc *unknown_libc(const struct heaps *heap)
{
	for (size_t i = 0; heap->walked && i < heap->nr_libcs; i++)
		if (heap->walk.unknown_libcs & 1u << i)
			return &heap->libc[i];
	return NULL;
}

/* err is that of the walk. */
static void say_lacks(struct job *job, const struct err *err)
{
	const struct session_allocators *is = &job->session->allocators;
	const struct heaps_libc *unknown = unknown_libc(job->ret);
	char *why = job->ret->why;
	size_t room = sizeof(job->ret->why);

	if (is->partly && (!err || err->code == ERR_NOTFOUND))
		snprintf(why, room, "of its allocators (%.100s) mdbg cannot walk the heaps of %.60s%s",
			 is->text, is->unwalked, err ? ", and no block is in the others" : "");
	else if (err && err->code == ERR_NOTFOUND && !is->nr && !is->others)
		snprintf(why, room, "no malloc that mdbg knows was found, by name or by its data");
	else if (err && err->code == ERR_NOTFOUND && is->guessed)
		snprintf(why, room, "mdbg cannot walk the heaps of %.100s: it is no malloc that mdbg "
				    "knows, or nothing was allocated from it", is->text);
	else if (err)
		snprintf(why, room, "%.255s", err->msg);
	else if (unknown)
		snprintf(why, room, "the heaps of %s at 0x%" PRIx64 " are not known: its data have "
				    "no arena of a known layout", unknown->name, unknown->start);
}

static struct err *walk_or_say(struct job *job)
{
	struct session *session = job->session;
	struct err *err = session_need_view(session);

	if (!err)
		err = look_at_heaps(job);
	if (err && (job->look.refused || err->code == ERR_CANCELLED))
		return err;
	say_lacks(job, err);
	if (!err || err->code == ERR_NOMEM)
		return err ? err : job->look_err;
	forget(job);
	return look_at_log(job);
}

/* The number of bytes that a truncated core file lacks. */
static void note_missing(const struct session *session, struct heaps *heap)
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
	return how == SESSION_HEAP_CHECK && session->end.heap &&
	       session_state(session) == SESSION_ENDED;
}

struct err *session_heap(struct session *session, enum session_heap_how how,
			 const struct session_heap_look *at, struct heaps *ret)
{
	struct job job = JOB_INIT(session, ret, how == SESSION_HEAP_CHECK);
	struct err *err;

	if (was_checked(session, how)) {
		*ret = *session->end.heap;
		ret->lent = true;
		return NULL;
	}
	job.at = at;
	job.walk.lists = how == SESSION_HEAP_LISTS;
	*ret = (struct heaps)HEAPS_INIT;
	err = how == SESSION_HEAP_LOG ? look_at_log(&job) : walk_or_say(&job);
	if (!err) {
		note_missing(session, ret);
		older_note(session, ret, &job.older);
	}
	job_free(&job);
	if (err)
		heaps_free(ret);
	return err;
}

struct unknown_frees_job {
	struct blocks blocks;
	struct unknown_frees *ret;
};

static struct err *unknown_frees_job(struct session *session, void *arg)
{
	const struct process *process = session->current;
	struct unknown_frees_job *job = arg;
	const struct unknown_frees_by by = {
		.log = &session->region->log, .blocks = &job->blocks,
		.modules = process->target ? &process->target->modules : NULL,
		.probes = process->probes,
	};

	return unknown_frees_judge(&by, job->ret);
}

struct err *session_heap_unknown_frees(struct session *session, struct unknown_frees *ret)
{
	struct unknown_frees_job job = { BLOCKS_INIT, ret };
	struct in_hand in_hand = { VEC_INIT };
	struct err *err = session_agent_in_hand(session, &in_hand);

	*ret = (struct unknown_frees){ .vec = VEC_INIT };
	if (!err)
		err = blocks_from_log(&session->region->log, &in_hand, &job.blocks);
	if (!err)
		err = session_call(session, unknown_frees_job, &job);
	blocks_free(&job.blocks);
	vec_free(&in_hand.vec);
	return err;
}
