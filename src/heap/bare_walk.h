/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the walks of allocators share whose chunks are bare (heap_chunk.h): it builds the lists of a
 * walk, of slots in order of address.
 *
 *	struct bare_walk bare = BARE_WALK_INIT(source, &walk);
 *
 *	bare_walk_arena(&bare, ...)		at first, one or several
 *	bare_walk_span(&bare, start, end, heap)	in order of address
 *	bare_walk_add(&bare, address, size, kind, heap)
 *	bare_walk_end(&bare)			before the walk is given away
 *	bare_walk_free(&bare)			in any case
 */
#pragma once

#include "heap/heap_walk.h"

#define BARE_ADDRESS_END	(1ull << 47)

/* Memory that is read from front to back: what is wanted is mostly in what was read before. */
struct bare_window {
	uint8_t *bytes;
	size_t len, room;
	uint64_t start;
};

struct bare_walk {
	const struct heap_source *source;
	struct heap_walk *walk;
	struct heap_chunk last;		/* not yet added: the next one may continue it; size 0: none */
	struct bare_window window;
};

#define BARE_WALK_INIT(of, into)	{ .source = (of), .walk = (into) }

/* Add an arena, with the next number; address is that of the allocator's own data of it. */
struct err *bare_walk_arena(struct bare_walk *bare, uint64_t address) MUST_CHECK;
/*
 * Memory from the kernel, which counts for the arena, and is given back as a whole (a slab) or lies in
 * whole pages: no chunk of it becomes one with a chunk of another span (free_space.h).
 */
struct err *bare_walk_span(struct bare_walk *bare, uint64_t start, uint64_t end,
			   uint16_t heap) MUST_CHECK;
/*
 * Add a chunk behind all others: a multiple of CODE_UNIT bytes, or nothing if size is 0. Free ones
 * (and those of the allocator's own) that follow one another in a heap become one. ERR_RANGE: there
 * are more than the source wants.
 */
struct err *bare_walk_add(struct bare_walk *bare, uint64_t address, uint64_t size,
			  enum chunk_kind kind, uint16_t heap) MUST_CHECK;
struct err *bare_walk_end(struct bare_walk *bare) MUST_CHECK;
void bare_walk_free(struct bare_walk *bare);

/* Note damage; fmt describes it. It is in doubt as long as a thread is inside the allocator. */
struct err *bare_walk_damage(struct bare_walk *bare, struct heap_damage damage, const char *fmt,
			     ...) PRINTF(3, 4) MUST_CHECK;

/*
 * len bytes at address, to be used before the next call; NULL: they cannot be read, or are more
 * than want, which is how many bytes from address on are read if they are not there yet.
 */
const void *bare_walk_read(struct bare_walk *bare, uint64_t address, size_t len, size_t want);

/*
 * A place in an allocator's data: `words` words that begin at address. True: it is what was looked
 * for, and the search ends.
 */
typedef bool bare_look(void *ctx, uint64_t address, const uint64_t *word);

/*
 * Look at each word of the data of one of the source's modules that has as many words behind it as
 * look needs. *found_ret: did look return true?
 */
struct err *bare_walk_search(struct bare_walk *bare, size_t libc, size_t words, bare_look *look,
			     void *ctx, bool *found_ret) MUST_CHECK;
