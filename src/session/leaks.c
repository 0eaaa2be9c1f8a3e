/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leak search (theory in leaks.h). */

#include "session/leaks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/trace.h"
#include "os/tracer.h"
#include "probe/trap_ledger.h"
#include "session/find_address.h"
#include "session/private.h"
#include "session/leak_search.h"
#include "session/leak_stacks.h"
#include "session/memory_view.h"
#include "session/walk_limit.h"
#include "tracee/forkable.h"
#include "tracee/region.h"
#include "tracee/snapshot.h"
#include "tracee/target.h"
#include "tracee/wait.h"

#define QUIET_NS	1000000000ull	/* how long to wait for calls that are under way */
/* how long the target runs before the second look for some */
#define STEP_NS		50000ull
#define SNAPSHOTS	6u		/* one more if threads were inside the allocator */
#define SNAPSHOT_QUIET_NS	100000000ull	/* how long to wait for calls before one ... */
/* ... while only those inside run; then twice that */
#define SNAPSHOT_DRAIN_NS	20000000ull

struct job {
	struct session *session;
	struct session_leaks *ret;
	bool timed;
	struct memory_view view;		/* what is searched */
	bool at_end;			/* of the process: its threads will run no more */
	uint64_t deadline;		/* of waiting for calls that are under way */
	struct session_heap walk;	/* if walked */
	struct session_find *find;	/* find what points to `address`; NULL: search for leaks */
	uint64_t address;
	size_t limit;
	struct smaps smaps;
	struct snapshot snapshot;
	bool has_snapshot;
	/* every thread is in a group stop: another look would find the same */
	bool cannot_move;
	/* how long others may still wait for those inside the allocator */
	uint64_t drain;
};

static void job_free(struct job *job)
{
	memory_view_free(&job->view);
	session_heap_free(&job->walk);
	smaps_free(&job->smaps);
}

/* The blocks that a realloc has in hand. */
static struct err *take_in_hand(struct job *job, struct in_hand *in_hand)
{
	struct err *err = job->session->region ? session_in_hand(job->session, in_hand) : NULL;
	struct thread *thread;

	job->ret->under_way = in_hand->vec.nr;
	for_each_thread(thread, job->session->current->target) {
		const struct thread_ops *ops = thread->data;

		for (unsigned i = 0; ops && i < ops->ledger.nr_ops; i++)
			job->ret->under_way += ops->ledger.op[i].took;
	}
	return err;
}

static struct err *has_settled(void *ctx, bool *done_ret)
{
	struct in_hand in_hand = { VEC_INIT };
	struct job *job = ctx;
	struct err *err = take_in_hand(job, &in_hand);

	vec_free(&in_hand.vec);
	*done_ret = !job->ret->under_way;
	return err;
}

/* Repeats until `look` is done; ret->under_way says whether it is. */
static struct err *await(struct job *job, struct err *(*look)(void *ctx, bool *done_ret),
			 uint64_t deadline)
{
	const struct target_wait wait = {
		.look = look, .ctx = job,
		.step = STEP_NS, .step_most = QUIET_NS, .deadline = deadline,
	};
	bool done;

	return target_wait(job->session->current->target, &wait, &done);
}

/* err is that of the walk. */
static struct err *take_walk(struct job *job, struct err *err)
{
	struct session_leaks *ret = job->ret;

	if (err && err->code == ERR_NOMEM)
		return err;
	if (err) {
		snprintf(ret->why, sizeof(ret->why), "%.255s", err->msg);
		return NULL;
	}
	ret->walked = true;
	ret->damages = job->walk.walk.damages;
	ret->uncertain = job->walk.walk.uncertain;
	ret->caches_known = job->walk.walk.caches_known;
	return NULL;
}

/* During the walk a target that was running may run on for moments and begin another realloc. */
static struct err *find_blocks(struct job *job, bool may_run)
{
	struct session_leaks *ret = job->ret;
	struct err *err = NULL;

	while (!err) {
		struct in_hand in_hand = { VEC_INIT };

		/*
		 * A realloc may have moved the contents of a block, while the new block is not
		 * known yet. (A block that was given out and has no record yet is not known either,
		 * but it is still empty.)
		 */
		err = await(job, has_settled, may_run ? job->deadline : 0);
		if (!err && !*ret->why) {
			packed_free(&ret->held);
			session_heap_free(&job->walk);
			err = take_walk(job, session_heap_stopped(job->session, may_run, job->timed,
								  &job->walk, &ret->held));
		}
		if (!err)
			err = take_in_hand(job, &in_hand);
		vec_free(&in_hand.vec);
		if (!ret->under_way || !may_run || tracer_now() > job->deadline ||
		    !target_can_move(job->session->current->target, NULL, NULL))
			break;
	}
	return err;
}

/* The blocks of the log, as the view has it. */
static struct err *log_blocks(struct job *job)
{
	return job->ret->walked ? NULL : session_heap_log(&job->view, job->timed, &job->ret->held);
}

static struct err *find_around(struct job *job)
{
	struct session_find *find = job->find;
	struct err *err;

	find->heap = job->walk;		/* empty if there was no walk */
	job->walk = (struct session_heap)SESSION_HEAP_INIT;
	find->heap.process = job->view.process;
	snprintf(find->heap.why, sizeof(find->heap.why), "%.255s", job->ret->why);
	err = find_referrers(job->session, &job->view, job->address, job->limit, find);
	find->generation = job->session->current->target->modules.generation;
	find->maps = job->view.maps;
	job->view.maps = (struct proc_maps){ VEC_INIT };
	return err;
}

static struct err *search_held(struct session *session, bool stood, void *arg)
{
	struct job *job = arg;
	struct err *err = find_blocks(job, !stood);

	if (!err)
		err = memory_view_take(session, true, &job->view);
	if (!err && job->at_end)
		leak_stacks_leave_exit(session, &job->view);
	job->ret->core = job->view.core;
	if (!err)
		err = log_blocks(job);
	if (!err && job->find)
		err = find_around(job);
	else if (!err)
		err = search_run(session, &job->view, &job->walk.walk, job->ret);
	if (!err && !job->find)
		leak_holders_walk(session, &job->view, job->ret);
	return err;
}

/* Main thread. */
static struct err *search_in_stop(struct job *job)
{
	job->deadline = tracer_now() + QUIET_NS;
	return session_call_held(job->session, search_held, job, &job->ret->pause_ns);
}

/* Does a fork leave this mapping out, or share it so that it changes? */
static bool is_unforked(const struct smaps *smaps, const struct proc_map *map)
{
	return map->shared || smaps_unforked(smaps, map->start, map->end);
}

static struct err *check_copies(const struct job *job, const struct proc_maps *maps)
{
	struct memory *memory = job->session->current->target->memory;
	uint64_t sum = 0, start, end;

	vec_each(map, &maps->vec) {
		if (!search_is_root(map) || !is_unforked(&job->smaps, map))
			continue;
		for (uint64_t at = map->start; memory_next(memory, at, map->end, &start, &end);
		     at = end)
			sum += end - start;
	}
	return sum <= FORKABLE_COPY_MAX ? NULL :
		err_create(ERR_UNSUPPORTED, "no snapshot: a fork does not copy %" PRIu64
			   " MB of memory that is shared", sum >> 20);
}

static struct err *make_copies(struct job *job, struct snapshot_copies *copies)
{
	const struct proc_maps *maps = &job->view.maps;
	struct err *err = check_copies(job, maps);

	for (size_t i = 0; i < maps->vec.nr && !err; i++) {
		const struct proc_map *map = &maps->vec.at[i];

		if (search_is_root(map) && is_unforked(&job->smaps, map))
			err = snapshot_copy(job->session->current->target, map->start, map->end,
					    copies);
	}
	return err;
}

/*
 * Wait until no thread is in the middle of a realloc or inside the allocator, or until the time is
 * over.
 */
static struct err *has_calmed_down(void *ctx, bool *done_ret)
{
	struct job *job = ctx;
	struct err *err = memory_view_drain(job->session, &job->drain);

	return err ? err : has_settled(job, done_ret);
}

/* The target is stopped. */
static struct err *take_snapshot(struct session *session, bool stood UNUSED, void *arg)
{
	struct snapshot_copies copies = { VEC_INIT };
	struct job *job = arg;
	struct err *err = await(job, has_calmed_down, job->deadline);

	job->cannot_move = !target_can_move(session->current->target, NULL, NULL);
	if (!err)
		err = memory_view_take(session, true, &job->view);
	if (!err)
		err = make_copies(job, &copies);
	if (!err) {
		job->view.until = log_now();
		err = snapshot_take(session->current->target, &copies, &job->snapshot);
	}
	snapshot_copies_free(&copies);
	if (err)
		return err;
	job->has_snapshot = true;
	job->view.memory = &job->snapshot.memory;
	job->view.pages_of = job->snapshot.pid;
	return NULL;
}

static void end_snapshot(struct job *job)
{
	if (!job->has_snapshot)
		return;
	session_end_snapshot(job->session, &job->snapshot);
	snapshot_free(&job->snapshot);
	job->has_snapshot = false;
}

/* Use the heaps of the snapshot, or only the log as it was at that moment. */
static struct err *walk_snapshot(struct job *job)
{
	struct err *err = NULL;

	if (!*job->ret->why)
		err = take_walk(job, session_heap_past(job->session, &job->view, job->timed,
							&job->walk, &job->ret->held));
	return err ? err : log_blocks(job);
}

/*
 * Were the heaps in the middle of a change? Then free chunks may be taken for blocks, and for lost
 * ones.
 */
static bool is_torn(const struct job *job)
{
	const struct session_leaks *ret = job->ret;

	return ret->walked && (ret->damages || ret->uncertain || !ret->caches_known);
}

static bool is_sure(const struct job *job)
{
	return !job->ret->walked || (!is_torn(job) && !job->walk.under_way);
}

static void forget_look(struct job *job)
{
	memory_view_free(&job->view);
	job->view = (struct memory_view)MEMORY_VIEW_INIT;
	packed_free(&job->ret->held);
	reach_free(&job->ret->mark);
	vec_free(&job->ret->holders);
	session_heap_free(&job->walk);
	job->ret->walked = false;
	job->ret->blind_threads = job->ret->under_way = 0;
	job->ret->unread = (struct search_unread){ 0, 0 };
}

/* The stacks are the snapshot's; the modules, whose rows lead through them, the tracer's. */
static struct err *walk_holders(struct session *session, void *arg)
{
	struct job *job = arg;

	leak_holders_walk(session, &job->view, job->ret);
	return NULL;
}

static struct err *search_snapshot(struct job *job)
{
	struct err *err = NULL;
	uint64_t pause = 0;

	for (unsigned i = 0; i < SNAPSHOTS && !err && !job->has_snapshot; i++) {
		forget_look(job);
		job->drain = SNAPSHOT_DRAIN_NS << i;
		job->deadline = tracer_now() + SNAPSHOT_QUIET_NS;
		err = session_call_held(job->session, take_snapshot, job, &pause);
		job->ret->pause_ns = MAX(job->ret->pause_ns, pause);
		if (!err)
			err = walk_snapshot(job);
		if (!err && !is_sure(job) && !job->cannot_move && i + 1 < SNAPSHOTS)
			end_snapshot(job);
	}
	/*
	 * A search in a stop can look as often as necessary. Where the target stands anyhow, it
	 * would find the same.
	 */
	if (!err && is_torn(job) && !job->cannot_move)
		err = err_create(ERR_BUSY, "no snapshot: the heaps were in change, or damaged, "
				 "in each of %u", SNAPSHOTS);
	if (!err)
		err = search_run(job->session, &job->view, &job->walk.walk, job->ret);
	if (!err)
		err = session_call(job->session, walk_holders, job);
	job->ret->snapshot = !err;
	if (err)
		return keeping(err, end_snapshot(job));
	end_snapshot(job);
	return NULL;
}

static struct err *by_snapshot(struct job *job)
{
	struct proc_maps maps = { VEC_INIT };
	struct err *err = forkable_check(job->session->current->pid, &job->smaps);

	/* Check this before the target is stopped for nothing. */
	if (!err)
		err = session_maps(job->session, &maps);
	if (!err)
		err = check_copies(job, &maps);
	proc_maps_free(&maps);
	return err ? err : search_snapshot(job);
}

/* If the memory is small, a search in a stop takes hardly longer than a fork. */
static bool is_large(const struct session *session)
{
	struct proc_status status;

	return !procfs_status(session->current->pid, &status) &&
	       status.anonymous_kb + status.swap_kb > SESSION_LEAKS_LARGE >> 10;
}

static struct err *search(struct job *job, enum session_leaks_how how)
{
	struct session *session = job->session;
	struct err *err;

	/* A target that is stopped anyway can wait. */
	if (how == SESSION_LEAKS_STOP || session_state(session) != SESSION_RUNNING ||
	    (how == SESSION_LEAKS_AUTO && !is_large(session)))
		return search_in_stop(job);
	err = by_snapshot(job);
	if (!err || err->code == ERR_GONE || err->code == ERR_CANCELLED || err->code == ERR_NOMEM)
		return err;
	snprintf(job->ret->no_snapshot, sizeof(job->ret->no_snapshot), "%.255s", err->msg);
	forget_look(job);
	return search_in_stop(job);
}

static struct err *check_recorded(const struct session *session)
{
	return session->region ? NULL :
		err_hint(err_create(ERR_STATE, "nothing was recorded of process %d",
				    session->current->pid),
			 "`malloc on` begins to");
}

#define JOB_INIT(of, leaks, times)	{ .session = (of), .ret = (leaks), .timed = (times), \
					  .view = MEMORY_VIEW_INIT, .walk = SESSION_HEAP_INIT }

static void note_walkable(struct session *session, struct session_leaks *leaks)
{
	struct err *err = session_heap_walkable(session);

	if (err)
		snprintf(leaks->why, sizeof(leaks->why), "%.255s", err->msg);
}

static struct err *search_live(struct session *session, enum session_leaks_how how, bool timed,
			       struct session_leaks *ret)
{
	struct session_leaks leaks = { .held = PACKED_INIT };
	struct job job = JOB_INIT(session, &leaks, timed);
	struct err *err = check_recorded(session);

	if (!err) {
		note_walkable(session, &leaks);
		err = search(&job, how);
	}
	job_free(&job);
	if (err)
		session_leaks_free(&leaks);
	else
		*ret = leaks;
	return err;
}

struct err *session_find(struct session *session, uint64_t address, size_t limit,
			 struct session_find *ret)
{
	struct session_find find = { .in = { .held = PACKED_INIT }, .heap = SESSION_HEAP_INIT };
	struct job job = JOB_INIT(session, &find.in, true);
	struct err *err = session_need_view(session);

	job.find = &find;
	job.address = address;
	job.limit = limit;
	if (!err) {
		note_walkable(session, &find.in);
		walk_limit_prepare(session);
		err = search_in_stop(&job);
	}
	job_free(&job);
	if (err)
		session_find_free(&find);
	else
		*ret = find;
	return err;
}

/*
 * The blocks are lent to the caller, for as long as the session has its target; leaks_stale
 * replaces held.live.
 */
static struct err *lend(const struct session_leaks *found, struct session_leaks *ret)
{
	struct session_leaks lent = *found;
	struct err *err;

	lent.lent = true;
	lent.held.live.at = NULL;
	lent.held.live.nr = lent.held.live.room = 0;
	err = vec_reserve(&lent.held.live, found->held.live.nr);
	if (err)
		return err;
	vec_each(live, &found->held.live)
		lent.held.live.at[lent.held.live.nr++] = *live;
	*ret = lent;
	return NULL;
}

/* The answer says that there is damage, and `malloc check` is to say where. */
static void check_at_end(struct session *session, const struct session_leaks *leaks)
{
	struct session_heap *heap;
	struct err *err;

	if (!leaks->walked || !(leaks->damages || leaks->uncertain))
		return;
	heap = calloc(1, sizeof(*heap));
	err = heap ? session_heap_checked(session, heap) : err_nomem;
	if (!err) {
		session->end_heap = heap;
		return;
	}
	trace_line("check at the end: %s", err->msg);
	free(heap);
}

static struct err *look_at_end(struct session *session, bool stood, void *arg)
{
	struct job *job = arg;
	struct err *err = search_held(session, stood, job);

	if (!err)
		check_at_end(session, job->ret);
	return err;
}

void session_look_at_end(struct session *session)
{
	struct session_leaks *leaks = calloc(1, sizeof(*leaks));
	/* It is not known yet which fields will be needed. */
	struct job job = JOB_INIT(session, leaks, true);
	struct err *err = leaks ? check_recorded(session) : err_nomem;

	/* Get the names of the modules that were loaded last. */
	if (!err)
		err = target_refresh(session->current->target, NULL);
	job.deadline = tracer_now() + QUIET_NS;
	job.at_end = true;
	if (!err)
		err = session_held(session, look_at_end, &job, &leaks->pause_ns);
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
	struct process *process = session->current;
	struct err *err;

	if (session->end_leaks)
		return lend(session->end_leaks, ret);
	if (*session->end_err.msg)
		return err_wrap(err_adopt(&session->end_err), "at the end of process %d",
				process->pid);
	if (!session->config.leaks_at_end)
		return err_hint(err_create(ERR_STATE, "process %d has ended", process->pid),
				"`set leaks-at-end on` before has its leaks looked for when it ends");
	err = err_create(ERR_STATE, "process %d was not looked at when it ended", process->pid);
	if (!process_has_execed(process->state))
		return err;
	return err_hint(err, "it has executed another program: `set follow-exec on`");
}

struct err *session_leaks(struct session *session, enum session_leaks_how how, bool timed,
			  struct session_leaks *ret)
{
	struct err *err;

	if (session_state(session) == SESSION_ENDED)
		return found_at_end(session, ret);
	err = session_need_view(session);
	if (err)
		return err;
	walk_limit_prepare(session);
	return search_live(session, how, timed, ret);
}
