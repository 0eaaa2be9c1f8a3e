/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A brief attach: mdbg stops a process that is not a target of the session for a moment. It makes a
 * struct target for it that lives only that long. (The process is a forked child that is cleaned,
 * or the program that the target has executed.)
 */

#include "os/tracer.h"
#include "session/private.h"
#include "tracee/sharers.h"
#include "tracee/target.h"

struct brief_attach {
	struct session *session;
	struct target *target;
	bool gone;
};

/* A child that the process forks meanwhile runs on. */
static void on_fork_child(void *ctx UNUSED, pid_t pid)
{
	err_ignore(tracer_detach(pid, 0));	/* fails only if it was killed */
}

static void on_exec(void *ctx, struct thread *thread)
{
	struct brief_attach *visit = ctx;

	visit->gone = true;
	err_ignore(tracer_detach(thread->tid, 0));
	thread_forget(visit->target);
}

/* mdbg waits for the end of a process that it has started, even if that is no target any more. */
static void on_ended(void *ctx, int status, bool known)
{
	struct brief_attach *visit = ctx;

	visit->gone = true;
	if (known)
		route_status(visit->session, visit->target->pid, status);
}

static bool is_of(const struct target *target, pid_t tid)
{
	struct proc_status status;

	if (thread_find(target, tid) || thread_expects(target, tid))
		return true;
	return !procfs_status(tid, &status) &&
	       (status.tgid == target->pid || status.ppid == target->pid);
}

static void on_route(void *ctx, pid_t tid, int status)
{
	struct brief_attach *visit = ctx;

	if (!is_of(visit->target, tid) || !thread_dispatch(visit->target, tid, status))
		route_status(visit->session, tid, status);
}

static const struct target_ops brief_attach_ops = {
	.fork_child	= on_fork_child,
	.route		= on_route,
	.exec		= on_exec,
	.ended		= on_ended,
};

static struct err *gone(const struct target *target)
{
	return err_create(ERR_GONE, "process %d has ended, or executes another program",
			  target->pid);
}

/*
 * It may have executed another program before its first thread was traced. A process that executes
 * itself again and again would be another one at each try, so it is taken as it is now.
 */
static struct err *call(struct brief_attach *visit, bool known,
			struct err *(*fn)(struct target *target, void *ctx), void *ctx)
{
	struct target *target = visit->target;
	struct err *err;

	if (visit->gone)
		return gone(target);
	err = known && procmem_lives(&target->mem) ? NULL : target_reopen(target);
	return err ? err : fn(target, ctx);
}

/* No thread is seized yet. */
static struct err *stop_and_call(struct brief_attach *visit,
				 struct err *(*fn)(struct target *target, void *ctx), void *ctx)
{
	struct target *target = visit->target;
	struct err *err = target_refresh(target, NULL);	/* before the stop, to keep that short */
	bool known = !err;

	err_ignore(err);
	err = seize_all(target);
	if (!err)
		err = sharers_hold(target);
	if (!err)
		err = target_stop(target, NULL);
	if (!err) {
		err = call(visit, known, fn, ctx);
		seize_release(target);
	}
	return err && visit->gone ? gone(target) : err;
}

struct err *brief_attach(struct session *session, pid_t pid,
			 struct err *(*fn)(struct target *target, void *ctx), void *ctx)
{
	struct brief_attach visit = { .session = session };
	struct err *err = target_create(session->tracer, pid, session->cache_dir, &brief_attach_ops,
					&visit, &visit.target);

	if (!err)
		err = stop_and_call(&visit, fn, ctx);
	if (visit.target)
		target_destroy(visit.target);
	return err;
}
