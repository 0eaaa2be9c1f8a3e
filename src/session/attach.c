/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Building and undoing: attach and run, detach and kill, arm and disarm, side by side.
 *
 *	build						undo
 *	target, its modules, its rows; the plan		(nothing in the target yet)
 *	  what an earlier mdbg left is taken out
 *	all threads seized				released
 *	region (journal, log)		(a short stop)	unmapped last
 *	areas, the agent's state	(a short stop)	after all threads have left them
 *	SIGTRAP handler, text		(a short stop)	text first
 *							before it: forked children (children.h)
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/trace.h"
#include "os/pidfd.h"
#include "os/tracer.h"
#include "probe/probe.h"
#include "session/children.h"
#include "session/follow.h"
#include "session/hands.h"
#include "session/keep.h"
#include "session/private.h"
#include "target/gadget.h"
#include "target/leftover.h"
#include "target/refuse.h"
#include "target/region.h"
#include "target/remote.h"
#include "target/share.h"
#include "target/start.h"
#include "target/target.h"

#define REST	5	/* times the length of a stop, before the next one */

struct job {
	struct session *session;
	pid_t pid;
	const struct start_spec *start;
	int signal;
};

static struct err *refresh(struct session *session, bool *changed)
{
	struct target *target = session->target;

	return modules_refresh(&target->modules, target->mem.tid, &target->mem.memory, changed);
}

static enum probe_policy probe_policy(enum session_engine engine)
{
	switch (engine) {
	case SESSION_ENGINE_JUMP:
		return PROBE_ONLY_JUMP;
	case SESSION_ENGINE_BREAKPOINT:
		return PROBE_ONLY_BREAKPOINT;
	case SESSION_ENGINE_AUTO:
		break;
	}
	return PROBE_AUTO;
}

/*
 * The engine was set to another: planned anew, as long as nothing of the old plan is in the target. A
 * followed child's probes are what it has inherited.
 */
static void drop_old_plan(struct session *session)
{
	struct probes *probes = session->probes;

	if (!probes || probes->armed || probes->areas.nr || probes->process ||
	    probes->policy == probe_policy(session->config.engine))
		return;
	probes_destroy(probes);
	session->probes = NULL;
}

static struct err *plan(struct session *session)
{
	struct err *err;

	drop_old_plan(session);
	if (!session->probes) {
		err = probes_create(session->target, NULL, &session->probes);
		if (err)
			return err;
		session->probes->warn = session_warn;
		session->probes->ctx = session;
		session->probes->users = &session->users;
		session->probes->policy = probe_policy(session->config.engine);
		session->probes->watch_loader = session->config.engine == SESSION_ENGINE_BREAKPOINT ||
						!hands_may_go(session);
	}
	return probes_plan(session->probes);
}

static struct err *borrow_for(struct session *session, struct remote *remote,
			      struct err *(*fn)(struct session *session, struct remote *remote))
{
	struct err *err = remote_begin_any(session->target, remote), *also;

	if (err)
		return err;
	err = fn(session, remote);
	also = remote_end(remote);
	return err ? err : also;
}

/*
 * fn makes remote calls: in a stop of its own, unless the target is stopped anyway. Where all
 * processors are busy a thread that was held has to wait for one; so that the next stop does not
 * take it before it has run, which would add up to one long pause, the target is let run for some
 * times as long as it stood.
 */
static struct err *in_stop(struct session *session,
			   struct err *(*fn)(struct session *session, struct remote *remote))
{
	AUTO_FREE struct remote *remote = malloc(sizeof(*remote));
	struct target *target = session->target;
	uint64_t unused, start;
	struct err *err;
	bool was;

	if (!remote)
		return err_nomem;
	/* Looked for now, it is known then. */
	err = gadget_find(target, &unused, &unused);
	if (err)
		return err;
	start = tracer_now();
	err = target_stop(target, &was);
	if (!err) {
		err = borrow_for(session, remote, fn);
		if (!was)
			target_resume(target);
	}
	if (!err && !was)
		target_attend(target, REST * (tracer_now() - start));
	return err;
}

static struct log_config log_config_of(const struct session *session)
{
	return (struct log_config){
		.limit = session->config.log_limit,
		.stack_depth = session->config.stack_depth,
		.sample = session->config.sample,
	};
}

static struct err *make_region(struct session *session, struct remote *remote)
{
	struct log_config config = log_config_of(session);

	return region_create(session->target, remote, &config, &session->region);
}

static struct err *make_log(struct session *session)
{
	struct log_config config = log_config_of(session);
	struct err *err = in_stop(session, make_region);

	return err ? err : region_format(session->region, &config);
}

static struct err *make_room(struct session *session, struct remote *remote)
{
	return probes_prepare(session->probes, remote);
}

/* Rows for the agent are laid down where there may be one. */
static struct err *share(struct session *session)
{
	return session->probes->policy == PROBE_ONLY_BREAKPOINT ? NULL :
								  share_prepare(session->target);
}

/*
 * All that can be done before the stop in which the text is changed. What takes remote calls comes
 * in short stops of its own; what is mdbg's own work, and what is large, is done while the target
 * runs on. New modules are looked for last: what they still do until that stop, the tick sees.
 */
static struct err *prepare(struct session *session)
{
	struct err *err = session->region ? NULL : make_log(session);
	bool changed = false;

	if (err)
		return err;
	session->probes->log = &session->region->log;
	err = share(session);
	if (!err)
		err = refresh(session, &changed);
	if (!err && changed)
		err = plan(session);
	if (!err && changed)
		err = share(session);
	if (!err)
		err = probes_read_maps(session->probes);
	if (!err)
		err = in_stop(session, make_room);
	return err ? err : probes_fill(session->probes);
}

/*
 * Take out what is in, as far as it is; stopped before and after. The first error is returned, the
 * rest is done all the same.
 */
static struct err *undo_stopped(struct session *session, bool *left)
{
	AUTO_FREE struct remote *remote = malloc(sizeof(*remote));
	struct err *err = NULL, *also;

	*left = false;
	if (!remote)
		return err_nomem;
	err = share_set_marks(session->target->region, 0);
	if (err)
		trace_line("%s", err->msg);
	err = NULL;
	if (session->probes)
		err = probes_disarm(session->probes, left);
	if (err || !session->target->region)
		return err;
	if (!keep_release_old(session)) {
		*left = true;
		vec_clear(&session->old_maps);	/* the next mdbg's */
		region_keep(session->target);
		return NULL;
	}
	err = remote_begin_any(session->target, remote);
	if (err)
		return err;
	err = region_withdraw(session->target, remote);
	also = remote_end(remote);
	return err ? err : also;
}

/* Failed on the way in: nothing may stay. */
static struct err *back_out(struct session *session, struct err *cause)
{
	struct err kept, *err;
	bool left;

	err_copy(&kept, cause);
	if (!session->ended && !target_stop(session->target, NULL)) {
		keep_take_text(session);
		err = undo_stopped(session, &left);
		if (err)
			trace_line("back out: %s", err->msg);
		target_release(session->target);
	}
	/* Whatever failed then did so for that. */
	if (session->execed)
		return err_hint(err_create(ERR_GONE, "it has begun to run another program"),
				"try again");
	return err_adopt(&kept);
}

/* All threads are stopped. */
static struct err *put_in(struct session *session)
{
	struct err *err;

	keep_take_text(session);
	err = probes_arm(session->probes, NULL);
	if (!err)
		err = keep_set_whole(session);
	if (!err)	/* a thread that stays inside: the detach tries again */
		(void)keep_release_old(session);
	return err;
}

/* Seized; from here on an error backs out. */
static struct err *attach_seized(struct session *session)
{
	const struct session_config *config = &session->config;
	struct err *err = NULL;

	if (leftover_exists(session->target))
		err = keep_take_over(session);
	if (!err && config->arm)
		err = plan(session);
	if (!err && config->arm)
		err = prepare(session);
	if (!err)
		err = target_stop(session->target, NULL);
	if (!err && config->arm)
		err = put_in(session);
	if (err)
		return back_out(session, err);
	if (!config->stop)
		session_let_go(session, false);
	if (session->region)
		log_clock_update(&session->region->log);
	return NULL;
}

static struct err *attach_job(void *arg)
{
	struct job *job = arg;
	struct session *session = job->session;
	struct err *err;

	session->execed = false;
	session->pids[0] = job->pid;
	err = target_create(session->tracer, job->pid, session->cache_dir, &session_target_ops,
			    session, &session->target);
	if (err)
		return err->code == ERR_PERM ? refuse_explain(job->pid, err->errnum) : err;
	err = refresh(session, NULL);
	if (!err)
		err = hands_begin(session);
	if (!err)
		err = target_seize_all(session->target);
	if (err)
		return err->code == ERR_PERM ? refuse_explain(job->pid, err->errnum) : err;
	return attach_seized(session);
}

struct err *session_need_none(const struct session *session)
{
	if (session->state == SESSION_CORE)
		return err_hint(err_create(ERR_STATE, "a core file is open"), "`detach` closes it");
	if (!session_need_target(session))
		return err_hint(err_create(ERR_STATE, "process %d is attached", session->pid),
				"detach it first");
	return NULL;
}

struct err *session_forget_last(void *arg)
{
	struct session *session = arg;
	struct err *err = follow_undo_all(session);

	if (err)
		session_warn(session, err->msg);
	hands_end(session);
	session_forget(session);
	session->traces_exits = session->config.leaks_at_end;
	tracer_trace_exits(session->tracer, session->traces_exits);
	return NULL;
}

struct err *session_attach(struct session *session, pid_t pid)
{
	struct job job = { .session = session, .pid = pid };
	struct err *err = session_need_none(session);

	if (!err)
		err = refuse_check(pid);
	if (!err)
		err = session_call(session, session_forget_last, session);
	if (err)
		return err;
	session->pid = pid;
	session->started = false;
	session->state = SESSION_NONE;
	err = session_call(session, attach_job, &job);
	if (err) {
		struct err kept;

		err_copy(&kept, err);
		err_ignore(session_call(session, session_forget_last, session));
		session->pid = 0;
		err = err_adopt(&kept);
		return err->code == ERR_ATTACH ? err :
			err_recode(err_wrap(err, "cannot attach to process %d", pid), ERR_ATTACH);
	}
	session->state = session->config.stop ? SESSION_STOPPED : SESSION_RUNNING;
	return session_sync_modules(session);
}

/* It could not be watched: let it go on, whether it stands or runs. */
static void let_go_of(struct target *target)
{
	pid_t pid = target->pid;
	int status;

	target_forget(target);
	if (!tracer_detach(pid, 0) || tracer_interrupt(pid) ||
	    tracer_wait_for(pid, tracer_now() + TARGET_TIMEOUT_NS, &status) || !WIFSTOPPED(status))
		return;
	/* fails only if it was killed */
	err_ignore(tracer_detach(pid, status >> 16 ? 0 : WSTOPSIG(status)));
}

/* A program at its PTRACE_EVENT_EXEC: to where its libraries are mapped, and arm it. */
static struct err *watch_from_exec(struct session *session, pid_t pid)
{
	struct err *err;
	int status;

	session->execed = false;
	err = target_create(session->tracer, pid, session->cache_dir, &session_target_ops, session,
			    &session->target);
	if (!err)
		err = target_adopt(session->target, pid);
	if (!err)
		err = start_to_loaded(session->target, &status);
	if (!err)
		err = refresh(session, NULL);
	if (!err)
		err = hands_begin(session);
	if (err) {
		struct err kept;

		err_copy(&kept, err);
		if (session->target)
			let_go_of(session->target);
		return err_adopt(&kept);
	}
	return attach_seized(session);
}

static struct err *run_job(void *arg)
{
	struct job *job = arg;
	struct session *session = job->session;
	struct err *err = start_program(session->tracer, job->start, &session->pid);

	/* Events may come before the main thread has its answer. */
	session->started = true;
	session->pids[0] = session->pid;
	return err ? err : watch_from_exec(session, session->pid);
}

struct err *session_run(struct session *session, char *const *argv, bool keep_stdin, bool own_group)
{
	struct start_spec spec = { .argv = argv, .keep_stdin = keep_stdin, .own_group = own_group };
	struct job job = { .session = session, .start = &spec };
	struct err *err = session_need_none(session);

	if (!err)
		err = session_call(session, session_forget_last, session);
	if (err)
		return err;
	err = session_call(session, run_job, &job);
	if (err)
		return err;
	session->state = session->config.stop ? SESSION_STOPPED : SESSION_RUNNING;
	return session_sync_modules(session);
}

/* follow-exec: the thread is held at its PTRACE_EVENT_EXEC. */
static struct err *follow_exec_job(void *arg)
{
	struct session *session = arg;

	err_ignore(session_forget_last(session));
	return watch_from_exec(session, session->pid);
}

void session_note_exec(struct session *session)
{
	struct err *err;

	children_clean_orphans(session);
	if (!session->config.follow_exec || session->ended)
		return;
	err = session_call(session, follow_exec_job, session);
	if (!err)
		err = session_sync_modules(session);
	if (err) {
		session->state = SESSION_ENDED;
		session_warn(session, err->msg);
	}
}

/* The parent may be gone already: that is how a daemon starts. */
static struct err *leave_parent(struct session *session)
{
	bool left = false;
	struct err *err = NULL;

	if (session->execed) {		/* it may be held for follow-exec */
		err_ignore(tracer_detach(session->pid, 0));
	} else if (!session->ended) {
		children_clean_own(session);
		err = target_stop(session->target, NULL);
		if (!err)
			err = undo_stopped(session, &left);
		if (err && err->code != ERR_GONE)
			return err;
		target_release(session->target);
	}
	if (left)
		session_warn_left(session, session->pid);
	session->ended = session->execed = false;
	return NULL;
}

/* follow-fork child: the child takes the place of its parent, which is let go. */
static struct err *switch_job(void *arg)
{
	struct job *job = arg;
	struct session *session = job->session;
	struct follower *follower = NULL;
	size_t at;
	struct err *err;

	for (at = 0; at < session->followers.nr && !follower; at++)
		if (session->followers.at[at]->target->pid == job->pid &&
		    !session->followers.at[at]->gone)
			follower = session->followers.at[at];
	if (!follower)
		return NULL;
	err = leave_parent(session);
	if (err)
		return err;
	follow_take_place(session, follower, at - 1);
	err = hands_begin(session);
	session_let_go(session, session->state == SESSION_STOPPED);
	return err;
}

void session_note_fork(struct session *session, pid_t child)
{
	struct job job = { .session = session, .pid = child };
	struct err *err;

	if (session->config.follow_fork != SESSION_FOLLOW_CHILD || session->state == SESSION_NONE)
		return;
	err = session_call(session, switch_job, &job);
	if (err)
		session_warn(session, err->msg);
	/* The end of its parent may have been told before. */
	if (session->pid == child && session->state == SESSION_ENDED)
		session->state = SESSION_RUNNING;
}

static struct err *detach_first(struct session *session)
{
	bool left;
	struct err *err;

	children_clean_own(session);
	err = target_stop(session->target, NULL);
	if (err)
		return err;
	err = undo_stopped(session, &left);
	if (err && err->code == ERR_GONE)
		return err;
	target_release(session->target);
	if (left)
		session_warn_left(session, session->pid);
	return err;
}

/* Followers last: until it is let go the first target may fork more of them. */
static struct err *detach_job(void *arg)
{
	struct session *session = arg;
	struct err *err = session->execed || session->ended ? NULL : detach_first(session);
	struct err kept;

	if (!err || err->code == ERR_GONE)
		return follow_undo_all(session);
	err_copy(&kept, err);
	err_ignore(follow_undo_all(session));
	return err_adopt(&kept);
}

static struct err *keep_job(void *arg)
{
	return keep_leave(arg);
}

struct err *session_keep(struct session *session)
{
	struct err *err = session_need_target(session);

	if (err)
		return err;
	err_ignore(session_sync_modules(session));	/* names of modules that came last */
	err = session_call(session, keep_job, session);
	if (!err)
		session->state = SESSION_NONE;
	return err;
}

/* There is nothing to take out of a core file. */
static struct err *close_core(struct session *session)
{
	session->state = SESSION_NONE;
	session->pid = 0;
	return session_call(session, session_forget_last, session);
}

struct err *session_detach(struct session *session)
{
	/* Of an exec'ed program only its followers, if any, have something of ours in them. */
	struct err *err =
		session->execed || follow_any(session) ? NULL : session_need_target(session);

	if (session->state == SESSION_CORE)
		return close_core(session);
	if (err)
		return err;
	if (!session->execed)
		/* names of modules that came last */
		err_ignore(session_sync_modules(session));
	err = session_call(session, detach_job, session);
	session->state = session->ended && !session->execed ? SESSION_ENDED : SESSION_NONE;
	return err ? err_wrap(err, "detach process %d", session->pid) : NULL;
}

/*
 * While nobody traces the process its id may become another's. The descriptor lives as long as the
 * session has its target, which is what this thread decides on.
 */
static struct err *send_kill(const struct session *session)
{
	struct err *err;

	if (!session->has_pidfd)
		return kill(session->pid, SIGKILL) < 0 && errno != ESRCH ?
			err_sys("kill process %d", session->pid) : NULL;
	err = pidfd_kill(session->pidfd, SIGKILL);
	return err && err->code != ERR_GONE ? err_wrap(err, "kill process %d", session->pid) : NULL;
}

/* SIGKILL needs no stop; the end is then seen as any other. */
struct err *session_kill(struct session *session)
{
	struct err *err = session_need_target(session);
	uint64_t deadline = tracer_now() + TARGET_TIMEOUT_NS;

	if (err)
		return err;
	err = send_kill(session);
	if (err)
		return err;
	while (!session->ended) {
		struct timespec nap = { .tv_nsec = 1000000 };

		if (tracer_now() > deadline)
			return err_create(ERR_TIMEOUT, "process %d does not end", session->pid);
		nanosleep(&nap, NULL);
	}
	return NULL;
}

static struct err *interrupt_job(void *arg)
{
	struct session *session = arg;
	bool was;
	struct err *err = session_hold(session, &was);

	if (err)
		return err;
	err = follow_stop_all(session);
	/* So that what is listed while it stands is whole; a thread that stays there is no reason not to. */
	if (!err && !session->ended)
		err = session_quiet(session);
	if (err && err->code == ERR_TIMEOUT)
		err = NULL;
	if (err || session->ended)
		session_let_go(session, was && !session->ended);
	return err;
}

struct err *session_interrupt(struct session *session)
{
	struct err *err = session_need_target(session);

	if (!err)
		err = session_call(session, interrupt_job, session);
	if (!err)
		session->state = SESSION_STOPPED;
	return err;
}

static struct err *cont_job(void *arg)
{
	struct job *job = arg;

	if (job->signal && kill(job->session->pid, job->signal) < 0)
		return err_sys("send signal %d", job->signal);
	session_let_go(job->session, false);
	return NULL;
}

struct err *session_cont(struct session *session, int signal)
{
	struct job job = { .session = session, .signal = signal };
	struct err *err = session_need_target(session);

	if (!err)
		err = session_call(session, cont_job, &job);
	if (!err)
		session->state = SESSION_RUNNING;
	return err;
}

static struct err *arm_job(void *arg)
{
	struct session *session = arg;
	bool was = session->target->stopped;
	struct err *err = refresh(session, NULL), *also;

	if (!err)
		err = plan(session);
	if (err)
		return err;
	err = prepare(session);
	also = session_hold(session, NULL);
	if (also)
		return err ? err : also;
	session->lacks_records = true;
	if (!err)
		err = put_in(session);
	session_let_go(session, was);
	if (session->region)
		log_clock_update(&session->region->log);
	return err;
}

struct err *session_arm(struct session *session)
{
	struct err *err = session_need_target(session);

	if (err || session_armed(session))
		return err;
	err = session_call(session, arm_job, session);
	if (!err && session->region && log_live(&session->region->log))
		session_warn(session,
			     "blocks that were freed while the probes were out are still listed: "
			     "`malloc reset` forgets all that was recorded");
	return err ? err : session_sync_modules(session);
}

struct err *session_take_out(struct session *session)
{
	bool was, left;
	struct err *err;

	children_clean_own(session);
	err = session_hold(session, &was);
	if (err)
		return err;
	err = share_set_marks(session->target->region, 0);
	if (err)
		trace_line("%s", err->msg);
	session->gap = session->lacks_records = true;
	err = probes_disarm(session->probes, &left);
	session_let_go(session, was);
	return err;
}

static struct err *disarm_job(void *arg)
{
	return session_take_out(arg);
}

struct err *session_disarm(struct session *session)
{
	struct err *err = session_need_target(session);

	if (err || !session_armed(session))
		return err;
	return session_call(session, disarm_job, session);
}

static struct err *reset_job(void *arg)
{
	struct session *session = arg;
	struct err *err = share_set_marks(session->region, 0);

	if (!err)
		err = session_forget_records(session);
	if (err)
		return err;
	session->gap = false;
	return keep_set_whole(session);
}

struct err *session_reset(struct session *session)
{
	if (!session->region)
		return err_create(ERR_STATE, "nothing was recorded");
	if (session->kept)
		return err_hint(err_create(ERR_STATE, "process %d goes on recording", session->pid),
				"attach to it again");
	return session_call(session, reset_job, session);
}

bool session_armed(const struct session *session)
{
	return session->probes && session->probes->armed &&
		session_state(session) != SESSION_ENDED && session_state(session) != SESSION_NONE;
}
