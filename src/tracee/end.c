/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of a process, seen while its memory is still there.
 *
 * A thread that ends stops in PTRACE_EVENT_EXIT, where it is asked for (target_trace_exits): in
 * the kernel, behind its last instruction, with its registers, and with the memory of its
 * process. It runs no user code any more, and reports nothing, so that the target counts as
 * stopped without it; for the same reason it can make no remote call.
 *
 *	RUNNING --- EVENT_EXIT, but others of the process go on ---> LEAVES: resumed, ends
 *	   |
 *	   +------- EVENT_EXIT, as the process ends ---------------> AT_END: held
 *
 * The first that is held makes the next target_stop (the owner's next event calls it at the latest)
 * wait for the others, which have been killed and come the same way, look (ops->at_end) and let all
 * of them end.
 *
 * Who is killed by SIGKILL is let go at once: whoever does that, the kernel for want of memory
 * above all, wants to have the memory. Should mdbg die, the kernel lets them end.
 */

#include <sys/syscall.h>

#include "os/tracer.h"
#include "tracee/target.h"

/* How long the end itself is waited for, once nobody is held. */
#define END_NS	1000000000ull

void target_trace_exits(struct target *target, bool trace)
{
	struct thread *thread;

	tracer_trace_exits(target->tracer, trace);
	if (target->state != TARGET_STOPPED)
		return;
	for_each_thread(thread, target)
		if (thread->state == THREAD_STOPPED)	/* fails only if it was killed */
			err_ignore(tracer_set_options(target->tracer, thread->tid, false));
}

static bool leaves(const struct thread *thread)
{
	return thread->state == THREAD_LEAVES || thread->state == THREAD_AT_END;
}

/*
 * A thread that does not call exit itself is killed, with all others: by exit_group of one, by a
 * signal. So are those whose sibling executes another program, which is the end of this memory as
 * well.
 */
static bool ends_process(struct thread *thread)
{
	struct target *target = thread->target;
	struct thread *other;
	unsigned long status;

	if (thread->tgid != target->pid || tracer_event_message(thread->tid, &status) ||
	    (status & 0x7f) == SIGKILL || tracer_get_regs(thread->tid, &thread->regs))
		return false;
	if (regs_get(&thread->regs, target->arch->orig_syscall) != SYS_exit)
		return true;
	for_each_thread(other, target)
		if (other != thread && other->tgid == thread->tgid && !leaves(other))
			return false;
	return !target->expected;
}

void thread_stop_at_exit(struct thread *thread)
{
	struct target *target = thread->target;
	struct thread *other;

	thread->state = THREAD_LEAVES;
	thread->regs_changed = thread->pc_changed = false;
	/*
	 * A first thread that has ended has no memory any more, and is told of only with the
	 * last.
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
	while (target->state != TARGET_ENDED && map_count(&target->threads) &&
	       !tracer_wait(target->tracer, until, &tid, &status))
		target->ops->route(target->ctx, tid, status);
	return err_create(ERR_GONE, "process %d has ended", target->pid);
}
