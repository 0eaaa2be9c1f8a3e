/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which block is at an address? The memory of all blocks, cut into extents that do not overlap: a
 * block is one extent, unless others lie inside of it. Looked up by page: most words of memory
 * are no address of a block, and those that are should cost a load or two.
 */
#ifndef HEAP_EXTENTS_H
#define HEAP_EXTENTS_H

#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "heap/block.h"

#define EXTENT_NONE	UINT32_MAX

struct extent {
	uint64_t start, end;
	uint32_t block;
	uint32_t outer;		/* block around it, or EXTENT_NONE */
};

/* Extents with no large gaps between them, or a single large one. */
struct extent_run {
	uint64_t start, end;
	uint32_t first, nr;	/* extents */
	size_t page;		/* of extents.page; unused of a single extent */
};

struct extents {
	VEC(struct extent) vec;		/* in order of address */
	VEC(struct extent_run) runs;
	VEC(uint32_t) page;		/* by page of a run: the first extent that ends behind its start */
	uint32_t *first;		/* by block: its first extent; EXTENT_NONE: it has no memory of its own */
	uint64_t low, high;		/* of all */
};

#define EXTENTS_INIT	{ .first = NULL }

/*
 * Blocks in the order of blocks_from_log, of one process. One that overlaps the next is cut
 * short: of what a log says of a heap that went on meanwhile the start is sure.
 */
struct err *extents_build(const struct block *block, size_t nr, struct extents *ret) MUST_CHECK;
void extents_free(struct extents *extents);
/* The extent that holds address, which lies in [low, high), or EXTENT_NONE. */
uint32_t extents_look_up(const struct extents *extents, uint64_t address);

static inline uint32_t extents_find(const struct extents *extents, uint64_t address)
{
	return address - extents->low < extents->high - extents->low ? extents_look_up(extents, address) :
								 EXTENT_NONE;
}

#endif
