/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `malloc trim`: a thread of the target calls glibc's malloc_trim(0) once, while all others are
 * stopped; that of each glibc which has heaps, if there are several.
 *
 * This is the only function of the target that mdbg ever calls, but for what corresponds to it in
 * other allocators (purge.h). An existing thread calls it. A new thread would run beside a program
 * that may have only one thread, and that therefore does not lock its arenas.
 *
 * What may go wrong, and why it does not
 *
 *	a lock		malloc_trim takes that of one arena after the other, and no other. All must be
 *			free; nobody can take one, as all stand still
 *	half done	what others do without a lock is made for others to come in between. What a program
 *			of one thread does is not (it pushes to a fastbin with plain stores), but
 *			there it is that thread itself that makes the call. So it must not be inside the
 *			allocator (inspect/memory_view.h): its stack is walked, to the end, and has no
 *			frame of the allocator, and none of a signal, which may have come in the middle
 *			of anything. Nobody may be in brk or sbrk, which know of no other thread
 *	damage		makes malloc_trim abort the process: the heaps are walked first, and whatever
 *			the walk finds is a refusal
 *	errno		is left as madvise or sbrk make it, should they fail (memory that is locked). A thread
 *			is taken that is in a system call: what errno is behind that is for the call to
 *			say (POSIX: a function that succeeds may have changed it). Of several glibcs each
 *			has an errno, and only one of them makes that call: another one's may change,
 *			too, if memory of its heaps is locked
 *	the stack	must be one whose bounds are known, with STACK_ROOM below SP. The call is made at
 *			its low end, where it was never touched (tracee/frame_place.h), as somebody's
 *			data may lie below SP all the same; or else below SP
 *	a system call	of malloc_trim's that is not allowed (a seccomp filter, calls that are
 *			dispatched to the thread) would end the process, at the latest when mdbg is
 *			killed and the filter is no longer suspended: such a thread is not taken
 *	a breakpoint	of somebody else's in what it calls: text is compared with the file
 *	mdbg is killed	the call completes itself (tracee/remote.h). The others go on meanwhile, and find
 *			the arenas locked or not, as always
 *
 * The pause is as long as the walk and the call, which makes a system call for each free chunk of a
 * page or more.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct session;

struct session_trim {
	uint64_t before_kb, after_kb;	/* that are resident */
	uint64_t pause_ns;
};

/*
 * Main thread. After an error nothing was done. ERR_STATE: no process, no probes, or damaged heaps.
 * ERR_UNSUPPORTED: an allocator that cannot be asked, or no thread may make the call. ERR_BUSY: not
 * possible at the moment.
 */
struct err *trim_run(struct session *session, struct session_trim *ret) MUST_CHECK;
