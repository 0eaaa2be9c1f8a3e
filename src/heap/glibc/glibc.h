/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of glibc's walk (theory in heap_walk.h). */
#pragma once

#include "heap/heap_walk.h"

#define BINS		HEAP_BINS	/* pairs of words in malloc_state; number 0 is the unsorted one */
#define CHUNK_HEADER	16u
#define LINKS_MOST	(1u << 21)
#define LISTED_MOST	0x410u	/* the longest chunk of a fastbin, and mostly of a cache */
#define CHUNK_LEAST	32u	/* the smallest that can be given out */
#define PREV_INUSE	1u
#define IS_MMAPPED	2u
#define NON_MAIN_ARENA	4u
#define SIZE_FLAGS	7ull
#define ADDRESS_END	(1ull << 47)
#define WINDOW_BYTES	(1u << 20)
/* bytes of one of libc's mappings that are searched; those of a static program are large */
#define DATA_MAX	(64ull << 20)

/* Offsets in malloc_state, in bytes from its start. */
struct glibc_layout {
	uint32_t fastbins, nr_fastbins;
	uint32_t top, bins, next, system_mem, max_system_mem, state_len;
	/* alignment of heaps; 0: there was no other arena to learn it from */
	uint64_t heap_max;
};

enum linking { LINKING_UNKNOWN, LINKING_PLAIN, LINKING_SAFE };

/* Memory that is read from front to back, in large pieces. */
struct window {
	struct memory *memory;
	uint8_t *bytes;
	uint64_t start;
	size_t len;
};

/* What is known of one of the source's glibcs. */
struct glibc_libc {
	bool found;		/* it has arenas */
	bool brk;		/* it is the one that calls sbrk */
	uint64_t sbrk_base;	/* value that its mp_ must have; 0: not known */
};

struct glibc {
	const struct heap_source *source;
	struct heap_walk *walk;
	struct glibc_layout layout;
	struct window window;
	struct glibc_libc libc[HEAP_LIBCS_MAX];
	uint64_t huge_page;	/* hp_pagesize of an mp_; 0: none, or not known */
	uint32_t led;		/* chunks that glibc_walk_leads_to has looked at */
	/*
	 * First words of used blocks that may be links of a list, in order of address: lists go all
	 * over the heap, and a read for each of their links would take longer than the walk. A word
	 * that leads to no heap, masked or not, is no link. Their chunks have NOTE_LINKED. There
	 * are LINKS_MOST at most, as programs have pointers there, too; other links are read.
	 */
	VEC(uint64_t) links;
	/* for each run of chunks: how many links there are before its first chunk */
	VEC(uint32_t) run_links;
	enum linking linking;
	/* The target runs, and its memory is only looked at: no long search (glibc_ranges). */
	bool running;
};

/*
 * mmapped_mem grows by 16 too much with each mremap of a mapped chunk, and never shrinks again
 * (2.43 and 2.44; mremap_chunk subtracts the length that is in the chunk, which is 16 less than the
 * mapping).
 */
static inline bool glibc_sum_drifts(const struct glibc *glibc)
{
	return !glibc->layout.nr_fastbins;
}

/* Does this heap consist of the pieces of a main arena? */
static inline bool glibc_is_main(const struct glibc *glibc, size_t heap)
{
	return heap < glibc->walk->arenas.nr && glibc->walk->arenas.at[heap].main;
}

/* Find the main arenas and all others; walk->arenas has them then. */
struct err *glibc_layout_arenas(struct glibc *glibc) MUST_CHECK;
/* The spans of all arenas, in order of address, and what glibc_sums_find_mapped finds. */
struct err *glibc_layout_spans(struct glibc *glibc) MUST_CHECK;
/* Of one of several glibcs: is the sbrk_base of its mp_ in memory that sbrk has made? */
bool glibc_sums_has_brk_base(const struct glibc *glibc, size_t libc);
/* Read n_mmaps, mmapped_mem and hp_pagesize, if the mp_ of all glibcs are found. */
void glibc_sums_find_mapped(struct glibc *glibc);

/*
 * The end of the arena's top chunk, which is always the end of a page; 0: there is none. If its
 * size is damaged, the end is taken from the mapping: all that sbrk has got, else the rest of a
 * page.
 */
uint64_t glibc_pieces_top_end(const struct glibc *glibc, const struct heap_arena *arena);
struct err *glibc_pieces_add_span(struct glibc *glibc, uint64_t start, uint64_t end,
				  size_t heap) MUST_CHECK;
/* The source's map that address is in, or NULL. */
const struct heap_map *glibc_pieces_map_of(const struct heap_source *source, uint64_t address);
/*
 * Move *page to the next page below `end` that may have been written. At the first call *part_end
 * is 0. False: there is none.
 */
bool glibc_pieces_next_written(const struct glibc *glibc, uint64_t end, uint64_t *page,
			       uint64_t *part_end);
/* Add the spans of a main heap: all of it, or the piece that has top and the pieces made by brk. */
struct err *glibc_pieces_main_spans(struct glibc *glibc, size_t heap) MUST_CHECK;
/*
 * Add the other pieces of all main heaps. The spans that were found so far must be in order of
 * address.
 */
struct err *glibc_pieces_main(struct glibc *glibc) MUST_CHECK;

/* Read one word from anywhere, without the window. */
bool glibc_walk_peek(const struct glibc *glibc, uint64_t address, uint64_t *ret);
/* Read one word through the window; false: it cannot be read. */
bool glibc_walk_word(struct glibc *glibc, uint64_t address, uint64_t *ret);
/* Note damage; fmt describes it. If it has no doubt of its own, it gets that of its heap. */
struct err *glibc_walk_damage(struct glibc *glibc, struct heap_damage damage, const char *fmt,
			      ...) PRINTF(3, 4) MUST_CHECK;
/* Find the doubt of damage in each arena; all arenas must be known. */
void glibc_doubt_arenas(struct glibc *glibc);
struct heap_doubt glibc_doubt_heap(const struct glibc *glibc, uint16_t heap);
/* Returns the doubt of the heap that holds address; the spans are in order. */
struct heap_doubt glibc_doubt_address(const struct glibc *glibc, uint64_t address);
/* Returns the doubt of data that any thread inside may be changing. */
struct heap_doubt glibc_doubt_any(const struct glibc *glibc);
/* Returns the doubt of the lists of a cache; tp is its thread's thread pointer. */
struct heap_doubt glibc_doubt_cache(const struct glibc *glibc, uint64_t tp);

/* Does walking by sizes from chunk `at` come to `goal` exactly? All calls together are bounded. */
bool glibc_walk_leads_to(struct glibc *glibc, uint64_t at, uint64_t goal);

/*
 * If one of the first nr_heaps spans, which are in order of address, begins in the page or covers
 * it, move *page behind that heap. False: none does.
 */
bool glibc_mapped_skip_heap(const struct glibc *glibc, size_t nr_heaps, uint64_t *page);
/* Add the chunks that are mappings of their own: a span each. */
struct err *glibc_mapped_find(struct glibc *glibc) MUST_CHECK;

/*
 * Mark the chunks that look used but are in a fastbin or a thread's cache, and the caches
 * themselves.
 */
struct err *glibc_lists_mark(struct glibc *glibc) MUST_CHECK;

/* Check all links of all bins. */
struct err *glibc_bins_check(struct glibc *glibc) MUST_CHECK;
/* Add up the lists and the heaps of all arenas: walk->lists. */
struct err *glibc_bins_add_up(struct glibc *glibc) MUST_CHECK;
/* Add up the heaps of an arena that is not the main one. */
void glibc_layout_add_heaps(const struct glibc *glibc, const struct heap_arena *arena,
			    struct heap_lists *lists);

/* What is free in the arenas, whose spans are known; it reads their lists for so long at most. */
void glibc_free_look(struct glibc *glibc, uint64_t budget_ns, struct heap_free *ret);
