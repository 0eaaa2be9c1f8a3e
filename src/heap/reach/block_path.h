/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The shortest ways from roots to a block. The search goes backward from the block, to the blocks
 * that point to it, to those that point to these, and so on, each once.
 *
 * Words of stacks and registers may be left over, so they count only where no other root leads to
 * the block. If none leads to it at all the block is lost; then the way begins at the block through
 * which it is (source_blocks.h).
 *
 * It takes 8 bytes a block and 4 a pointer beside the graph, unless dominators_build has turned that
 * round before: then it takes memory for the blocks alone that it comes to.
 */
#pragma once

#include "heap/reach/block_graph.h"

#define BLOCK_PATH_LOST	SIZE_MAX

struct block_way {
	size_t root;		/* index in graph.roots, or BLOCK_PATH_LOST */
	uint32_t block;		/* where it begins */
	bool ring;		/* lost: something leads back to that block */
};

struct block_path {
	VEC(struct block_way) ways;	/* shortest first */
	bool more;			/* there are more than the limit */
	uint32_t *behind;		/* by block: the next one on the way to it, and 1 more; or 0 */
};

static inline uint32_t block_path_next(const struct block_path *path, uint32_t block)
{
	return path->behind[block] - 1;
}

/*
 * At most `limit` ways, each from another root, to `block`. ERR_CANCELLED; ERR_NOMEM.
 */
struct err *block_path_find(const struct block_graph *graph, uint32_t block, size_t limit,
			    struct block_path *ret) MUST_CHECK;
/* It may be called on zeros. */
void block_path_free(struct block_path *path);
