/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * No thread may have its PC where a jump is written: behind the first of the patched bytes it would
 * go on in the middle of the jump.
 *
 *	a stopped thread's PC			is moved to the displaced copy
 *	a PC that a signal frame keeps		likewise, in the frame
 *	one that is seen, but not for sure	no jump there: a breakpoint overwrites one byte only
 */
#pragma once

struct probes;
struct thread;

/*
 * Do this for all jumps that are planned and filled. All threads are stopped except stuck ones; one
 * of them may be borrowed for remote calls. A probe may have become a breakpoint afterwards
 * (choose_no_jump).
 */
void evacuate(struct probes *probes, const struct thread *borrowed);
