/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks that the agent cannot walk to the end yet (theory in log/log_deferred.h): which parts of
 * them are kept, and how two of them are compared. Freestanding.
 *
 * Two walks from one place need only one copy if everything that mdbg's walk may depend on is
 * equal: the PCs so far, SP, and each word of the copy that can be a return address or a saved
 * frame pointer, with its position. A word can be a return address if it points into a module of
 * the map, or near the code without a known module: other unknown libraries may have been loaded
 * next to it. A word can be a frame pointer if it points further up the stack. All other words
 * (counters, sizes, blocks) change from one round of a loop to the next, and no walk depends on
 * them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind_cache.h"

/* The result of a walk, with its PCs. room is the number of PCs that fit in pcs. */
struct defer {
	const struct cache_walk *walk;
	const struct walk_outside *outside;
	uint64_t *pcs;
	uint32_t nr, room;
	enum walk_end end;
};

/*
 * To be called when a walk has met code that is in no module. Sets *whole to false if the walk must
 * not be remembered by the slots that it has read. LOG_STACK_NONE: nothing was deferred, and the
 * stack is the one that the walk has found.
 */
uint32_t defer_stack(const struct defer *defer, bool *whole);
