/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the pieces of glibc's main heap.
 *
 * It is made by sbrk, and in one piece as a rule. Where sbrk fails (something is mapped right
 * behind it, as node does by chance, or there is a limit) glibc maps a megabyte or more instead,
 * each time:
 *
 *	[heap]			made by sbrk, up to two fenceposts
 *	a mapping		as many as it takes, wherever the kernel had room, each up to two
 *	...			fenceposts at its end; neighbours are one mapping to the kernel
 *	the last		ends with top
 *
 * The arena's system_mem is the sum of all pieces. Those that are missing are searched for in
 * anonymous memory that no heap covers, by the fenceposts at the end of a page. A piece begins at
 * the first page before them from which sizes lead there.
 */

#include <inttypes.h>

#include "base/page.h"
#include "heap/glibc.h"

#define FENCEPOSTS	32u		/* two headers */
#define FENCEPOST	(CHUNK_HEADER | PREV_INUSE)
#define PAGES_MAX	(1u << 18)	/* pages that are looked at for the end of a piece */

static const struct heap_map *map_of(const struct heap_source *source, uint64_t address)
{
	size_t low = LOWER_BOUND(i, 0, source->nr_maps, source->map[i].end <= address);

	if (low < source->nr_maps && source->map[low].start <= address)
		return &source->map[low];
	return NULL;
}

struct err *glibc_add_span(struct glibc *glibc, uint64_t start, uint64_t end, size_t heap)
{
	return vec_push(&glibc->walk->spans,
			((struct heap_span){ start, end, (uint16_t)heap }));
}

uint64_t glibc_top_end(const struct glibc *glibc, const struct heap_arena *arena)
{
	const struct heap_map *map = map_of(glibc->source, arena->top);
	uint64_t size;

	if (!arena->top || !map || !glibc_peek(glibc, arena->top + 8, &size))
		return 0;
	size &= ~SIZE_FLAGS;
	if (size >= CHUNK_HEADER && size <= map->end - arena->top &&
	    (arena->top + size) % PAGE == 0)
		return arena->top + size;
	/* the block before it was written past its end */
	return map->brk ? map->end : ALIGN_UP(arena->top + CHUNK_HEADER, PAGE);
}

/*
 * Returns the start of a piece: the first page from which sizes lead to `goal`, or `goal` itself.
 */
static uint64_t first_page(struct glibc *glibc, uint64_t from, uint64_t goal)
{
	for (uint64_t page = from; page < goal; page += PAGE)
		if (glibc_leads_to(glibc, page, goal))
			return page;
	return goal;
}

/*
 * The mappings that sbrk has made, except the one that holds top. Other code may use parts of them.
 */
static struct err *brk_spans(struct glibc *glibc, const struct heap_map *with_top)
{
	struct err *err = NULL;

	for (size_t i = 0; i < glibc->source->nr_maps && !err; i++) {
		const struct heap_map *map = &glibc->source->map[i];

		if (!map->brk)
			continue;
		if (!glibc->sbrk_base)
			glibc->sbrk_base = map->start;
		if (map != with_top)
			err = glibc_add_span(glibc, ALIGN_UP(map->start, CHUNK_HEADER), map->end,
					     0);
	}
	return err;
}

struct err *glibc_main_spans(struct glibc *glibc)
{
	const struct heap_arena *arena = &glibc->walk->arenas.at[0];
	const struct heap_map *map = map_of(glibc->source, arena->top);
	uint64_t end = glibc_top_end(glibc, arena), base, start;
	struct err *err;

	if (!arena->top)
		return NULL;
	if (!end)
		return glibc_damage(glibc, (struct heap_damage){
					.address = arena->address + glibc->layout.top },
				    "the top of the heap is no chunk");
	base = end - MIN(arena->system_mem, end);
	start = ALIGN_UP(base, CHUNK_HEADER);
	/*
	 * In a mapping that sbrk has not made, something else may lie system_mem before the end of
	 * top.
	 */
	if (start >= map->start && start <= arena->top &&
	    (map->brk || glibc_leads_to(glibc, start, arena->top))) {
		glibc->sbrk_base = base;
		return glibc_add_span(glibc, start, end, 0);
	}
	err = brk_spans(glibc, map);
	if (err)
		return err;
	start = map->brk ? ALIGN_UP(map->start, CHUNK_HEADER) :
			   first_page(glibc, map->start, arena->top);
	return glibc_add_span(glibc, start, end, 0);
}

struct look {
	struct glibc *glibc;
	size_t nr;		/* spans so far that are in order */
	uint64_t missing;	/* bytes */
	unsigned pages;		/* looked at */
};

static uint64_t missing_bytes(const struct glibc *glibc)
{
	const struct heap_walk *walk = glibc->walk;
	uint64_t bytes = walk->arenas.at[0].system_mem;

	for (size_t i = 0; i < walk->spans.nr; i++) {
		const struct heap_span *span = &walk->spans.at[i];

		if (!span->heap)
			bytes -= MIN(bytes, span->end - span->start);
	}
	return bytes;
}

static bool is_piece_end(const struct glibc *glibc, uint64_t end)
{
	uint64_t word[FENCEPOSTS / 8];

	return !memory_read(glibc->source->memory, end - FENCEPOSTS, word, sizeof(word)) &&
	       (word[1] & ~(uint64_t)PREV_INUSE) == CHUNK_HEADER && word[3] == FENCEPOST;
}

static struct err *take_piece(struct look *look, uint64_t from, uint64_t end)
{
	uint64_t goal = end - FENCEPOSTS, most = look->glibc->walk->arenas.at[0].system_mem;
	uint64_t first = MAX(from, end - MIN(ALIGN_DOWN(most, PAGE), end));
	uint64_t start = first_page(look->glibc, first, goal);

	/*
	 * If top was 16 bytes longer than the fenceposts, these bytes stay before them, and are no
	 * chunk.
	 */
	if (start == goal) {
		goal -= CHUNK_HEADER;
		start = first_page(look->glibc, first, goal);
	}
	if (start >= goal)
		return NULL;
	look->missing -= MIN(look->missing, end - start);
	return glibc_add_span(look->glibc, start, end, 0);
}

static struct err *look_in(struct look *look, const struct heap_map *map)
{
	uint64_t from = map->start, page = map->start;
	struct err *err = NULL;

	while (page < map->end && look->missing >= PAGE && !err) {
		if (glibc_skip_heap(look->glibc, look->nr, &page)) {
			from = page;
			continue;
		}
		if (look->pages++ > PAGES_MAX)
			break;
		page += PAGE;
		if (!is_piece_end(look->glibc, page))
			continue;
		err = take_piece(look, from, page);
		from = page;
	}
	return err;
}

struct err *glibc_main_pieces(struct glibc *glibc)
{
	const struct heap_source *source = glibc->source;
	struct look look = { .glibc = glibc, .nr = glibc->walk->spans.nr };
	const struct heap_arena *arena = &glibc->walk->arenas.at[0];
	const struct heap_map *first = map_of(source, arena->top);
	struct err *err = NULL;

	if (!first)
		return NULL;
	look.missing = missing_bytes(glibc);
	/* The kernel maps each one right below the last one, if it can. */
	if (!first->brk)
		err = look_in(&look, first);
	for (size_t i = 0; i < source->nr_maps && !err; i++)
		if (source->map[i].anonymous && !source->map[i].brk && &source->map[i] != first)
			err = look_in(&look, &source->map[i]);
	if (err || look.missing < PAGE)
		return err;
	return glibc_damage(glibc, (struct heap_damage){
				.address = arena->address + glibc->layout.system_mem },
			    "%" PRIu64 " bytes of the heap were not found", look.missing);
}
