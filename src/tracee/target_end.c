/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of a process, seen while its memory is still there.
 *
 * A thread that ends stops in PTRACE_EVENT_EXIT, if mdbg has asked for that (target_end_trace).
 * It is in the kernel then, after its last instruction, and its registers and the memory of its
 * process are still there. It runs no user code any more and reports nothing, so the target counts
 * as stopped without it; for the same reason it cannot make a remote call.
 *
 *	RUNNING --- EVENT_EXIT, but others of the process go on ---> LEAVES: resumed, ends
 *	   |
 *	   +------- EVENT_EXIT, as the process ends ---------------> AT_END: held
 *
 * The first that is held makes the next target_stop (the owner's next event calls it at the latest)
 * wait for the others, which have been killed and come the same way, look (ops->at_end) and let all
 * of them end.
 *
 * A process that is killed by SIGKILL is released at once: the sender, above all the kernel when
 * memory is short, wants to have its memory. If mdbg dies, the kernel lets the held threads end.
 */

#include <sys/syscall.h>

#include "os/tracer.h"
#include "tracee/target.h"

/* How long to wait for the end itself, when no thread is held any more. */
#define END_NS	1000000000ull

void target_end_trace(struct target *target, bool trace)
{
	struct thread *thread;

	ptrace_trace_exits(target->tracer, trace);
	if (target->state != TARGET_STOPPED)
		return;
	for_each_thread(thread, target)
		if (thread->state == THREAD_STOPPED)	/* fails only if it was killed */
			err_ignore(ptrace_set_options(target->tracer, thread->tid, false));
}

static bool leaves(const struct thread *thread)
{
	return thread->state == THREAD_LEAVES || thread->state == THREAD_AT_END;
}

/*
 * Was the thread killed together with all others, by an exit_group of another thread or by a
 * signal, and did not call exit itself? The same happens to threads whose sibling executes another
 * program, which ends this memory as well.
 */
static bool ends_process(struct thread *thread)
{
	struct target *target = thread->target;
	struct thread *other;
	unsigned long status;

	if (thread->tgid != target->pid || ptrace_event_message(thread->tid, &status) ||
	    (status & 0x7f) == SIGKILL || ptrace_get_regs(thread->tid, &thread->regs))
		return false;
	if (regs_get(&thread->regs, target->arch->orig_syscall) != SYS_exit)
		return true;
	for_each_thread(other, target)
		if (other != thread && other->tgid == thread->tgid && !leaves(other))
			return false;
	return !target->expected;
}

void target_end_stop_at_exit(struct thread *thread)
{
	struct target *target = thread->target;
	struct thread *other;

	thread->state = THREAD_LEAVES;
	thread->regs_changed = thread->pc_changed = false;
	/*
	 * A first thread that has ended has no memory any more, and its end is reported only with
	 * the last one.
	 */
	if (target->mem.tid == thread->tid)
		for_each_thread(other, target)
			if (!leaves(other) && other->tgid == target->pid)
				procmem_set_tid(&target->mem, other->tid);
	if (!target->ops->at_end || target->end == TARGET_END_SEEN || !ends_process(thread)) {
		thread_resume(thread, 0);
		return;
	}
	thread->state = THREAD_AT_END;
	target->end = TARGET_END_HELD;
	procmem_set_tid(&target->mem, thread->tid);
}

struct err *target_end(struct target *target)
{
	struct thread *thread;
	uint64_t until;
	int status;
	pid_t tid;

	target->end = TARGET_END_SEEN;
	target->ops->at_end(target->ctx);
	for_each_thread(thread, target)
		if (thread->state == THREAD_AT_END)
			thread_resume(thread, 0);
	target_resume(target);
	until = tracer_now() + END_NS;
	while (target->state != TARGET_ENDED && map_count(&target->threads) && tracer_now() < until &&
	       !tracer_wait(target->tracer, until, &tid, &status))
		target->ops->route(target->ctx, tid, status);
	return err_create(ERR_GONE, "process %d has ended", target->pid);
}
