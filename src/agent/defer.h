/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks that the agent cannot walk to the end yet (theory in log/deferred.h): what is kept of
 * them, and by what two of them are told apart. Freestanding.
 *
 * Two walks from one place are the same one, and need one copy only, if all is equal that mdbg's
 * walk may depend on: the PCs so far, SP, and each word of the copy that can be a return address or
 * a saved frame pointer, with its place. A return address is inside a module of the map, or near
 * the code that no module is known for, whose library came with others that are not known either. A
 * frame pointer leads up the stack. All else varies in a loop (counters, sizes, blocks), and no
 * walk goes by it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind_cache.h"

/* What a walk has come to, with its PCs; room: that pcs has place for. */
struct defer {
	const struct cache_walk *walk;
	const struct walk_outside *outside;
	uint64_t *pcs;
	uint32_t nr, room;
	enum walk_end end;
};

/*
 * The walk has met code of no module. *whole is false if it must not be remembered by the slots
 * that it has read. LOG_STACK_NONE: nothing is deferred, and the stack is what the walk has found.
 */
uint32_t defer_stack(const struct defer *defer, bool *whole);
