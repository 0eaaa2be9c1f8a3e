/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * No thread may stand where a jump goes: a PC behind the first of the patched bytes would run on in
 * the middle of the jump.
 *
 *	a stopped thread's PC			is moved to the displaced copy
 *	a PC that a signal frame keeps		likewise, in the frame
 *	one that is seen, but not for sure	no jump there: a breakpoint overwrites one byte only
 */
#pragma once

struct probes;
struct thread;

/*
 * For all jumps that are planned and filled. All threads are stopped but stuck ones; one of them
 * may be borrowed for remote calls. Afterwards the engine of a probe may be another
 * (probe_no_jump).
 */
void evacuate(struct probes *probes, const struct thread *borrowed);
