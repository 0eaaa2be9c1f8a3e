/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The target's SIGTRAP while breakpoints are in place.
 *
 * A handler (the agent's) is installed so that threads outlive a killed mdbg. While mdbg traces,
 * our traps never run it, except in threads that were made with CLONE_UNTRACED.
 *
 * When mdbg is gone the handler takes the breakpoints out (agent/trap_handler.c says how). It learns
 * this from a robust futex of the tracer thread in the journal: `tracer`. As long as that is 0 the
 * handler leaves the text alone, and sends threads on for ever. mdbg keeps it at 0 if the handler's
 * system calls could do harm:
 *
 *	seccomp			A filter in any thread may kill for mprotect. Threads are checked
 *				when the handler is installed, LOOK_AT of them with each poll, and
 *				with the looks below. If a filter was seen, this is final. If a
 *				thread puts itself under a filter after mdbg was killed, and is the
 *				first to hit a breakpoint in a mapping after that, it does not
 *				survive; so all breakpoints of a mapping are taken out at once
 *	memory that is locked	All text that becomes writable would be copied
 *	no overcommit		The same, and it would be accounted for as long as the process lives
 *
 * A mapping that is not r-xp is never touched.
 *
 * A trap in a thread that blocks SIGTRAP makes the kernel unblock the signal and reset the
 * disposition (force_sig_info_to_task), traced or not. Nothing reports that directly. It can be
 * seen in the disposition in /proc, but to read that costs as much as a whole stop. So mdbg reads
 * it for:
 *
 *	a thread that was seen to block SIGTRAP		at each trap
 *	any thread, at its first TRAPS_CLOSE traps	if it blocks any signal (threads
 *							that do usually block all)
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
/*
 * Call this with each poll. It checks a few threads for facts that forbid the handler to change the
 * text when mdbg is gone.
 */
void sigtrap_check(struct probes *probes);
/*
 * Call this after a trap of ours in thread, before it goes on: repair what the kernel has reset.
 * False: the thread is gone.
 */
bool sigtrap_repair(struct probes *probes, struct thread *thread);
