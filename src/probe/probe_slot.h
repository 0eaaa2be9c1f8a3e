/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Places of probes: a slot in an area (area.h) and, for a jump, an entry in the agent's table of
 * probes. Modules may come and go without end, but the number of places is limited: AGENT_PROBES
 * entries, and AGENT_AREAS areas that the agent knows.
 *
 *	free --- area_slot, agent_state_add_probe ---> a probe's --- its module goes ---> left
 *	  ^									      |
 *	  |									      +--> inherited
 *	  +-------------- probe_slot_collect: nobody is in it, nor will return to it ------+
 *
 * Left. The text of a module that has gone does not lead there any more. But a thread may be in the
 * displaced prologue, thunk or stub: with its PC; with a return address (the function has called
 * another one, which has unloaded the library, and the frame of the stub or thunk is still on the
 * stack); or with a PC that a signal has saved. Most such programs are broken, since the function's
 * own code is gone as well. But a `free` that a thunk has jumped to does not come back to our code,
 * and a program that leaves the function by longjmp is correct. So the place stays as it is, and
 * the REFUSED probe stays in probes->all, because walks need it.
 *
 * Inherited. A library that comes back to its old address has the same functions at the same
 * addresses, with the same code. The contents of the place would be the same again, so it does not
 * matter whether a thread is in it. The new probe takes the place over as it is, and only the patch
 * is written to the target. A library that comes back all day takes no more places.
 *
 * Collected. Places are collected with all threads stopped, before probes get places, when many are
 * left or too few are free. A place is free again when
 *
 *	- no thread has anything of its slot in PC, a frame, or a word that may be either
 *	  (stack_use_of_thread, as when all is taken out: the agent's C is called from a thunk whose
 *	  return address is found);
 *	- no operation that is under way in the agent's table of threads, and none of a traced thread,
 *	  is of its probe. It may be one that was left by longjmp, and will be void: until it is, another
 *	  function's call at the same SP would be taken for its return.
 *
 * A place that is not free stays left, and is examined again when as many others were left. The
 * slot's bytes and the entry stay as they are until another probe gets them.
 *
 * A probe without a place is forgotten, except for its name, when its function has come back, here
 * or elsewhere: reports show the new probe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct probe;
struct probes;

/*
 * probe is PLANNED and its code is known: take over the place of the earlier probe of this
 * function.
 */
void probe_slot_inherit(struct probes *probes, struct probe *probe);
/* All threads are stopped. If it is time: free the places that nobody needs any more. */
void probe_slot_collect(struct probes *probes);
/* Has the module of probe i gone, and its function come back with another module? */
bool probe_slot_came_again(const struct probes *probes, size_t i);
/*
 * Forget probes whose functions came again and that have no place. Their modules are not needed any
 * more.
 */
void probe_slot_forget(struct probes *probes);
