/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A walk of CPython's allocator of objects (Objects/obmalloc.c, 3.6 to 3.13, without free
 * threading), which is told nothing by the interpreter.
 *
 *	arenas[]	an array of struct arena_object, in a block of malloc: 16 entries, or 32, ...
 *	arena		256 KB (1 MB from 3.10 on) that it maps, cut into 64 pools, or 63 where its start
 *			is not aligned to them. Pools from the first up to pool_address were cut off; those
 *			that were given back are linked from freepools
 *	pool		4 KB (16 KB): a header of 48 bytes, then blocks of one size, a multiple of 16 (of 8
 *			before 3.7) up to 512. Blocks up to nextoffset were cut off; the free ones among
 *			them are linked from freeblock, and ref.count says how many are not
 *
 * None of this has a symbol in a stripped interpreter, and the sizes differ between versions. So
 * the array is looked for: a word of the data of the module that defines PyObject_Malloc that leads
 * to 16 entries, of which each one with an address has a pool at its start whose header names the
 * entry's own number, and a last block that fits the size of pools. Entries that are used by nobody
 * prove nothing, so one at least must be proved.
 *
 * What does not fit is damage, and is counted by pool: its count and its chain of free blocks
 * disagree, or its header fits no size. Nothing of such a pool is listed.
 *
 * The memory is the target's, so nothing is believed: numbers are bounded, and chains end after as
 * many links as there are blocks.
 */
#pragma once

#include "base/memory.h"
#include "base/vec.h"

struct proc_maps;

#define PYMALLOC_SIZE_MAX	512u
#define PYMALLOC_POOL_MAX	16384u
#define PYMALLOC_BLOCKS_MAX	((PYMALLOC_POOL_MAX - 48) / 8)	/* of a pool */

/* Where the interpreter's data may be: writable memory of its module. */
struct pymalloc_range {
	uint64_t start, end;
};

struct pymalloc_source {
	struct memory *memory;
	const struct proc_maps *maps;
	const struct pymalloc_range *data;
	size_t nr_data;
};

struct pymalloc_pool {
	uint64_t address;
	uint32_t first;		/* number of its first block, of all that were cut off */
	uint16_t carved;	/* blocks that were cut off; 0: the pool is free, or damaged */
	uint16_t used;		/* of them, that somebody has */
	uint16_t size;		/* of a block */
};

struct pymalloc_arena {
	uint64_t address, first;	/* its start, and that of its first pool */
	uint32_t pools, at;		/* how many, and which of pymalloc.pools is the first */
};

struct pymalloc {
	uint32_t pool_size;
	VEC(struct pymalloc_arena) arenas;	/* by address */
	VEC(struct pymalloc_pool) pools;	/* those of an arena side by side, by address */
	uint32_t carved;			/* blocks of all pools that were cut off */
	uint64_t blocks, bytes;			/* in use */
	uint64_t free_pools, damaged;
	uint64_t mapped;			/* bytes of all arenas */
};

/*
 * Called for each pool with blocks: its bytes, and for each block that was cut off whether it is
 * used. An error ends the walk.
 */
typedef struct err *pymalloc_fn(void *ctx, const struct pymalloc_pool *pool, const uint8_t *bytes,
				const bool *used);

/*
 * Walk all arenas. fn may be NULL. ERR_NOTFOUND: there are none that can be proved. The caller
 * frees *ret, also after an error.
 */
struct err *pymalloc_walk(const struct pymalloc_source *source, pymalloc_fn *fn, void *ctx,
			  struct pymalloc *ret) MUST_CHECK;
void pymalloc_free(struct pymalloc *pymalloc);
/* Does an arena hold the address? */
bool pymalloc_has(const struct pymalloc *pymalloc, uint64_t address);
/* Does an arena hold the address? */
bool pymalloc_has(const struct pymalloc *pymalloc, uint64_t address);
/* The pool that holds the address; NULL: none does, or it is free or damaged. */
const struct pymalloc_pool *pymalloc_pool_at(const struct pymalloc *pymalloc, uint64_t address);
#define PYMALLOC_HEADER	48u	/* bytes before the first block of a pool */
