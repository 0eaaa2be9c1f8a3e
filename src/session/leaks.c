/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leak search (theory in inspect/leak_search.h), in a stop or a snapshot. */

#include "session/leaks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/trace.h"
#include "inspect/find_address.h"
#include "inspect/leak_search.h"
#include "inspect/leak_stacks.h"
#include "os/tracer.h"
#include "probe/pools.h"
#include "probe/trap_ledger.h"
#include "session/heap.h"
#include "session/look.h"
#include "session/pool/session_contents.h"
#include "session/pool/session_pools.h"
#include "session/pool/session_python.h"
#include "session/private.h"
#include "session/view_take.h"
#include "tracee/region.h"
#include "tracee/target.h"
#include "tracee/target_wait.h"

#define QUIET_NS	1000000000ull	/* how long to wait for calls that are under way */
/* how long the target runs before it is asked for the second time whether they have ended */
#define STEP_NS		50000ull
#define CALM_ROUNDS	3u		/* damage that is seen so often, with nobody inside, stays */

struct job {
	struct session *session;
	struct leak_marks *ret;
	bool timed;
	struct memory_view view;	/* what is searched, in a stop */
	bool at_end;			/* of the process: its threads will run no more */
	uint64_t deadline;		/* of waiting for calls that are under way */
	struct find_address *find;	/* find what find_ask says; NULL: search for leaks */
	const struct find_ask *find_ask;
	struct owner_graph *owners;	/* find all pointers, and what `ask` says; or NULL */
	const struct owner_ask *ask;
	/* Of a Python whose objects probes have recorded: these are no part of the search. */
	struct session_python_place python;
	struct look look;
	unsigned calm;			/* snapshots in a row with nobody inside the allocator */
};

static void job_free(struct job *job)
{
	memory_view_free(&job->view);
	look_free(&job->look);
}

/* The blocks that a realloc has in hand. */
static struct err *take_in_hand(struct job *job, struct in_hand *in_hand)
{
	struct session *session = job->session;
	struct err *err = session->region ? session_agent_in_hand(session, in_hand) : NULL;
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

/* During the walk a target that was running may run on for moments and begin another realloc. */
static struct err *find_blocks(struct job *job, bool may_run)
{
	struct leak_marks *ret = job->ret;
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
			heaps_free(&ret->heap);
			err = session_heap_stopped(job->session, may_run, job->timed, &ret->heap,
						   &ret->held);
			err = leak_marks_take_walk(ret, err);
		}
		if (!err)
			err = take_in_hand(job, &in_hand);
		vec_free(&in_hand.vec);
		if (!ret->under_way || !may_run || tracer_now() > job->deadline ||
		    !stop_can_move(job->session->current->target, NULL, NULL))
			break;
	}
	return err;
}

/* The blocks of the log, as the view has it. */
static struct err *log_blocks(struct job *job, const struct memory_view *view)
{
	return job->ret->walked ? NULL : heaps_list_log(view, job->timed, &job->ret->held);
}

/* What the tracer thread finds names for in a view. */
struct naming {
	const struct memory_view *view;
	const struct find_places *places;
	struct find_address *find;
	struct owner_graph *owners;
	struct leak_marks *marks;
};

static struct err *name_places(struct session *session UNUSED, void *arg)
{
	const struct naming *naming = arg;

	return find_address_name(naming->view, naming->places, naming->find);
}

/* What the blocks are, of the same moment. The rest of the answer is as good without that. */
static struct err *find_contents(struct job *job, const struct memory_view *view, bool any)
{
	const struct find_ask *ask = job->find_ask;
	const struct find_address *find = job->find;
	struct err *err;

	if (!ask->contents)
		return NULL;
	*ask->found_ret = false;
	if (!any || find->in.held.nr > ask->most)
		return NULL;
	err = session_contents_find(ask->contents, view, &find->in, &find->heap);
	*ask->found_ret = !err;
	return err && (err->code == ERR_NOMEM || err->code == ERR_CANCELLED) ? err : NULL;
}

static struct err *find_around(struct job *job, struct memory_view *view, bool stopped)
{
	struct find_address *find = job->find;
	struct find_places places;
	struct naming naming = { .view = view, .places = &places, .find = find };
	struct err *err;

	/* An earlier look was of no use. */
	heaps_free(&find->heap);
	procparse_maps_free(&find->maps);
	vec_clear(&find->vec);
	find->heap = job->ret->heap;	/* empty if there was no walk */
	job->ret->heap = (struct heaps)HEAPS_INIT;
	find->heap.process = view->process;
	snprintf(find->heap.why, sizeof(find->heap.why), "%.255s", job->ret->why);
	err = find_address_search(view, job->find_ask->address, job->find_ask->limit, find, &places);
	if (!err)
		err = find_contents(job, view, places.referrers.block != REFERRERS_NO_BLOCK);
	if (!err)
		err = stopped ? name_places(job->session, &naming) :
				session_call(job->session, name_places, &naming);
	find_address_free_places(&places);
	find->maps = view->maps;
	view->maps = (struct proc_maps){ VEC_INIT };
	return err;
}

static struct err *name_roots(struct session *session UNUSED, void *arg)
{
	const struct naming *naming = arg;

	return owner_graph_name(naming->view, naming->owners);
}

static struct err *find_owners(struct job *job, struct memory_view *view, bool stopped)
{
	struct naming naming = { .view = view, .owners = job->owners };
	struct err *err = owner_graph_search(view, job->ask, job->owners);

	if (!err)
		err = stopped ? name_roots(job->session, &naming) :
				session_call(job->session, name_roots, &naming);
	job->owners->maps = view->maps;
	view->maps = (struct proc_maps){ VEC_INIT };
	return err;
}

/* The stacks are the view's; the modules, whose rows lead through them, the tracer's. */
static struct err *walk_holders(struct session *session UNUSED, void *arg)
{
	const struct naming *naming = arg;

	leak_stacks_find_frames(naming->view, naming->marks);
	return NULL;
}

static bool in_arenas(const void *ctx, uint64_t address)
{
	return pymalloc_has(ctx, address);
}

/*
 * What Python frees by inlined code stays recorded, and would seem lost. The walk of its arenas knows
 * better (heap/python/pylost.h).
 */
static struct err *leave_python(struct job *job, const struct memory_view *view)
{
	struct pymalloc arenas = { .pool_size = 0 };
	struct err *err;

	if (!job->python.start)
		return NULL;
	err = session_python_arenas(&job->python, view, &arenas);
	if (!err)
		packed_drop_user(&job->ret->held, in_arenas, &arenas);
	pymalloc_free(&arenas);
	return err && err->code == ERR_NOTFOUND ? NULL : err;
}

static struct err *find_leaks(struct job *job, struct memory_view *view, bool stopped)
{
	struct naming naming = { .view = view, .marks = job->ret };
	struct err *err = leave_python(job, view);

	if (!err)
		err = leak_search_run(view, &job->ret->heap.walk, job->ret);
	if (err)
		return err;
	return stopped ? walk_holders(job->session, &naming) :
			 session_call(job->session, walk_holders, &naming);
}

/* stopped: on the tracer thread, in a stop. */
static struct err *search_view(struct job *job, struct memory_view *view, bool stopped)
{
	if (job->find)
		return find_around(job, view, stopped);
	return (job->owners ? find_owners : find_leaks)(job, view, stopped);
}

static struct err *search_held(struct session *session, bool stood, void *arg)
{
	struct job *job = arg;
	struct err *err = find_blocks(job, !stood);

	if (!err)
		err = view_take(session, true, &job->view);
	if (!err && job->at_end)
		leak_stacks_leave_exit(&job->view);
	job->ret->core = !job->session->current->target->kind->live;
	if (!err)
		err = log_blocks(job, &job->view);
	return err ? err : search_view(job, &job->view, true);
}

static void forget_look(struct job *job)
{
	memory_view_free(&job->view);
	job->view = (struct memory_view)MEMORY_VIEW_INIT;
	leak_marks_forget(job->ret);
}

static struct err *search_stopped(struct session *session, bool stood, void *arg)
{
	struct job *job = arg;

	forget_look(job);
	job->deadline = tracer_now() + QUIET_NS;
	return search_held(session, stood, arg);
}

/* Damage that stays while nobody is inside the allocator is no change. */
static bool is_torn(const struct job *job)
{
	return leak_marks_torn(job->ret) && job->calm < CALM_ROUNDS;
}

/* For struct look: use the heaps of the snapshot, or only the log as it was at that moment. */
static struct err *walk_snapshot(void *ctx, enum look_sure *sure_ret)
{
	struct job *job = ctx;
	struct leak_marks *ret = job->ret;
	uint64_t under_way = ret->under_way;
	struct err *err = NULL;

	forget_look(job);
	ret->under_way = under_way;	/* found in the stop */
	if (!*ret->why)
		err = leak_marks_take_walk(ret, heaps_list_past(&job->look.view,
								&job->session->own_memory,
								job->timed, &ret->heap,
								&ret->held));
	job->calm = ret->walked && ret->heap.calm ? job->calm + 1 : 0;
	*sure_ret = !ret->walked ? LOOK_SURE : is_torn(job) ? LOOK_TORN :
		    ret->heap.under_way ? LOOK_UNSURE : LOOK_SURE;
	return err ? err : log_blocks(job, &job->look.view);
}

static struct err *search_snapshot(void *ctx)
{
	struct job *job = ctx;

	return search_view(job, &job->look.view, false);
}

static bool is_root(const struct session *session, const struct proc_map *map)
{
	return leak_search_is_root(session->region, map);
}

static struct err *search(struct job *job, enum look_how how)
{
	struct look *look = &job->look;
	struct err *err;

	look->session = job->session;
	look->how = how;
	look->deep = true;
	look->wants = is_root;
	look->settled = has_settled;
	look->stopped = search_stopped;
	look->walked = walk_snapshot;
	look->found = search_snapshot;
	look->ctx = job;
	err = look_run(look);
	job->ret->pause_ns = look->pause_ns;
	job->ret->snapshot = look->snapshot;
	snprintf(job->ret->no_snapshot, sizeof(job->ret->no_snapshot), "%s", look->no_snapshot);
	return err;
}

static struct err *check_recorded(const struct session *session)
{
	return session->region ? NULL :
		err_hint(err_create(ERR_STATE, "nothing was recorded of process %d",
				    session->current->pid),
			 "`malloc on` begins to");
}

#define JOB_INIT(of, leaks, times)	{ .session = (of), .ret = (leaks), .timed = (times), \
					  .view = MEMORY_VIEW_INIT, .look = { LOOK_INIT } }

static void note_walkable(struct session *session, struct leak_marks *leaks)
{
	struct err *err = session_heap_walkable(session);

	if (err)
		snprintf(leaks->why, sizeof(leaks->why), "%.255s", err->msg);
}

static struct err *find_python(struct job *job)
{
	struct session_pools pools_are;
	struct err *err = session_pools(job->session, &pools_are);

	for (unsigned i = 0; !err && i < POOLS; i++)
		if (pools[i].lists && pools_are.probed & 1u << i)
			err = session_python_find(job->session, &job->python);
	return err;
}

static struct err *search_live(struct session *session, enum look_how how, bool timed,
			       struct leak_marks *ret)
{
	struct leak_marks leaks = { .held = PACKED_INIT, .heap = HEAPS_INIT };
	struct job job = JOB_INIT(session, &leaks, timed);
	struct err *err = check_recorded(session);

	if (!err)
		err = find_python(&job);
	if (!err) {
		note_walkable(session, &leaks);
		err = search(&job, how);
	}
	job_free(&job);
	if (err)
		leak_marks_free(&leaks);
	else
		*ret = leaks;
	return err;
}

struct err *session_leaks_find(struct session *session, const struct find_ask *ask,
			       struct find_address *ret)
{
	struct find_address find = { .in = { .held = PACKED_INIT, .heap = HEAPS_INIT },
				     .heap = HEAPS_INIT };
	struct job job = JOB_INIT(session, &find.in, true);
	struct err *err = session_need_view(session);

	job.find = &find;
	job.find_ask = ask;
	if (!err) {
		note_walkable(session, &find.in);
		/* Types take time: as in session_contents, the process is not to stand for that. */
		err = search(&job, ask->contents && session_recorded(session) ? LOOK_SNAPSHOT :
										LOOK_AUTO);
	}
	job_free(&job);
	if (err)
		find_address_free(&find);
	else
		*ret = find;
	return err;
}

static struct err *check_found(const struct owner_ask *ask, const struct owner_graph *owners)
{
	struct err *err;

	if (!ask->address || owners->block != WORD_NO_BLOCK)
		return NULL;
	err = err_create(ERR_NOTFOUND, owners->freed ? "0x%" PRIx64 " is in free memory of a heap" :
			 "no block is at 0x%" PRIx64, ask->address);
	return err_hint(err, "`malloc find 0x%" PRIx64 "` says what is known of it", ask->address);
}

struct err *session_leaks_graph(struct session *session, const struct owner_ask *ask,
				struct owner_graph *ret)
{
	struct owner_graph owners = { .in = { .held = PACKED_INIT, .heap = HEAPS_INIT } };
	struct job job = JOB_INIT(session, &owners.in, ask->timed);
	struct err *err = session_need_view(session);

	job.owners = &owners;
	job.ask = ask;
	if (!err) {
		note_walkable(session, &owners.in);
		err = search(&job, LOOK_AUTO);
	}
	job_free(&job);
	if (!err)
		err = check_found(ask, &owners);
	if (err)
		owner_graph_free(&owners);
	else
		*ret = owners;
	return err;
}

/* The answer says that there is damage, and `malloc check` is to say where. */
static void check_at_end(struct session *session, const struct leak_marks *leaks)
{
	struct heaps *heap;
	struct err *err;

	if (!leaks->walked || !(leaks->damages || leaks->uncertain))
		return;
	heap = calloc(1, sizeof(*heap));
	err = heap ? session_heap_checked(session, heap) : err_nomem;
	if (!err) {
		session->end.heap = heap;
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

void session_leaks_at_end(struct session *session)
{
	struct leak_marks *leaks = calloc(1, sizeof(*leaks));
	/* It is not known yet which fields will be needed. */
	struct job job = JOB_INIT(session, leaks, true);
	struct err *err = leaks ? check_recorded(session) : err_nomem;

	/* Get the names of the modules that were loaded last. */
	if (!err)
		err = target_refresh(session->current->target, NULL);
	job.deadline = tracer_now() + QUIET_NS;
	job.at_end = true;
	if (!err)
		err = session_pause_run(session, look_at_end, &job, &leaks->pause_ns);
	job_free(&job);
	if (!err) {
		heaps_free(&leaks->heap);	/* nobody will ask for the chunks */
		session->end.leaks = leaks;
		return;
	}
	err_copy(&session->end.err, err);
	if (leaks)
		leak_marks_free(leaks);
	free(leaks);
}

void session_leaks_forget_end(struct session *session)
{
	struct session_end *end = &session->end;

	if (end->leaks)
		leak_marks_free(end->leaks);
	free(end->leaks);
	if (end->heap)
		heaps_free(end->heap);
	free(end->heap);
	*end = (struct session_end){ .leaks = NULL };
}

static struct err *found_at_end(const struct session *session, struct leak_marks *ret)
{
	struct process *process = session->current;
	struct err *err;

	if (session->end.leaks)
		return leak_marks_lend(session->end.leaks, ret);
	if (*session->end.err.msg)
		return err_wrap(err_adopt(&session->end.err), "at the end of process %d",
				process->pid);
	if (!session->config.leaks_at_end)
		return err_hint(err_create(ERR_STATE, "process %d has ended", process->pid),
				"`set leaks-at-end on` before has its leaks looked for when it ends");
	err = err_create(ERR_STATE, "process %d was not looked at when it ended", process->pid);
	if (!process_has_execed(process->state))
		return err;
	return err_hint(err, "it has executed another program: `set follow-exec on`");
}

struct err *session_leaks(struct session *session, enum look_how how, bool timed,
			  struct leak_marks *ret)
{
	struct err *err;

	if (session_state(session) == SESSION_ENDED)
		return found_at_end(session, ret);
	err = session_need_view(session);
	return err ? err : search_live(session, how, timed, ret);
}
