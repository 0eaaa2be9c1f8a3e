/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the block at an address. Blocks are looked up by page: most words of memory are not the
 * address of a block, and those that are should cost only a load or two. A page is so small that it
 * has about four blocks: then an index takes a byte for each block, and the block is mostly in the
 * cache line where it would be if all had one size. Malloc's blocks and the user's own, which may
 * lie inside of malloc's, have an index each; an address that is in a block of the user's is in
 * that one.
 *
 * The extent of a block is its memory up to the next block: if the heap has changed since the log
 * was read, the starts are still right. The extent of an empty block is one byte.
 */
#pragma once

#include "heap/packed.h"

#define EXTENT_NONE	UINT32_MAX

/* Extents with no large gaps between them; or all those between two such runs, without pages. */
struct extent_run {
	uint64_t start, end;
	uint32_t first, nr;	/* blocks */
	size_t page;		/* of extent_index.page, or none (extents.c) */
};

struct extent_index {
	uint32_t first, behind;		/* its blocks */
	unsigned shift;			/* a page is 1 << shift bytes */
	VEC(struct extent_run) runs;
	/* by page of a run: the first extent that ends behind its start */
	VEC(uint32_t) page;
};

struct extents {
	const struct packed_list *list;
	struct extent_index outer, user;
	uint64_t low, high;		/* of all */
};

#define EXTENTS_INIT	{ .list = NULL }

/* list must stay, and stay sorted. */
struct err *extents_build(const struct packed_list *list, struct extents *ret) MUST_CHECK;
void extents_free(struct extents *extents);

/* Returns the end of the extent of a block. */
static inline uint64_t extents_end(const struct extents *extents, uint32_t block)
{
	const struct packed_list *list = extents->list;
	const struct packed_block *held = packed_at(list, block);
	uint32_t behind = held->user ? extents->user.behind : extents->outer.behind;
	uint64_t len = MAX(packed_size(list, held), 1ull), end;

	if (__builtin_add_overflow((uint64_t)held->address, len, &end))
		end = UINT64_MAX;
	return block + 1 < behind ? MIN(end, (uint64_t)packed_at(list, block + 1)->address) : end;
}

struct extent_found {
	uint32_t block;		/* EXTENT_NONE: none is there */
	/* malloc's block in which the user's block begins; else EXTENT_NONE */
	uint32_t outer;
};

/* A piece of memory that belongs to a block: all of it, unless others lie inside. */
struct extent {
	uint64_t start, end;
	uint32_t block;
	uint32_t outer;		/* as in struct extent_found */
};

/* Goes through all pieces in order of address, from a given one on. */
struct extent_at {
	uint64_t address;	/* behind the last piece */
	uint32_t outer, user;	/* blocks before these two end at or below `address` */
};

struct extent_at extents_from(const struct extents *extents, uint64_t address);
/* The next piece that ends behind address; start is not before that. False: there is none. */
bool extents_next(const struct extents *extents, struct extent_at *at, struct extent *ret);

#define EXTENTS_BATCH	64u

/* For nr addresses in [low, high): at most EXTENTS_BATCH, whose cache misses overlap. */
void extents_look_up(const struct extents *extents, const uint64_t *address, size_t nr,
		     struct extent_found *ret);

/* Like extents_look_up, for one address, which may be any. */
static inline struct extent_found extents_find(const struct extents *extents, uint64_t address)
{
	struct extent_found found = { EXTENT_NONE, EXTENT_NONE };

	if (address - extents->low < extents->high - extents->low)
		extents_look_up(extents, &address, 1, &found);
	return found;
}
