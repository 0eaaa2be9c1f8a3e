/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of a process, seen while its memory is still there.
 *
 * A thread that ends stops in PTRACE_EVENT_EXIT, where it is asked for (target_trace_exits): in the
 * kernel, behind its last instruction, with its registers, and with the memory of its process. It runs
 * no user code any more, and reports nothing, so that the target counts as stopped without it; for the
 * same reason it can make no remote call.
 *
 *	RUNNING --- EVENT_EXIT, but others of the process go on ---> resumed, ends
 *	   |
 *	   +------- EVENT_EXIT, as the process ends ---------------> at_end: held
 *
 * The first that is held makes the next target_stop (the owner's next event calls it at the latest)
 * wait for the others, which have been killed and come the same way, look (ops->at_end) and let all
 * of them end.
 *
 * Who is killed by SIGKILL is let go at once: whoever does that, the kernel for want of memory above
 * all, wants to have the memory. Should mdbg die, the kernel lets them end.
 */

#include <signal.h>
#include <sys/syscall.h>

#include "base/trace.h"
#include "os/tracer.h"
#include "target/target.h"

/* How long the end itself is waited for, once nobody is held. */
#define END_NS	1000000000ull

void target_trace_exits(struct target *target, bool trace)
{
	struct thread *thread;

	tracer_trace_exits(target->tracer, trace);
	if (!target->stopped)
		return;
	for_each_thread(thread, target)
		if (thread->state == THREAD_STOPPED)	/* fails only if it was killed */
			err_ignore(tracer_set_options(target->tracer, thread->tid, false));
}

/*
 * Who does not call exit itself is killed, with all others: by exit_group of one, by a signal. So are
 * those whose sibling executes another program, which is the end of this memory as well.
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
		if (other != thread && other->tgid == thread->tgid && !other->leaves)
			return false;
	return !target->expected;
}

void thread_stop_at_exit(struct thread *thread)
{
	struct target *target = thread->target;
	struct thread *other;

	thread->leaves = true;
	thread->regs_changed = thread->pc_changed = false;
	/* A first thread that has ended has no memory any more, and is told of only with the last. */
	if (target->mem.tid == thread->tid)
		for_each_thread(other, target)
			if (!other->leaves && other->tgid == target->pid)
				procmem_set_tid(&target->mem, other->tid);
	if (!target->ops->at_end || target->looked || !ends_process(thread)) {
		thread_resume(thread, 0);
		return;
	}
	thread->at_end = true;
	target->at_end = true;
	procmem_set_tid(&target->mem, thread->tid);
}

struct err *target_end(struct target *target)
{
	struct thread *thread;
	uint64_t until;
	int status;
	pid_t tid;

	target->at_end = false;
	target->looked = true;
	/* For who looks at them it is as any stop. */
	for_each_thread(thread, target)
		if (thread->at_end)
			thread->state = THREAD_STOPPED;
	target->ops->at_end(target->ctx);
	for_each_thread(thread, target)
		if (thread->at_end) {
			thread->at_end = false;
			thread_resume(thread, 0);
		}
	target_resume(target);
	until = tracer_now() + END_NS;
	while (!target->ended && map_count(&target->threads) &&
	       !tracer_wait(target->tracer, until, &tid, &status))
		target->ops->route(target->ctx, tid, status);
	return err_create(ERR_GONE, "process %d has ended", target->pid);
}
