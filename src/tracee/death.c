/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The death of a process by a signal, seen before it happens.
 *
 * A thread that is about to take a signal stops first and reports it. If that signal will end the
 * process by a core, and somebody wants to look at the process before (ops->dies), the thread is
 * held, and with it the process:
 *
 *	signal-delivery-stop --- the signal is queued again ---> STOPPED, with `death` set
 *	   ^                                                        |
 *	   |  the signal is dequeued once more, and passes          |  death_let_die, or a release
 *	   +--------------------------------------------------------+
 *
 * To queue it again the signal is blocked for a moment, and the thread goes on with it: the kernel
 * then puts it back as it was, siginfo and all (ptrace_signal), and the thread goes into EVENT_STOP
 * before it runs an instruction. There the signal is pending and not blocked any more. So the
 * thread is in the one kind of stop in which everything can be done with it (target.h), and whoever
 * lets go of it, in whatever way, lets it die: a resume, a detach, the kernel when mdbg is killed.
 * If the guess was wrong, and the signal is not fatal, nothing is lost: it is delivered a moment
 * later. A thread that is held is not resumed with the others until death_let_die; it may be
 * borrowed for remote calls.
 *
 * mdbg may be killed while the signal is blocked. A thread that has faulted then executes the same
 * instruction again, and the kernel kills it for the same fault, blocked or not. In all other cases
 * the thread is borrowed for that moment (remote.h): released, it returns through its frame, has
 * its own mask and registers back, and dies.
 *
 * Rejected: to keep the signal-delivery-stop itself (a wait for others would report it for ever,
 * since the stop must not be taken: os/tracer.c; and no call can be made in it); PTRACE_EVENT_EXIT,
 * where nothing needs to be guessed (the kernel drops a SIGKILL there, so that nobody could end
 * what mdbg holds).
 *
 * Not held: the first process of a pid namespace (let_init_die); a death that the kernel reports to no tracer (a strict seccomp filter; no room for the
 * frame of a handler), signals that only ask a process to end (SIGTERM), and SIGKILL.
 */

#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/trace.h"
#include "os/tracer.h"
#include "tracee/remote.h"
#include "tracee/target.h"

/* Their default is a core: the process has failed. (signal(7); the kernel's sig_kernel_coredump) */
#define BIT(signal)	(1ull << ((signal) - 1))
#define CORE_SIGNALS	(BIT(SIGQUIT) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGABRT) | BIT(SIGFPE) | \
			 BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGSYS) | BIT(SIGXCPU) | BIT(SIGXFSZ))
/* Would the thread have the same fault again? */
#define FAULTS		(BIT(SIGILL) | BIT(SIGFPE) | BIT(SIGSEGV) | BIT(SIGBUS))

bool death_is_by(int signal)
{
	return signal > 0 && signal <= 64 && CORE_SIGNALS & BIT(signal);
}

static bool is_fault(const siginfo_t *info)
{
	return FAULTS & BIT(info->si_signo) && info->si_code > 0 &&
	       !(info->si_signo == SIGBUS && info->si_code == BUS_MCEERR_AO);
}

/* A forced signal has its default disposition, and is not blocked, when it is reported. */
static bool is_fatal(const struct thread *thread, int signal)
{
	struct proc_status status;

	return thread->tgid == thread->target->pid && !procfs_status(thread->tid, &status) &&
	       !((status.sig_caught | status.sig_ignored) & BIT(signal));
}

/* Is it the first process of its pid namespace? That never changes. */
static bool is_init(struct target *target)
{
	struct proc_status status;

	if (!target->ns_tgid && !procfs_status(target->pid, &status))
		target->ns_tgid = status.ns_tgid;
	return target->ns_tgid == 1;
}

/*
 * The first process of a pid namespace takes no signal that it has no handler for, but it dies of
 * its own faults, unless it is traced (force_sig_info_to_task: "users won't expect debugging to
 * leave init killable"): it would have the fault again, for ever. So its thread is let go, has the
 * fault once more, and dies.
 */
static bool let_init_die(struct thread *thread, const siginfo_t *info)
{
	if (!is_fault(info) || tracer_detach(thread->tid, 0))
		return false;
	thread_drop(thread);
	return true;
}

static struct err *to_event_stop(struct thread *thread, int signal)
{
	struct err *err = tracer_interrupt(thread->tid);
	int status;

	if (!err)
		err = tracer_cont(thread->tid, signal);
	if (err)
		return err;
	err = tracer_wait_for(thread->tid, tracer_now() + TARGET_TIMEOUT_NS, &status);
	if (err) {	/* its control group is frozen; what it executes next, it dies of */
		thread->state = THREAD_STUCK;
		return err;
	}
	if (WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_STOP) {
		thread->group_signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		return NULL;
	}
	thread_dispatch(thread->target, thread->tid, status);
	return err_create(ERR_GONE, "it was killed");
}

static struct err *requeue_fault(struct thread *thread, int signal)
{
	pid_t tid = thread->tid;
	uint64_t mask;
	struct err *err = ptrace_get_sigmask(tid, &mask);

	if (!err)
		err = ptrace_set_sigmask(tid, mask | BIT(signal));
	if (!err)
		err = to_event_stop(thread, signal);
	if (!err)
		err = ptrace_set_sigmask(tid, mask);
	return err;
}

static struct err *requeue(struct thread *thread, int signal)
{
	struct remote *remote;
	struct err *err = remote_borrow(thread->target, thread, &remote);

	if (err)
		return err;
	remote->keeps = signal;
	return remote_borrow_give_back(remote, NULL);
}

/* The thread reports the signal for which it was held. */
static bool is_let_die(struct thread *thread, int signal)
{
	bool let = thread->death == signal;

	thread->death = 0;
	return let;
}

bool death_stop(struct thread *thread, int signal)
{
	struct target *target = thread->target;
	pid_t tid = thread->tid;
	bool init, wanted = target->ops->dies && target->ops->dies(target->ctx);
	siginfo_t info;
	struct err *err;

	if (is_let_die(thread, signal) || !death_is_by(signal))
		return false;
	init = is_init(target);
	if ((!init && !wanted) || !is_fatal(thread, signal) || ptrace_siginfo(tid, &info))
		return false;
	if (init)
		return let_init_die(thread, &info);
	err = is_fault(&info) ? requeue_fault(thread, signal) : requeue(thread, signal);
	if (thread_find(target, tid) != thread)
		return true;
	if (err)
		trace_line("hold thread %d: %s", tid, err->msg);
	if (err && thread->state != THREAD_STOPPED)
		return thread->state == THREAD_STUCK;
	thread->state = THREAD_STOPPED;
	thread->death = signal;
	target->dying = true;
	target->ops->dies_held(target->ctx, thread, &info);
	return true;
}

void death_let_die(struct target *target)
{
	target->dying = false;
}

bool death_holds(const struct thread *thread)
{
	return thread->death && thread->target->dying;
}
