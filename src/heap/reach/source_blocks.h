/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Of blocks that nothing else leads to, those through which all of them are lost: one for each
 * block, or ring of blocks, that no other one points to. It is the first one of its ring, by
 * address, as in the search for leaks (reach.h). That takes one for two where a lost block points
 * into a ring, but not to the ring's first block; this does not.
 */
#pragma once

#include "heap/reach/block_graph.h"

#define SOURCE_ASKED	UINT32_MAX	/* in `state`: the block is one of those */

struct source_blocks {
	VEC(uint32_t) vec;	/* by number */
};

/*
 * state: for each block, SOURCE_ASKED or anything below; on return it is as it was, but after an error. queue has room
 * for all that are asked for. The caller frees ret->vec, which is empty before. ERR_CANCELLED.
 */
struct err *source_blocks_find(const struct block_graph *graph, uint32_t *state, uint32_t *queue,
			       struct source_blocks *ret) MUST_CHECK;
