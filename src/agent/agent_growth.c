/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls of brk, mmap and shared memory (log/growth_ring.h). Freestanding.
 *
 * The stack is walked at the entry of all of them: a munmap, or what a MAP_FIXED or a mremap takes
 * away, may be a part of the very stack that the caller's frames lie on, and then nothing above
 * this frame can be read when the call has returned. At the entry all registers that a walk begins
 * with have the caller's values, too. For the same reason the return reads nothing but the frame:
 * the thread's control block may have been a part of what was unmapped.
 *
 * The event is put in at the return, so nothing is to be undone for a call that does not return (a
 * thread that is killed in it), and no slot stays open while a call waits for the kernel. A call
 * that was entered before the agent was disabled, and returns after that, is not recorded.
 *
 * No system call is made here, so errno is as the function has set it.
 */

#include "agent/slow_path.h"
#include "log/growth_ring.h"
#include "log/ring.h"

/* SP at the function's entry. */
static inline uint64_t wide_entry_sp(const struct agent_wide_frame *frame)
{
	return (uint64_t)&frame->return_address;
}

uint64_t agent_growth_enter_kept(struct agent_wide_frame *frame, const struct agent_probe *probe,
				 KEPT)
{
	struct agent_thread *thread;

	if (!enabled(probe->state))
		return 1;
	thread = agent_thread_hold(probe->state);
	keep(thread, r12, r13, r14, r15);
	frame->who = ring_pair(ledger_number((struct ledger_thread *)thread),
			       slow_path_stack(probe, thread, wide_entry_sp(frame), &frame->bp));
	agent_thread_let_go(thread);
	frame->entered = log_now();
	return 0;
}

ENTRY void agent_growth_leave(struct agent_wide_frame *frame, const struct agent_probe *probe)
{
	struct growth_event event;

	if (!enabled(probe->state))
		return;
	event.left = log_now();
	event.entered = frame->entered;
	event.thread = (uint32_t)(frame->who >> 32);
	event.stack = (uint32_t)frame->who;
	event.call = probe->call;
	event.result = frame->ax;
	for (unsigned i = 0; i < GROWTH_ARGS; i++)
		event.arg[i] = frame->arg[i];
	growth_ring_put(log_of(probe->state), &event);
}
