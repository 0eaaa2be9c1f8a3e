/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Heaps as glibc makes them, built in an array: of any version that differs in layout. For tests
 * and the fuzzer.
 *
 *	struct image image;
 *
 *	image_init(&image, &(struct image_spec){ .have_fastchunks = true, ... });
 *	image_chunk(&image, heap, size, kind)	... one behind the other; the address of the block
 *	image_end(&image);			links, feet, top, mp_
 *	glibc_walk(&image.source, &walk)
 *	image_free(&image);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "heap/heap_walk.h"

#define IMAGE_HEAPS	4u
#define IMAGE_CHUNKS	768u
#define IMAGE_SPACE	0x18000u	/* bytes of a heap */
#define IMAGE_BEHIND	0x8000u		/* bytes behind it that can be read, too */

#define IMAGE_PIECES	(IMAGE_HEAPS + 6)
#define IMAGE_MAPPED	0xffu

struct image_spec {
	bool have_fastchunks;	/* 2.27 */
	bool wide_counts;	/* 2.30 */
	bool safe_linking;	/* 2.32 */
	bool page_size;		/* 2.35: in heap_info, and an int more in malloc_par */
	bool room;		/* 2.42: caches count what they have room for, and have larger blocks */
	uint64_t huge_page;	/* 2.35: that the process wants; 0: none */
	bool no_fastbins;	/* 2.43: and mapped chunks end before their mapping */
	unsigned heaps;		/* 1 to IMAGE_HEAPS arenas */
	bool second_heap;	/* the youngest arena has two (image_next_heap) */
	bool blocked;		/* sbrk fails: the main heap has two more pieces (image_next_piece) */
	bool uneven_brk;	/* sbrk_base is no multiple of 16 */
	unsigned mapped;	/* chunks that are mappings, side by side; the last one aligned */
	bool apart;		/* not the process's first glibc: its main heap is mapped */
	uint64_t shift;		/* of all addresses; a multiple of the largest heap */
};

struct image_chunk {
	uint64_t block;
	uint64_t size;
	uint8_t kind;
	uint8_t heap;		/* IMAGE_MAPPED: none */
};

/* A piece of memory. */
struct image_piece {
	uint64_t start;
	size_t len;
	uint8_t *bytes;
};

struct image {
	struct memory memory;
	struct image_spec spec;
	struct image_piece piece[IMAGE_PIECES];	/* heaps, libc's data, TLS, mapped chunks */
	unsigned nr_pieces;
	struct heap_map map[IMAGE_PIECES];
	struct heap_libc libc;
	struct heap_source source;
	struct image_chunk chunk[IMAGE_CHUNKS];	/* the truth, in order of address by heap */
	unsigned nr_chunks;
	uint64_t arena[IMAGE_HEAPS], at[IMAGE_HEAPS], first[IMAGE_HEAPS];
	uint64_t cache[IMAGE_HEAPS];		/* of a thread each */
	uint64_t threads[IMAGE_HEAPS + 1];	/* if there are no fastbins one has no cache */
	uint64_t system_mem[IMAGE_HEAPS], base[IMAGE_HEAPS];	/* base: of the last heap */
	uint64_t mapped_bytes;
	uint64_t data;
	uint32_t bins;				/* offset in malloc_state */
};

void image_init(struct image *image, const struct image_spec *spec);
void image_free(struct image *image);
/* size: of the chunk. The block's address. */
uint64_t image_chunk(struct image *image, unsigned heap, uint64_t size, enum chunk_kind kind);
/* The rest of the youngest arena's heap becomes free; the next chunks go to its second one. */
void image_next_heap(struct image *image);
/* The same of the main heap: a piece right below the one before. */
void image_next_piece(struct image *image);
void image_end(struct image *image);
/* The length that is reserved for each heap but the main one, and their alignment. */
uint64_t image_heap_max(const struct image *image);
/* All of that: populate adds the chunks of a heap, and is called for each of its parts. */
void image_make(struct image *image, const struct image_spec *spec,
		void (*populate)(struct image *image, unsigned heap));
uint64_t image_get(const struct image *image, uint64_t address);
void image_put(struct image *image, uint64_t address, uint64_t word);
