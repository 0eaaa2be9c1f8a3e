/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory of a program as its allocator has left it, copied: tests/targets/known, with the
 * blocks that it says it holds.
 *
 *	live_image_take_library(&image, "libmimalloc");
 *	if (live_image_is_there(&image))
 *		some_walk(&image.source, &walk)
 *	live_image_free(&image);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "heap/heap_walk.h"

#define LIVE_PIECES	256u
#define LIVE_DATA	8u

struct live_block {
	uint64_t address, size;
};

struct live_piece {
	uint64_t start, len;
	uint8_t *bytes;
};

struct live_image {
	struct memory memory;
	struct heap_source source;
	struct live_piece piece[LIVE_PIECES];	/* private writable memory, in order */
	struct heap_map map[LIVE_PIECES];
	unsigned nr_pieces;
	struct heap_libc libc;			/* of the module */
	struct heap_map data[LIVE_DATA];
	struct live_block *block;		/* in order of address */
	size_t nr_blocks;
	bool note;
	VEC(uint64_t) noted;			/* aligned words that are not 0, of what was read */
	const char *of;				/* the program that it needs, or the library */
};

/*
 * of: what is missing where the program cannot be run. module: part of the path whose writable
 * mappings are the allocator's data. preload: a library, or NULL.
 */
void live_image_take(struct live_image *image, const char *of, const char *program,
		     const char *preload, const char *module);
/* Of the program `known` with an installed library: libjemalloc. */
void live_image_take_library(struct live_image *image, const char *name);
/* Was it taken? Otherwise this test is skipped. */
bool live_image_is_there(const struct live_image *image);
void live_image_free(struct live_image *image);
/* NULL, or how the walk is not the truth of the image: see live_image.c. */
const char *live_image_compare(const struct live_image *image, const struct heap_walk *walk);
/* What is there; 0 where nothing is. */
uint64_t live_image_word(const struct live_image *image, uint64_t address);
/* False: there is nothing. */
bool live_image_put(struct live_image *image, uint64_t address, uint64_t word);

typedef struct err *live_walk(const struct heap_source *source, struct heap_walk *ret);
typedef uint64_t live_pick(const struct live_image *image, uint64_t random);
/*
 * Forge some words at a time, at places that pick chooses by a random number (NULL: of all that
 * a walk reads), and in each tenth round 1 % of what a walk reads; and walk: each walk ends in an error, or in chunks that lie one behind the
 * other in its spans and that its sums count. How often depends on HEAP_ROUNDS. Returns how often that
 * did not hold.
 */
unsigned live_image_forge(struct live_image *image, live_walk *walk, live_pick *pick);
