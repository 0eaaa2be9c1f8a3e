/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The callbacks of struct target_ops, one for each thing that a process may do. They run on the
 * tracer thread.
 */

#include <inttypes.h>
#include <stdio.h>

#include "os/tracer.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/target.h"

static bool on_trap(void *ctx, struct thread *thread)
{
	struct process *process = ctx;

	return process->probes && breakpoints_trap(process->probes, thread);
}

static bool on_is_trap(void *ctx, uint64_t pc)
{
	struct process *process = ctx;

	return process->probes && breakpoints_is_trap(process->probes, pc);
}

static void on_thread_new(void *ctx, struct thread *thread)
{
	struct process *process = ctx;

	session_push(process->session, .kind = SESSION_EVENT_THREAD, .pid = process->pid,
		     .tid = thread->tid, .created = true);
}

static void on_thread_gone(void *ctx, struct thread *thread)
{
	struct process *process = ctx;

	if (process->probes)
		breakpoints_thread_gone(process->probes, thread);
	session_push(process->session, .kind = SESSION_EVENT_THREAD, .pid = process->pid,
		     .tid = thread->tid);
}

static void on_signal(void *ctx, struct thread *thread, int signal)
{
	struct process *process = ctx;

	if (signal == SIGTRAP)
		breakpoints_foreign_trap(thread);
	session_push(process->session, .kind = SESSION_EVENT_SIGNAL, .pid = process->pid,
		     .tid = thread->tid, .signal = signal);
}

/* Only the current process can be looked at. */
static bool on_dies(void *ctx)
{
	struct process *process = ctx;

	return process == process->session->current && session_pause_at_death(process->session);
}

/* The kernel tells a sender by its id in the namespace of who gets the signal. */
static bool sees_sender(const struct thread *thread, const siginfo_t *info)
{
	struct proc_status status;

	return info->si_code <= 0 && info->si_pid > 0 && info->si_pid != thread->tgid &&
	       !procfs_status(thread->tid, &status) && status.ns_tgid == thread->tgid;
}

static void on_dies_held(void *ctx, struct thread *thread, const siginfo_t *info)
{
	struct process *process = ctx;
	struct session_event event = { .kind = SESSION_EVENT_DEATH, .pid = process->pid,
				       .tid = thread->tid, .signal = info->si_signo };

	if (info->si_code > 0)
		snprintf(event.text, sizeof(event.text), "%s 0x%" PRIx64,
			 info->si_signo == SIGSEGV || info->si_signo == SIGBUS ? "at address" :
			 "at", (uint64_t)(uintptr_t)info->si_addr);
	else if (sees_sender(thread, info))
		snprintf(event.text, sizeof(event.text), "sent by process %d", info->si_pid);
	process->session->held_death = true;
	event_queue_push(process->session, &event);
}

static void on_at_end(void *ctx)
{
	struct session *session = ((struct process *)ctx)->session;

	if (session->config.leaks_at_end)
		session_leaks_at_end(session);
}

static void leave_followed(struct process *process, const struct thread *thread)
{
	session_warn_f(process->session,
		       "process %d, a followed child, executes another program: it is let go",
		       process->pid);
	process->state = PROCESS_GONE;
	err_ignore(tracer_detach(thread->tid, 0));	/* fails only if it was killed */
	thread_forget(process->target);
}

/*
 * With follow-exec the process is held here until the main thread follows it. A change of the
 * setting in between has no effect: a process that was released cannot be followed, and one that is
 * held must be.
 */
static void on_exec(void *ctx, struct thread *thread)
{
	struct process *process = ctx;
	struct session *session = process->session;
	bool follow = session->config.follow_exec;

	if (process != session->current) {
		leave_followed(process, thread);
		return;
	}
	route_execed(session, thread->tid, follow ? PROCESS_HELD :
		     process->started ? PROCESS_EXECED : PROCESS_GONE);
	if (!follow) {
		tracer_count(session->tracer, process->started);
		err_ignore(tracer_detach(process->pid, 0));	/* fails only if it was killed */
	}
}

static void on_route(void *ctx, pid_t tid, int status)
{
	route_status(((struct process *)ctx)->session, tid, status);
}

const struct target_ops watch_ops = {
	.trap		= on_trap,
	.is_trap	= on_is_trap,
	.thread_new	= on_thread_new,
	.thread_gone	= on_thread_gone,
	.fork_child	= follow_fork_child,
	.route		= on_route,
	.exec		= on_exec,
	.signal		= on_signal,
	.dies		= on_dies,
	.dies_held	= on_dies_held,
	.at_end		= on_at_end,
	.ended		= route_ended,
};
