/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The target's SIGTRAP while breakpoints are in place.
 *
 * A handler (the agent's) is installed so that threads outlive a killed mdbg. While mdbg traces,
 * our traps never run it, except in threads that were made with CLONE_UNTRACED.
 *
 * When mdbg is gone the handler takes the breakpoints out (agent/trap_handler.c says how). It knows
 * that by a robust futex of the tracer thread in the journal: `tracer`. As long as that is 0 the
 * handler leaves the text alone, and sends threads on for ever. mdbg keeps it at 0 where the
 * handler's system calls could do harm:
 *
 *	seccomp			in any thread: a filter may kill for mprotect. Threads are looked at
 *				when the handler is installed, LOOK_AT of them with each poll, and
 *				with the looks below. Once seen, it is for good. A thread that puts
 *				itself under a filter later, when mdbg has been killed, and is the
 *				first to hit a breakpoint in that mapping after that, would not survive
 *				it; so all of a mapping are taken out at once
 *	memory that is locked	text that becomes writable would be copied, all of it
 *	no overcommit		and accounted for as long as the process lives
 *
 * A mapping that is not r-xp is never touched.
 *
 * A trap in a thread that blocks SIGTRAP makes the kernel unblock the signal and reset the
 * disposition (force_sig_info_to_task), traced or not. Nothing reports that directly. It can be
 * seen in the disposition in /proc, but to read that costs as much as a whole stop. So mdbg reads
 * it for:
 *
 *	a thread that was seen to block SIGTRAP		is looked at at each trap
 *	any thread, at its first TRAPS_CLOSE traps	if it blocks any signal (who
 *							blocks signals blocks them all)
 *	  and every TRAPS_EVERY'th after them
 *	at every CHECK_EVERY'th trap of the process	in any case
 *	at a thread's first trap after a repair		in any case: the kernel may
 *							have changed its mask while another
 *							thread's repair put the handler back
 *
 * Then handler and mask are put back. A thread that has just begun to block SIGTRAP is noticed some
 * traps later; if mdbg is killed before that, the target is killed, too.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct probes;
struct remote;
struct thread;

/*
 * The disposition belongs to the process. While its only thread waits in a vfork, only the child is
 * stopped, which shares the memory but has its own dispositions. Let the target run for moments
 * until a thread of the process itself is stopped; ERR_BUSY: none is. Stopped before and after.
 */
struct err *sigtrap_await(struct probes *probes) MUST_CHECK;
/* Write the agent's table, and install the handler if it is not there yet. */
struct err *sigtrap_install(struct probes *probes, struct remote *remote) MUST_CHECK;
struct err *sigtrap_remove(struct probes *probes, struct remote *remote) MUST_CHECK;
/* Give up the robust word: no handler takes the breakpoints out any more. */
void sigtrap_forget(struct probes *probes);
/* To be called with each poll: may the text still be changed when mdbg is gone? */
void sigtrap_check(struct probes *probes);
/*
 * To be called after a trap of ours in thread, before it goes on: repair what the kernel has reset.
 * False: the thread is gone.
 */
bool sigtrap_repair(struct probes *probes, struct thread *thread);
