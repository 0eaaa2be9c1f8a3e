/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why is free memory of heaps resident, and what would `malloc trim` give back?
 *
 * glibc, by malloc_trim(0)
 *
 * The kernel takes and gives whole pages, so the answer is one by page. malloc_trim (since 2.8)
 * goes through all arenas. In each it consolidates the fastbins, so that their chunks become one
 * with free neighbours; then it gives back the whole pages inside of each chunk of the bins, behind
 * the links at the chunk's start (struct malloc_chunk, 48 bytes). Of the top chunks it gives back
 * that of the process's main arena alone, by sbrk, if that ends at the brk; MINSIZE and a byte of
 * it stay. So a resident page with free bytes is one of these:
 *
 *	trimmed		all of it lies in such a part of a free chunk, or of that top
 *	pinned		a live block is on it, too: nothing gives the page back while it lives
 *	end		of a top chunk that malloc_trim passes over: that of another arena, of another
 *			glibc, or one that other code's sbrk lies behind
 *	cached		no live block is on it, but a chunk of a thread's cache. The cache takes up
 *			blocks that were freed, a few of each size, and malloc_trim leaves it alone
 *	header		nothing but the links of the free chunk itself, or other data of the
 *			allocator's, is on it
 *
 * Bytes in threads' caches are free to the program, but not to the arena: they have sums of their
 * own, and are in none of the others.
 *
 * Huge pages: a transparent one is split by the kernel when part of it is given back, so that it
 * counts as 512 small ones here. Memory of a hugetlb page cannot be given back in parts.
 *
 * Other allocators (bare chunks), by the function that purges
 *
 * They have blocks of one size in a slab, and give it back as a whole when its last block is free. So
 * what is free in a slab is pinned by its live blocks, wherever in it they lie; without any it is kept
 * by cached blocks, or as a slab in reserve (`header`). Whole pages that were taken back and are kept
 * are trimmed.
 */
#pragma once

#include "heap/heap_walk.h"

/* What malloc_trim leaves alone, in bytes. */
#define FREE_LINKS	48u	/* at the start of a free chunk: struct malloc_chunk */
#define FREE_TOP_LEAST	33u	/* of the top: MINSIZE, and a byte */

struct page_runs;

enum free_kept {
	FREE_TRIMMED,
	FREE_PINNED,
	FREE_END,
	FREE_CACHED,
	FREE_HEADER,
	FREE_KEPTS,
};

/* All in bytes, but for pages. */
struct free_sum {
	uint64_t bytes;			/* free: in bins, fastbins and top, resident or not */
	uint64_t resident;		/* of them; the sum of the next ones */
	uint64_t kept[FREE_KEPTS];
	uint64_t pinned_pages;
	uint64_t cached, cached_resident;	/* in threads' caches */
};

struct free_space {
	VEC(struct free_sum) arenas;	/* by number, as in the walk */
	struct free_sum all;
	uint64_t huge_page;		/* as in the walk */
};

#define FREE_SPACE_INIT	{ .arenas = VEC_INIT }

/* A resident page that has live blocks and free bytes on it; or a slab. */
struct pinned_page {
	uint64_t address;
	uint64_t pages;
	uint64_t bytes;			/* free and resident */
	const struct heap_chunk *live;	/* at least one, in order of address */
	size_t nr_live;
};

struct free_space_source {
	const struct heap_walk *walk;
	/* of the walk's spans (but for mapped blocks), at the moment of the walk (os/page_runs.h) */
	const struct page_runs *pages;
	uint64_t brk;		/* where [heap] ends; 0: there is none */
	/* Is this live block to be taken as free? For what would be if it was. NULL: none is. */
	bool (*gone)(void *ctx, const struct heap_chunk *chunk);
	/* Called for each such page, in order of address; NULL: for none. An error ends it. */
	struct err *(*pinned)(void *ctx, const struct pinned_page *page);
	void *ctx;
};

/* *ret is empty before, and the caller frees it, also after an error. ERR_NOMEM. */
struct err *free_space_add_up(const struct free_space_source *source,
			      struct free_space *ret) MUST_CHECK;
void free_space_free(struct free_space *space);
