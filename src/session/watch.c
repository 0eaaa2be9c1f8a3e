/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the target does, seen by the tracer thread: one callback of struct target_ops each. */

#include <signal.h>

#include "os/tracer.h"
#include "probe/probe.h"
#include "session/follow.h"
#include "session/private.h"
#include "target/target.h"

static bool on_trap(void *ctx, struct thread *thread)
{
	struct session *session = ctx;

	return session->probes && probes_trap(session->probes, thread);
}

static bool on_is_trap(void *ctx, uint64_t pc)
{
	struct session *session = ctx;

	return session->probes && probes_is_trap(session->probes, pc);
}

static void on_thread_new(void *ctx, struct thread *thread)
{
	struct session *session = ctx;
	struct session_event event = { .kind = SESSION_EVENT_THREAD,
				       .pid = session->pid,
				       .tid = thread->tid,
				       .created = true };

	session_push_event(session, &event);
}

static void on_thread_gone(void *ctx, struct thread *thread)
{
	struct session *session = ctx;
	struct session_event event = { .kind = SESSION_EVENT_THREAD,
				       .pid = session->pid,
				       .tid = thread->tid };

	if (session->probes)
		probes_thread_gone(session->probes, thread);
	session_push_event(session, &event);
}

static void on_signal(void *ctx, struct thread *thread, int signal)
{
	struct session *session = ctx;
	struct session_event event = { .kind = SESSION_EVENT_SIGNAL,
				       .pid = session->pid,
				       .tid = thread->tid,
				       .signal = signal };

	if (signal == SIGTRAP)
		probes_foreign_trap(thread);
	session_push_event(session, &event);
}

static void on_at_end(void *ctx)
{
	struct session *session = ctx;

	if (session->config.leaks_at_end)
		session_look_at_end(session);
}

/*
 * With follow-exec it is held where it is until the main thread follows it. What is set by then makes no
 * difference: who was let go cannot be followed, and who is held must be.
 */
static void on_exec(void *ctx, struct thread *thread)
{
	struct session *session = ctx;
	bool follow = session->config.follow_exec;

	session_execed(session, thread->tid, follow ? PROCESS_HELD :
		       session->started ? PROCESS_EXECED : PROCESS_GONE);
	if (!follow) {
		tracer_count(session->tracer, session->started);
		err_ignore(tracer_detach(session->pid, 0));	/* fails only if it was killed */
	}
}

static void on_fork_child(void *ctx, pid_t pid)
{
	struct session *session = ctx;

	follow_fork_child(session, session->target, session->probes, pid);
}

const struct target_ops session_target_ops = {
	.trap		= on_trap,
	.is_trap	= on_is_trap,
	.thread_new	= on_thread_new,
	.thread_gone	= on_thread_gone,
	.fork_child	= on_fork_child,
	.route		= session_route,
	.exec		= on_exec,
	.signal		= on_signal,
	.at_end		= on_at_end,
	.ended		= session_ended,
};
