/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Places of probes: a slot in an area (area.h) and, for a jump, an entry in the agent's table of
 * probes. There is no end of modules that come and go, but of places there is: AGENT_PROBES
 * entries, and AGENT_AREAS areas that the agent knows.
 *
 *	free --- area_slot, state_add_probe ---> a probe's --- its module goes ---> left
 *	  ^									      |
 *	  |									      +--> inherited
 *	  +-------------- probe_slot_collect: nobody is in it, nor will return to it ------+
 *
 * Left. The text of a module that has gone leads there no more. But a thread may be in the
 * displaced prologue, thunk or stub, with its PC, with a return address (the frame of a stub or
 * thunk lies under that of the function itself, which called another one, which unloaded the
 * library), or with a PC that a signal has saved. Such a program is broken in most cases, since the
 * function's own code is gone as well; but a `free` that is jumped to from a thunk has the last
 * instruction of ours behind it, and one that longjmps out of the function is right. So the place
 * stays as it is, and the probe stays in probes->all with it, REFUSED: walks find their way by it.
 *
 * Inherited. A library that comes back to where it was brings the same functions at the same
 * addresses, with the same code: what was put in the place for them is what would be put there
 * again, so that it does not matter who is in it. The new probe takes it over, filled as it is, and
 * so all that is written to the target is the patch. A library that comes back all day takes no
 * place more.
 *
 * Collected, with all threads stopped, before probes are given places, when there are many that are
 * left, or too few free ones. One is free again when
 *
 *	- no thread has anything of its slot in PC, a frame, or a word that may be either
 *	  (stack_of_uses, as when all is taken out: the agent's C is called from a thunk whose return
 *	  address is found);
 *	- no operation that is under way in the agent's table of threads, and none of a traced thread,
 *	  is of its probe. It may be one that was left by longjmp, and will be void: until it is, another
 *	  function's call at the same SP would be taken for its return.
 *
 * A place that is not free stays left, and is looked at again when as many others have come. The
 * slot's bytes and the entry stay as they are until they are given to another probe.
 *
 * Probes without a place whose function came back elsewhere, or here, are forgotten, but for their
 * names: what is said of the new one is enough.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct probe;
struct probes;

/* probe is PLANNED, its code is known: take over the place of the one that was there before it. */
void probe_slot_inherit(struct probes *probes, struct probe *probe);
/* All threads are stopped. If it is time: free the places that nobody needs any more. */
void probe_slot_collect(struct probes *probes);
/* Has the module of probe i gone, and its function come back with another module? */
bool probe_slot_came_again(const struct probes *probes, size_t i);
/* Forget probes that came again and have no place. Their module is not needed any more. */
void probe_slot_forget(struct probes *probes);
