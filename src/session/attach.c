/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The life of a target: attach and run, exec and fork, detach and kill (order of building in arm.h). */

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/trace.h"
#include "os/pidfd.h"
#include "os/tracer.h"
#include "session/arm.h"
#include "session/children.h"
#include "session/follow.h"
#include "session/hands.h"
#include "session/keep.h"
#include "session/private.h"
#include "target/leftover.h"
#include "target/refuse.h"
#include "target/region.h"
#include "target/start.h"
#include "target/target.h"

#define BETWEEN_NS	200000000ull	/* that the target runs before it is stopped again */

struct job {
	struct session *session;
	pid_t pid;
	const struct start_spec *start;
	int signal;
};

/*
 * A thread that is about to execute another program (ERR_BUSY) soon does, or fails to: the target runs
 * meanwhile. Where nothing of ours is in it yet it need not be waited for: who is traced still is let go with
 * mdbg's end, or at his next stop.
 */
static struct err *stop_to_leave(struct target *target)
{
	uint64_t end = tracer_now() + (target->region ? TARGET_TIMEOUT_NS : 0);
	struct err *err = target_stop(target, NULL);

	while (err && err->code == ERR_BUSY && tracer_now() < end) {
		target_attend(target, BETWEEN_NS);
		err = target_stop(target, NULL);
	}
	return err;
}

/* Failed on the way in: nothing may stay. */
static struct err *back_out(struct session *session, struct err *cause)
{
	struct err kept, *err;
	bool left;

	err_copy(&kept, cause);
	if (!session->ended && !stop_to_leave(session->target)) {
		keep_take_text(session);
		err = arm_undo(session, &left);
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

/* Seized; from here on an error backs out. */
static struct err *attach_seized(struct session *session)
{
	const struct session_config *config = &session->config;
	struct err *err = NULL;

	if (leftover_exists(session->target))
		err = keep_take_over(session);
	if (!err && config->arm)
		err = arm_plan(session);
	if (!err && config->arm)
		err = arm_prepare(session);
	if (!err)
		err = target_stop(session->target, NULL);
	if (!err && config->arm)
		err = arm_put_in(session);
	if (err)
		return back_out(session, err);
	if (!config->stop)
		session_let_go(session, false);
	if (config->arm)
		blind_begin(session);
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
	/* Nothing has been done to it so far. */
	session->target->modules.cancellable = true;
	err = target_refresh(session->target, NULL);
	session->target->modules.cancellable = false;
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
static void let_go_of(struct session *session, pid_t pid)
{
	int status;

	if (session->target)
		target_forget(session->target);
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
		err = target_refresh(session->target, NULL);
	if (!err)
		err = hands_begin(session);
	if (err) {
		struct err kept;

		err_copy(&kept, err);
		let_go_of(session, pid);
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

	session->held = false;
	err_ignore(session_forget_last(session));
	return watch_from_exec(session, session->pid);
}

void session_note_exec(struct session *session)
{
	struct err *err;

	children_clean_orphans(session);
	if (!session->held || session->ended)
		return;
	err = session_call(session, follow_exec_job, session);
	if (!err)
		err = session_sync_modules(session);
	if (err) {
		session->state = SESSION_ENDED;
		session_warn(session, err->msg);
	}
}

static void let_held_go(struct session *session)
{
	if (session->held)
		err_ignore(tracer_detach(session->pid, 0));	/* fails only if it was killed */
	session->held = false;
}

/* The parent may be gone already: that is how a daemon starts. */
static struct err *leave_parent(struct session *session)
{
	bool left = false;
	struct err *err = NULL;

	if (session->execed) {
		let_held_go(session);
	} else if (!session->ended) {
		children_clean_own(session);
		err = stop_to_leave(session->target);
		if (!err)
			err = arm_undo(session, &left);
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
	err = stop_to_leave(session->target);
	if (err)
		return err;
	err = arm_undo(session, &left);
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

	let_held_go(session);
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
	/* Where another tracer holds it, all is as it was, and can be taken out when that has left. */
	if (!err || err->code != ERR_ATTACH)
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
