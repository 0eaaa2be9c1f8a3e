/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forked children: cleaned and let go, or followed (theory in process.h). */

#include "session/follow.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "os/tracer.h"
#include "probe/probe.h"
#include "session/private.h"
#include "session/process.h"
#include "target/region.h"
#include "target/remote.h"
#include "target/target.h"

/* --- let go --- */

static void child_fork(void *ctx UNUSED, pid_t child UNUSED)
{
}

static void child_route(void *ctx UNUSED, pid_t tid UNUSED, int status UNUSED)
{
}

/* A child lives as a target only while it is cleaned; it does not run meanwhile. */
static const struct target_ops child_ops = {
	.fork_child	= child_fork,
	.route		= child_route,
};

static struct err *clean_child(struct session *session, struct target *parent,
			       struct probes *probes, pid_t pid)
{
	struct target *child;
	struct err *err = target_create(session->tracer, pid, NULL, &child_ops, NULL, &child);

	if (err)
		return err;
	/* Its text is its parent's copy. */
	child->modules.map = parent->modules.map;
	child->call_gadget = parent->call_gadget;
	child->restorer_gadget = parent->restorer_gadget;
	err = target_adopt(child, pid);
	if (!err && probes)
		err = probes_clean_child(probes, child);
	target_release(child);
	target_destroy(child);
	return err;
}

/* --- followed --- */

static bool on_trap(void *ctx, struct thread *thread)
{
	struct follower *follower = ctx;

	return follower->probes && probes_trap(follower->probes, thread);
}

static bool on_is_trap(void *ctx, uint64_t pc)
{
	struct follower *follower = ctx;

	return follower->probes && probes_is_trap(follower->probes, pc);
}

static void push_thread_event(struct follower *follower, const struct thread *thread, bool created)
{
	struct session_event event = { .kind = SESSION_EVENT_THREAD, .pid = follower->target->pid,
				       .tid = thread->tid, .created = created };

	session_push_event(follower->session, &event);
}

static void on_thread_new(void *ctx, struct thread *thread)
{
	push_thread_event(ctx, thread, true);
}

static void on_thread_gone(void *ctx, struct thread *thread)
{
	struct follower *follower = ctx;

	if (follower->probes)
		probes_thread_gone(follower->probes, thread);
	push_thread_event(follower, thread, false);
}

static void on_signal(void *ctx, struct thread *thread, int signal)
{
	struct follower *follower = ctx;
	struct session_event event = { .kind = SESSION_EVENT_SIGNAL, .pid = follower->target->pid,
				       .tid = thread->tid, .signal = signal };

	if (signal == SIGTRAP)
		probes_foreign_trap(thread);
	session_push_event(follower->session, &event);
}

static void on_fork_child(void *ctx, pid_t pid)
{
	struct follower *follower = ctx;

	follow_fork_child(follower->session, follower->target, follower->probes, pid);
}

static void on_route(void *ctx, pid_t tid, int status)
{
	struct follower *follower = ctx;

	session_route(follower->session, tid, status);
}

static void on_exec(void *ctx, struct thread *thread)
{
	struct follower *follower = ctx;
	char text[96];

	snprintf(text, sizeof(text),
		 "process %d, a followed child, executes another program: it is let go",
		 follower->target->pid);
	session_warn(follower->session, text);
	follower->state = PROCESS_GONE;
	err_ignore(tracer_detach(thread->tid, 0));	/* fails only if it was killed */
	target_forget(follower->target);
}

static void on_ended(void *ctx, int status UNUSED, bool known UNUSED)
{
	struct follower *follower = ctx;

	follower->state = PROCESS_ENDED;
}

static const struct target_ops follower_ops = {
	.trap		= on_trap,
	.is_trap	= on_is_trap,
	.thread_new	= on_thread_new,
	.thread_gone	= on_thread_gone,
	.fork_child	= on_fork_child,
	.route		= on_route,
	.exec		= on_exec,
	.signal		= on_signal,
	.ended		= on_ended,
};

/* Its own journal: a region of the least size, the rest of which is never touched. */
static struct err *make_region(struct follower *follower)
{
	struct log_config config = { .limit = LOG_LIMIT_MIN, .stack_depth = 1 };
	AUTO_FREE struct remote *remote = malloc(sizeof(*remote));
	struct err *err, *also;

	if (!remote)
		return err_nomem;
	err = remote_begin_any(follower->target, remote);
	if (err)
		return err;
	err = region_create(follower->target, remote, &config, NULL, &follower->region);
	also = remote_end(remote);
	err = err ? err : also;
	return err ? err : region_format(follower->region, &config);
}

/* With its own journal there it needs its parent's no more. */
static struct err *drop_inherited(struct follower *follower, const struct region *region)
{
	AUTO_FREE struct remote *remote = malloc(sizeof(*remote));
	struct err *err = remote ? remote_begin_any(follower->target, remote) : err_nomem, *also;

	if (err)
		return err;
	err = region_withdraw_inherited(region, remote);
	also = remote_end(remote);
	return err ? err : also;
}

static struct err *follow_start(struct follower *follower, struct probes *parent, pid_t pid)
{
	struct session *session = follower->session;
	struct err *err = target_create(session->tracer, pid, session->cache_dir, &follower_ops,
					follower, &follower->target);
	struct modules *modules;

	if (err)
		return err;
	modules = &follower->target->modules;
	modules->generation = (uint32_t)follower->number << PROCESS_GENERATION_SHIFT;
	err = target_adopt(follower->target, pid);
	if (!err)
		err = modules_refresh(modules, pid, &follower->target->mem.memory, NULL);
	if (!err)
		err = make_region(follower);
	if (!err)
		err = probes_clone(parent, follower->target, follower->number, &follower->probes);
	return err ? err : drop_inherited(follower, parent->target->region);
}

/* Is the first target being stopped, so that who is made meanwhile waits for session_let_go? */
static bool is_held(const struct session *session)
{
	return session->target->stopping && session->life == PROCESS_LIVE;
}

/* False: it could not be followed, and is still to be cleaned. */
static bool follow(struct session *session, struct probes *parent, pid_t pid)
{
	struct follower *follower = calloc(1, sizeof(*follower));
	struct err *err = follower ? NULL : err_nomem;

	if (!err && session->nr_processes + 1 >= LOG_PROCESSES)
		err = err_create(ERR_RANGE, "%d processes are followed already", LOG_PROCESSES - 1);
	if (!err) {
		follower->session = session;
		follower->state = PROCESS_LIVE;
		follower->number = (uint8_t)(session->nr_processes + 1);
		err = follow_start(follower, parent, pid);
	}
	if (err) {
		char text[256];

		snprintf(text, sizeof(text), "child process %d is not followed: %.160s", pid,
			 err->msg);
		session_warn(session, text);
		if (follower && follower->region)
			err_ignore(process_withdraw(follower));
		if (follower && follower->target)
			target_forget(follower->target);
		if (follower)
			process_free(follower);
		return false;
	}
	session->nr_processes++;
	session->pids[follower->number] = pid;
	session->followers.at[session->followers.nr++] = follower;
	if (!is_held(session))
		target_resume(follower->target);
	return true;
}

/*
 * With `child` the first one takes its parent's place; those that the parent forks before that
 * happens are let go.
 */
static bool wanted(const struct session *session, const struct probes *probes)
{
	if (!probes || !probes->armed)
		return false;
	return session->config.follow_fork == SESSION_FOLLOW_BOTH ||
	       (session->config.follow_fork == SESSION_FOLLOW_CHILD && !process_any_followed(session));
}

void follow_fork_child(struct session *session, struct target *target, struct probes *probes,
		       pid_t pid)
{
	struct session_event event = { .kind = SESSION_EVENT_FORK, .pid = pid };
	struct err *err = NULL;

	/* One with changes of two mdbgs is cleaned before the earlier's are forgotten (keep.h). */
	if (session->old_maps.nr) {
		session->uncaught = true;
		err_ignore(tracer_detach(pid, 0));
	} else if (!wanted(session, probes) || !follow(session, probes, pid)) {
		err = clean_child(session, target, probes, pid);
	}
	if (err && err->code != ERR_GONE) {
		char text[256];

		snprintf(text, sizeof(text), "child process %d keeps probes of ours: %.160s", pid,
			 err->msg);
		session_warn(session, text);
		err_ignore(tracer_detach(pid, 0));
	}
	session_push_event(session, &event);
}
