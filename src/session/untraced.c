/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Untraced between commands.
 *
 * A traced process has a stop for each of its signals and new threads, and strace or gdb cannot
 * attach to it. So mdbg is the target's tracer only while it acts, and besides that only if
 * something needs a tracer:
 *
 *	breakpoint probes	their traps are its business
 *	set follow-fork, -exec	children and programs must be caught before they run
 *	set leaks-at-end	its memory must be looked at before it is gone
 *	set hold-at-death	its fatal signals must be seen before they are delivered
 *	mdbg::on thread, signal, fork, exec, death
 *	a program that mdbg started, up to its end (its status is to be waited for)
 *	interrupt		the target stands still
 *
 * Everything that needs a stop goes through session_pause and session_pause_end: the first one
 * traces all threads anew (target_stop), the second one makes them untraced again. Meanwhile a poll
 * on the tracer thread looks ten times a second for events that a tracer would be told: the
 * target's end (by pidfd), an exec (the memory that mdbg has open is gone), modules that were loaded
 * or unloaded (by the loader's lists, tracee/loader_lists.h, and by the patches themselves,
 * probe/patch_watch.h; where there are no lists, by the extent of executable memory). It also has
 * the log's next pages faulted in.
 *
 * A child that is forked while the target is untraced keeps the jumps. The agent's state is all
 * zeros in it, so its agent lets every call pass. The child is cleaned at the detach
 * (forked_copies_clean.c).
 */

#include "base/cleanup.h"
#include "base/trace.h"
#include "growth/faults.h"
#include "os/pidfd.h"
#include "os/procfs.h"
#include "os/tracer.h"
#include "probe/known_stacks.h"
#include "probe/patch_watch.h"
#include "probe/probe.h"
#include "probe/sigtrap.h"
#include "session/deferred.h"
#include "session/lacks.h"
#include "session/private.h"
#include "tracee/share.h"
#include "tracee/target.h"

#define POLL_NS		100000000ull
#define FAULTS_POLL_NS	10000000ull
#define PATCHES_A_POLL	128	/* compared at each poll */
#define LOOKS_AGAIN	10	/* at lists that differ from the module map */
#define CODE_POLLS	4u	/* between two looks at the extent of code, at least ... */
#define CODE_POLLS_MOST	64u	/* ... and at most */

/*
 * A process without a list (a static program, or one of a loader that mdbg does not know): has the
 * extent of its executable memory changed? The kernel takes 40 us to say it, so only each fourth
 * poll asks. If it changes again and again without a module, as a compiler's memory does, ever
 * fewer do.
 */
static bool code_changed(struct session *session, bool now)
{
	struct proc_status status;

	if (session->lists.r_debug || (!now && session->code_wait && session->code_wait--) ||
	    procfs_status(session->current->target->mem.tid, &status))
		return false;
	session->code_wait = session->code_pace;
	if (status.code_kb == session->code_kb)
		return false;
	session->code_kb = status.code_kb;
	session->code_pace = MIN(2 * session->code_pace, CODE_POLLS_MOST);
	return true;
}

static void read_lists(struct session *session, struct loader_state *ret)
{
	struct target *target = session->current->target;

	loader_lists_read(&session->lists, &target->modules, &target->mem.memory, ret);
}

static void find_lists(struct session *session)
{
	struct target *target = session->current->target;

	if (!session->lists.r_debug)
		loader_lists_find(&target->modules, &target->mem.memory, &session->lists);
}

/*
 * The module map was read anew, and the lists were `before` just before that. If they are still
 * the same and have no unknown module, they agree with the map. Otherwise a module may have been
 * loaded while the map was read, or was unloaded at that moment and is back in its old place. So
 * the next polls look at the lists again, a few times (an entry whose module cannot be found may
 * stay).
 */
static void note_lists(struct session *session, const struct loader_state *before)
{
	struct loader_state now;
	bool same;

	read_lists(session, &now);
	same = now.sum == before->sum && !now.unknown;
	if (!same && session->reconcile_again++ < LOOKS_AGAIN) {
		session->links = 0;
		return;
	}
	session->links = now.sum;
	session->reconcile_again = 0;
}

static void begin_lists(struct session *session)
{
	struct loader_state now;

	session->lists = (struct loader_lists){ .r_debug = 0 };
	session->reconcile_again = 0;
	session->code_pace = CODE_POLLS;
	session->code_kb = 0;
	find_lists(session);
	read_lists(session, &now);
	note_lists(session, &now);
	(void)code_changed(session, true);
	session->code_pace = CODE_POLLS;
}

/* Blocks that were recorded may have been freed unseen, and others allocated. */
static void note_lost_records(struct session *session)
{
	struct err *err;

	if (!patch_watch_takes_records(session->current->probes))
		return;
	session->records = RECORDS_STALE;
	err = handover_set_whole(session);
	if (err)
		trace_line("%s", err->msg);
}

/*
 * A C library has come while nobody held the process: what it has given out before its probes went
 * in has no record, and is younger than the attach.
 */
static void note_late_libc(struct session *session, uint32_t generation)
{
	struct target *target = session->current->target;
	struct walkable walkable;

	if (target->state != TARGET_UNTRACED)
		return;
	allocators_to_walk(&target->modules, &walkable);
	for (unsigned i = 0; i < walkable.nr; i++)
		if (walkable.at[i].module->born > generation)
			session_doubt(session, RECORDS_LACK);
}

static void look_for_modules(struct session *session, unsigned most)
{
	struct process *process = session->current;
	uint32_t planned = process->probes->planned_generation;
	bool lost = patch_watch_look(process->probes, most), was;
	bool code = code_changed(session, most == PATCH_WATCH_ALL);
	struct deferred_seen deferred;
	struct loader_state lists;

	note_lost_records(session);
	read_lists(session, &lists);
	if (deferred_look(session, &deferred) || lost || code ||
	    (lists.sum && lists.sum != session->links)) {
		breakpoints_modules_changed(process->probes);
		note_lists(session, &lists);
	}
	if (process->probes->planned_generation != planned) {
		session->code_pace = CODE_POLLS;
		find_lists(session);
		note_late_libc(session, planned);
	}
	deferred_finish(session, &deferred);
	/*
	 * Probes that could not be changed because somebody else traced the target are tried again.
	 */
	if (!breakpoints_unsettled(process->probes) || session_pause(session, &was))
		return;		/* if it has ended, the next poll says so */
	session_pause_end(session, was);
}

static bool has_ended(struct session *session)
{
	bool known;
	int status;

	if (!pidfd_ended(session->pidfd, session->current->pid, &status, &known))
		return false;
	session->current->target->state = TARGET_ENDED;
	route_ended(session->current, status, known);
	return true;
}

/*
 * The descriptor is of the memory of the program that was attached to. A process that ends first
 * gives up its memory, which may take seconds; after that the descriptor gives nothing.
 */
static bool has_execed(struct session *session)
{
	struct target *target = session->current->target;
	AUTO_FREE char *exe = NULL;

	if (procmem_lives(&target->mem) || !target_lives(target) ||
	    procfs_link(target->mem.tid, "exe", &exe))
		return false;
	route_execed(session, session->current->target->mem.tid, PROCESS_GONE);
	return true;
}

/*
 * If mdbg gets no memory for the log's pages, the agent gets none either, and a touch of such a
 * page would end the target (SIGBUS). So recording ends before that.
 */
static bool reserve(struct session *session)
{
	struct err *err = share_reserve(session->current->target);
	struct err why;

	if (!err)
		return true;
	err_copy(&why, err);
	err = arm_target_take_out(session);
	session_warn_f(session,
		       "no memory for the log (%.120s): the probes are taken out; `malloc on` "
		       "puts them in",
		       why.msg);
	if (err && err->code != ERR_GONE)
		session_warn(session, err->msg);
	return false;
}

static void poll_all(struct session *session)
{
	struct process *process = session->current;
	struct target *target = process->target;

	if (process->state != PROCESS_LIVE)
		return;
	/* A thread that was let go to die reports nothing (tracee/death.c, let_init_die). */
	if ((target->state == TARGET_UNTRACED || !map_count(&target->threads)) &&
	    (has_ended(session) || has_execed(session) || !target_lives(target)))
		return;
	if (!process->probes || !process->probes->armed || target->state == TARGET_STOPPED)
		return;
	log_budget_look(session);
	if (breakpoints_use_agent(process->probes) && !reserve(session))
		return;
	lacks_tell_log(session);
	session_cost_poll(session);
	session_growth_poll(session);
	session_refs_poll(session);
	sigtrap_check(process->probes);
	processes_poll(session);
	known_stacks_look(process->probes, tracer_now());
	look_for_modules(session, PATCHES_A_POLL);
}

static void poll_session(void *ctx)
{
	poll_all(ctx);
}

/* While page faults are recorded: their rings are drained more often than the rest is done. */
static void poll_faults(void *ctx)
{
	struct session *session = ctx;

	if (session->faults)
		faults_drain(session->faults);
	if (!(session->fault_polls++ % (POLL_NS / FAULTS_POLL_NS)))
		poll_all(session);
}

struct err *untraced_pace(struct session *session)
{
	return session->faults ? tracer_set_poll(session->tracer, poll_faults, FAULTS_POLL_NS) :
	       tracer_set_poll(session->tracer, poll_session, POLL_NS);
}

struct err *untraced_begin(struct session *session)
{
	struct err *err;

	untraced_end(session);
	/* Without one (before Linux 5.3) mdbg stays the tracer. */
	err = pidfd_open_process(session->current->pid, &session->pidfd);
	if (err && err->code == ERR_GONE)
		return err;
	begin_lists(session);
	return tracer_set_poll(session->tracer, poll_session, POLL_NS);
}

void untraced_end(struct session *session)
{
	/* Fails only where there is no timer. */
	err_ignore(tracer_set_poll(session->tracer, NULL, 0));
	untraced_forget(session);
}

void untraced_forget(struct session *session)
{
	if (session->pidfd >= 0)
		close(session->pidfd);
	session->pidfd = -1;
	faults_close(session->faults);
	session->faults = NULL;
	session_cost_forget(session);
}

static struct err *look_job(struct session *session, void *arg UNUSED)
{
	struct process *process = session->current;

	if (process->target->state == TARGET_UNTRACED && process->probes && process->probes->armed)
		look_for_modules(session, PATCH_WATCH_ALL);
	else if (process->state == PROCESS_LIVE)
		deferred_settle(session);
	return NULL;
}

struct err *untraced_poll(struct session *session)
{
	struct err *err = session_need_target(session);

	if (!err)
		return session_call(session, look_job, NULL);
	err_ignore(err);	/* a process that has ended has no new modules */
	return NULL;
}

static struct err *trace_exits(struct session *session, bool stood UNUSED, void *arg UNUSED)
{
	target_end_trace(session->current->target, session->traces_exits);
	return NULL;
}

static struct err *update_job(struct session *session, void *arg UNUSED)
{
	struct target *target = session->current->target;
	bool exits = session->config.leaks_at_end;
	bool as_needed = session_needs_tracer(session) != (target->state == TARGET_UNTRACED);
	/* Only the registers of stopped threads can be read. */
	bool must_tell = exits != session->traces_exits && target->state != TARGET_UNTRACED;

	session->traces_exits = exits;
	if (target->state == TARGET_STOPPED || target->state == TARGET_UNTRACED)
		target_end_trace(target, exits);
	if (target->state == TARGET_STOPPED || (as_needed && !must_tell))
		return NULL;
	if (target->state == TARGET_UNTRACED)
		return seize_retrace(target);
	return session_pause_run(session, trace_exits, NULL, NULL);
}

struct err *session_untraced_configured(struct session *session)
{
	struct err *err = session_need_target(session);

	if (err) {
		err_ignore(err);	/* no target: later attaches read the setting */
		return NULL;
	}
	err = session_call(session, update_job, NULL);
	/* The end has its own event. */
	return err && err->code == ERR_GONE ? NULL : err;
}
