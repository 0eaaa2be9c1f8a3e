/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the frame of a remote call lies (tracee/remote.h).
 *
 * If mdbg is killed in the middle of a call, the thread restores its registers from the frame; but
 * nobody puts back what lay where the frame is. So that must be nobody's. What is below SP need not
 * be: the thread may run on a small stack (a coroutine's, an alternate one) in an array, in a block
 * of the heap or in a frame of another function, and somebody else's data end just below it.
 * Nothing in the process says where such a stack ends.
 *
 * Hence the frame lies in spare pages: whole pages at the low end of the stack that the thread was
 * made with, which is [stack] for the first thread of the process, and what its control block says
 * for any other one (tcb.h).
 *
 *	nobody's yet	The page tables have nothing there (pagemap): no byte of it was ever written.
 *	nor later	Only this thread's calls would come there, and it makes none meanwhile.
 *	it is memory	The pages are in the mapping already. So the stack need not grow, for which
 *			there are limits (RLIMIT_STACK, and what is mapped below). Where SP is, is of
 *			no interest to the kernel.
 *
 *	low end | mark | room for arguments | frame | mark |   never touched   | ... SP ... | high end
 *
 * A page that was touched stays so. Lest each mdbg, and each call, take new ones, spare pages have a
 * mark at each end, which stays. Pages with both marks are taken again. A stack that has come down
 * to them in the meantime has written over the upper mark: then there is no room any more. If SP is
 * in them (a killed mdbg's call is still to be made), the next pages are taken.
 *
 * A stack may have no spare pages: its bounds are not known, or all of it was touched, or is locked
 * (mlockall). Then the frame lies below SP after all; if that is in the stack that the thread was
 * made with, at least the end of that is known. For other stacks it is not (FRAME_ANYWHERE).
 *
 * Rejected: always below SP where that is in [stack] or the like, since a small stack may lie in a
 * frame there; memory of mdbg's own, which the thread could not unmap while its frame is there; pages
 * that were touched, but are zeros (a program may have a large array of these); the low end of
 * another thread's stack, since that thread goes on when mdbg is killed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread;

/* The best one first. */
enum frame_rank {
	FRAME_SPARE,
	FRAME_BELOW,		/* SP, on the stack that the thread was made with */
	FRAME_ANYWHERE,		/* below SP, as far as anything is mapped there */
};

/* The frame, and what belongs to it, may lie in [low, high). */
struct frame_place {
	uint64_t low, high;
	enum frame_rank rank;
};

/*
 * Find a place of this rank for len bytes. The thread is stopped, and its regs are those that it
 * will go on with. False: there is none.
 */
bool frame_place_find(struct thread *thread, enum frame_rank rank, size_t len,
		      struct frame_place *ret);
