/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The walk of jemalloc (5.0 to 5.3, 64 bits, pages of 4 KB, addresses of 48 bits), by what its data
 * say of each other. No symbol, no version and no code is needed, so it does not matter whether it is
 * a library or linked in, by which prefix its functions are called, and whether the file is stripped.
 *
 *	extent	A run of pages: a slab (blocks of one size class), a large block, or pages that are
 *		kept (dirty, muzzy) or given back (retained). A descriptor of 128 bytes has a word
 *		of bits (arena, slab, state, class, free blocks), the address, the size, and in byte
 *		64 a slab's map of 512 bits, in which a free block is 1.
 *	tree	From pages to extents: a root of 2^18 words in jemalloc's own data leads to leaves
 *		of 2^18 words, one for each GB. A word of a leaf has the descriptor's address, the
 *		class in the upper 16 bits, and some bits in the lower 7. A slab has a word for each
 *		of its pages, other extents for the first and the last one.
 *	base	Descriptors, leaves and arenas lie in blocks that jemalloc maps for itself, at
 *		multiples of 2 MB. Each begins with its size, a link and a descriptor of what is left
 *		of the block: address plus size of that is the block's end.
 *	cache	A thread's cache is in its static TLS: an array of bins, by class. A bin has a stack
 *		of free blocks; the stacks of all bins lie end to end, in memory that jemalloc has
 *		from itself.
 *
 * The root is found by a word that leads to a leaf: the first word of the leaf leads to a descriptor
 * of an extent that begins at a page which that word stands for. The page tells which word of the
 * root this is. All words of the root must agree, and the root must lie in the module's data.
 *
 * What versions differ in are bits of the descriptor and fields of a bin. Each layout that is known
 * is tried on the first extent: the class that the descriptor has must be that of the leaf's word. If
 * none fits, the walk is refused (ERR_UNSUPPORTED). After that, what contradicts itself is damage: a
 * word of a leaf that leads to no extent of its page; a slab whose map has another number of free
 * blocks than its descriptor; an extent that its class does not fit; extents that overlap. With a
 * thread inside jemalloc all of these may be a change under way.
 *
 * The tree's words are in order of address, so chunks are made as they come, and nothing is kept of
 * an extent. Free blocks that lie side by side in a slab are one chunk. Pages that are given back are
 * in no chunk; those that are kept are CHUNK_KEPT. A block of jemalloc's own (the caches' stacks) is
 * CHUNK_OWN, as base blocks are.
 *
 * Rejected: the arenas' lists of extents. They have only what is not full, or needs no list.
 */
#pragma once

#include "base/word_list.h"
#include "heap/bare_walk.h"

#define JEMALLOC_FANOUT		(1u << 18)	/* words of the root, and of a leaf */
#define JEMALLOC_EXTENT		128u		/* bytes of a descriptor */
#define JEMALLOC_MAP_WORDS	8u
#define JEMALLOC_ARENAS		4096u		/* 12 bits */

enum jemalloc_state { JEMALLOC_ACTIVE, JEMALLOC_DIRTY, JEMALLOC_MUZZY, JEMALLOC_RETAINED };

/* Where a version has the bits of a descriptor, and the words of a bin. */
struct jemalloc_layout {
	uint8_t state, state_bits, class, free;		/* shifts; arena and slab are at 0 and 12 */
	bool counted_bins;	/* a bin has its number of blocks, and a pointer to its stack's end */
};

struct jemalloc_extent {
	uint64_t at;		/* of its descriptor */
	uint64_t base, pages;	/* the memory that it has, in bytes */
	uint64_t address;	/* of the block in it: a large one may begin within its first page */
	uint64_t size;		/* of its class; 0: no such class */
	uint16_t arena;
	bool slab;
	uint8_t state, class;
	uint16_t free;
	uint64_t map[JEMALLOC_MAP_WORDS];
};

#define PAGES_KEPT	256u

/* The last pages of descriptors that were read. */
struct jemalloc_page {
	uint64_t start;		/* 0: none */
	size_t len;
	uint8_t bytes[4096];
};

struct jemalloc {
	const struct heap_source *source;
	struct heap_walk *walk;
	struct bare_walk bare;
	const struct jemalloc_layout *layout;
	uint64_t root;
	uint16_t module;		/* place of its module in the source */
	struct jemalloc_page *page;	/* PAGES_KEPT, by number of page */
	struct word_list leaves;	/* pairs: number in the root, address */
	struct word_list cached;	/* blocks in threads' caches; sorted */
	struct word_list own;		/* addresses in blocks of jemalloc's own; sorted */
	struct word_list bases;		/* pairs: start, end of base blocks; sorted */
	unsigned bases_missed;		/* descriptors that lie in none that was found */
	/* Pages that lead to no extent are passed over: bases are looked for, or the target runs. */
	bool looks;
	uint64_t done;			/* extents must begin here, or behind */
	size_t next_cached, next_own, next_base;
};

/* Read the descriptor at an address; false: it cannot be read, or is none of a known state. */
bool jemalloc_root_extent_read(struct jemalloc *jemalloc, uint64_t at, struct jemalloc_extent *ret);
/* The address of the descriptor that a word of a leaf has. */
uint64_t jemalloc_root_extent_of(uint64_t word);
/* Bytes of a size class; 0: there is none of this number. */
uint64_t jemalloc_root_class_size(unsigned class);

/* Find the root, its leaves and the layout. ERR_NOTFOUND: there is none; ERR_UNSUPPORTED, ERR_NOMEM. */
struct err *jemalloc_root_find(struct jemalloc *jemalloc) MUST_CHECK;
/* Find the caches of all threads: `cached` and `own`. */
struct err *jemalloc_caches_find(struct jemalloc *jemalloc) MUST_CHECK;
/* What is done with an extent. */
typedef struct err *(*jemalloc_extent_fn)(struct jemalloc *jemalloc,
					  const struct jemalloc_extent *extent);
/* Call fn for each extent of the leaves, in order of address. ERR_NOMEM, ERR_MEMORY, or fn's. */
struct err *jemalloc_extents_each(struct jemalloc *jemalloc, jemalloc_extent_fn fn) MUST_CHECK;
/* Find all base blocks. ERR_NOMEM, ERR_MEMORY. */
struct err *jemalloc_extents_bases(struct jemalloc *jemalloc) MUST_CHECK;
void jemalloc_extents_free(struct jemalloc *jemalloc);
/* The base block that has this address becomes one of `bases`, if it is one. */
struct err *jemalloc_root_base_add(struct jemalloc *jemalloc, uint64_t address) MUST_CHECK;
