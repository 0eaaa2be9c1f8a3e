/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The target's SIGTRAP while breakpoints are in place.
 *
 * A handler (the agent's) is installed, so that threads outlive a killed mdbg. While mdbg traces,
 * it is never run by traps of ours, but in threads that were made with CLONE_UNTRACED.
 *
 * When mdbg is gone it takes the breakpoints out (agent/trap_handler.c has how). It learns of that
 * by a robust futex of the tracer thread's in the journal: `tracer`. As long as that is 0 it leaves
 * the text alone, and sends threads on for ever. So it is where its system calls could do harm:
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
 * disposition (force_sig_info_to_task), traced or not. Nothing tells so directly; it shows in the
 * disposition, in /proc, which costs as much as a whole stop. So:
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
 * and handler and mask are put back. Until a thread that only now began to block SIGTRAP is
 * noticed, some traps later, a killed mdbg would take the target along.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct probes;
struct remote;
struct thread;

/*
 * The disposition is the process' own; while a single thread sits in a vfork, all that stands still
 * is its child, which shares the memory and has dispositions of its own. Let the target run for
 * moments until a thread of the process stands still; ERR_BUSY: none does. Stopped before and
 * after.
 */
struct err *sigtrap_await(struct probes *probes) MUST_CHECK;
/* Write the agent's table, and install the handler if it is not there yet. */
struct err *sigtrap_install(struct probes *probes, struct remote *remote) MUST_CHECK;
struct err *sigtrap_remove(struct probes *probes, struct remote *remote) MUST_CHECK;
/* Give up the robust word: no handler takes the breakpoints out any more. */
void sigtrap_forget(struct probes *probes);
/* With each poll: may the text still be changed when mdbg is gone? */
void sigtrap_check(struct probes *probes);
/*
 * After a trap of ours in thread, before it goes on: repair what the kernel reset. False: it is
 * gone.
 */
bool sigtrap_repair(struct probes *probes, struct thread *thread);
