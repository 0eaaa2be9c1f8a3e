/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the pieces of glibc's main heaps.
 *
 * A main heap is made by sbrk, and in one piece as a rule. Where sbrk fails (something is mapped
 * right behind it, as node does by chance, or there is a limit) glibc maps a megabyte or more
 * instead, each time:
 *
 *	[heap]			made by sbrk, up to two fenceposts
 *	a mapping		as many as it takes, wherever the kernel had room, each up to two
 *	...			fenceposts at its end; neighbours are one mapping to the kernel
 *	the last		ends with top
 *
 * A glibc that is not the process's first (heap_walk.h) never calls sbrk, so that all of its main
 * heap is mapped.
 *
 * The arena's system_mem is the sum of all pieces. Those that are missing are searched for in
 * anonymous memory that no heap covers, by the fenceposts at the end of a page. A piece begins at
 * the first page before them from which sizes lead there. Pages that were never written have
 * neither, and are passed over.
 *
 * If there are several glibcs, a piece may be another one's, or that of one that was unloaded, whose
 * memory stays. The list of a free chunk goes through a bin of its arena, which shows whose the
 * piece is. So these pieces are taken first. If some are still missing, those without a free chunk
 * are taken, each by the first heap that lacks as much.
 */

#include <inttypes.h>

#include "base/map.h"
#include "base/page.h"
#include "heap/glibc/glibc.h"

#define FENCEPOSTS	32u		/* two headers */
#define FENCEPOST	(CHUNK_HEADER | PREV_INUSE)
#define PAGES_MAX	(1u << 18)	/* pages that are looked at for the end of a piece */
/* The same while the target runs; 40 ms. */
#define PAGES_RUNNING	(1u << 13)
#define LIST_STEPS	(1u << 14)	/* chunks of lists that are read; each takes 5 us */

const struct heap_map *glibc_pieces_map_of(const struct heap_source *source, uint64_t address)
{
	size_t low = LOWER_BOUND(i, 0, source->nr_maps, source->map[i].end <= address);

	if (low < source->nr_maps && source->map[low].start <= address)
		return &source->map[low];
	return NULL;
}

struct err *glibc_pieces_add_span(struct glibc *glibc, uint64_t start, uint64_t end, size_t heap)
{
	return vec_push(&glibc->walk->spans,
			((struct heap_span){ start, end, (uint16_t)heap }));
}

uint64_t glibc_pieces_top_end(const struct glibc *glibc, const struct heap_arena *arena)
{
	const struct heap_map *map = glibc_pieces_map_of(glibc->source, arena->top);
	uint64_t size;

	if (!arena->top || !map || !glibc_walk_peek(glibc, arena->top + 8, &size))
		return 0;
	size &= ~SIZE_FLAGS;
	if (size >= CHUNK_HEADER && size <= map->end - arena->top &&
	    (arena->top + size) % PAGE == 0)
		return arena->top + size;
	/* the block before it was written past its end */
	return map->brk ? map->end : ALIGN_UP(arena->top + CHUNK_HEADER, PAGE);
}

bool glibc_pieces_next_written(const struct glibc *glibc, uint64_t end, uint64_t *page,
			       uint64_t *part_end)
{
	uint64_t start;

	if (*page >= *part_end) {
		if (!memory_next(glibc->source->memory, *page, end, &start, part_end))
			return false;
		*page = MAX(*page, ALIGN_DOWN(start, PAGE));
	}
	return *page < end;
}

/*
 * Returns the start of a piece: the first page from which sizes lead to `goal`, or `goal` itself.
 */
static uint64_t first_page(struct glibc *glibc, uint64_t from, uint64_t goal)
{
	uint64_t page = from, part_end = 0;

	for (; glibc_pieces_next_written(glibc, goal, &page, &part_end); page += PAGE)
		if (glibc_walk_leads_to(glibc, page, goal))
			return page;
	return goal;
}

/*
 * The mappings that sbrk has made, except the one that holds top. Other code may use parts of them.
 */
static struct err *brk_spans(struct glibc *glibc, const struct heap_map *with_top, size_t heap)
{
	struct glibc_libc *libc = &glibc->libc[glibc->walk->arenas.at[heap].libc];
	struct err *err = NULL;

	for (size_t i = 0; i < glibc->source->nr_maps && !err; i++) {
		const struct heap_map *map = &glibc->source->map[i];

		if (!map->brk)
			continue;
		if (!libc->sbrk_base)
			libc->sbrk_base = map->start;
		if (map != with_top)
			err = glibc_pieces_add_span(glibc, ALIGN_UP(map->start, CHUNK_HEADER),
						    map->end, heap);
	}
	return err;
}

struct err *glibc_pieces_main_spans(struct glibc *glibc, size_t heap)
{
	const struct heap_arena *arena = &glibc->walk->arenas.at[heap];
	const struct heap_map *map = glibc_pieces_map_of(glibc->source, arena->top);
	uint64_t end = glibc_pieces_top_end(glibc, arena), base, start;
	struct err *err;

	if (!arena->top)
		return NULL;
	if (!end)
		return glibc_walk_damage(glibc, (struct heap_damage){
					.heap = (uint16_t)heap,
					.address = arena->address + glibc->layout.top },
					 "the top of the heap is no chunk");
	base = end - MIN(arena->system_mem, end);
	start = ALIGN_UP(base, CHUNK_HEADER);
	/*
	 * In a mapping that sbrk has not made, something else may lie system_mem before the end of
	 * top.
	 */
	if (start >= map->start && start <= arena->top &&
	    (map->brk || glibc_walk_leads_to(glibc, start, arena->top))) {
		glibc->libc[arena->libc].sbrk_base = base;
		return glibc_pieces_add_span(glibc, start, end, heap);
	}
	err = arena->brk ? brk_spans(glibc, map, heap) : NULL;
	if (err)
		return err;
	start = map->brk ? ALIGN_UP(map->start, CHUNK_HEADER) :
			   first_page(glibc, map->start, arena->top);
	return glibc_pieces_add_span(glibc, start, end, heap);
}

/* A main heap that lacks pieces. */
struct lack {
	size_t heap;
	uint64_t missing;	/* bytes */
};

struct piece {
	uint64_t start, end;
};

struct look {
	struct glibc *glibc;
	size_t nr;		/* spans so far that are in order */
	VEC(struct piece) later;	/* found, but it is not known whose they are */
	struct map listed;		/* free chunk → struct lack of its heap, or elsewhere */
	struct lack elsewhere;
	VEC(uint64_t) passed;		/* chunks of the list that is followed */
	unsigned steps;			/* chunks of lists that were read */
	struct lack lack[HEAP_LIBCS_MAX];
	unsigned nr_lacks;
	unsigned pages;		/* looked at */
};

static uint64_t missing_bytes(const struct glibc *glibc, size_t heap)
{
	const struct heap_walk *walk = glibc->walk;
	uint64_t bytes = walk->arenas.at[heap].system_mem;

	for (size_t i = 0; i < walk->spans.nr; i++) {
		const struct heap_span *span = &walk->spans.at[i];

		if (span->heap == heap)
			bytes -= MIN(bytes, span->end - span->start);
	}
	return bytes;
}

static bool is_missing(const struct look *look)
{
	for (unsigned i = 0; i < look->nr_lacks; i++)
		if (look->lack[i].missing >= PAGE)
			return true;
	return false;
}

/*
 * Does a piece of a heap end here, with two fenceposts? The window is of use, as addresses go up,
 * and the walk reads most of these pages, too.
 */
static bool is_piece_end(struct glibc *glibc, uint64_t end)
{
	uint64_t word;

	return glibc_walk_word(glibc, end - FENCEPOSTS + 8, &word) &&
	       (word & ~(uint64_t)PREV_INUSE) == CHUNK_HEADER &&
	       glibc_walk_word(glibc, end - 8, &word) && word == FENCEPOST;
}

/* Returns the heap that the chunk or bin belongs to, or `elsewhere`; NULL: it is not known. */
static struct lack *known_heap(struct look *look, uint64_t chunk)
{
	for (unsigned i = 0; i < look->nr_lacks; i++) {
		const struct heap_arena *arena =
			&look->glibc->walk->arenas.at[look->lack[i].heap];

		if (chunk >= arena->address && chunk < arena->bins_end)
			return &look->lack[i];
	}
	return map_get(&look->listed, chunk);
}

/*
 * The heap, of those that lack pieces, whose bin the list of a free chunk leads to; elsewhere if it
 * leads back to the chunk, or to memory that is gone; or NULL. The chunks that are passed on the
 * way are noted, as many lists go through several pieces.
 */
static struct lack *by_list(struct look *look, uint64_t first)
{
	struct lack *lack = known_heap(look, first);
	uint64_t chunk = first;

	vec_clear(&look->passed);
	while (!lack && look->steps++ < LIST_STEPS) {
		if (vec_push(&look->passed, chunk))
			return NULL;
		if (!glibc_walk_peek(look->glibc, chunk + CHUNK_HEADER, &chunk) || chunk == first)
			lack = &look->elsewhere;
		else
			lack = known_heap(look, chunk);
	}
	/* Without memory for it, a list is read again. */
	for (size_t i = 0; lack && i < look->passed.nr; i++)
		err_ignore(map_put(&look->listed, look->passed.at[i], lack));
	return lack;
}

/* The heap of a piece by its free chunks, or elsewhere; NULL: it has none, or it is not known. */
static struct lack *by_lists(struct look *look, uint64_t start, uint64_t goal)
{
	uint64_t word, next, size;
	struct lack *found, *lack = NULL;

	for (uint64_t at = start; at < goal; at += size) {
		if (!glibc_walk_word(look->glibc, at + 8, &word))
			break;
		size = word & ~SIZE_FLAGS;
		/* They led there just now, but the target may run. */
		if (size < CHUNK_LEAST || size > goal - at ||
		    !glibc_walk_word(look->glibc, at + size + 8, &next))
			break;
		found = next & PREV_INUSE ? NULL : by_list(look, at);
		if (found && found != &look->elsewhere)
			return found;
		lack = found ? found : lack;
	}
	return lack;
}

static struct err *take_for(struct look *look, struct lack *lack, const struct piece *piece)
{
	lack->missing -= MIN(lack->missing, piece->end - piece->start);
	return glibc_pieces_add_span(look->glibc, piece->start, piece->end, lack->heap);
}

static struct err *find_piece(struct look *look, uint64_t from, uint64_t end)
{
	uint64_t goal = end - FENCEPOSTS, most = 0, first;
	struct piece piece = { .end = end };
	struct lack *lack;

	for (unsigned i = 0; i < look->nr_lacks; i++)
		most = MAX(most, look->glibc->walk->arenas.at[look->lack[i].heap].system_mem);
	first = MAX(from, end - MIN(ALIGN_DOWN(most, PAGE), end));
	piece.start = first_page(look->glibc, first, goal);
	/*
	 * If top was 16 bytes longer than the fenceposts, these bytes stay before them, and are no
	 * chunk.
	 */
	if (piece.start == goal) {
		goal -= CHUNK_HEADER;
		piece.start = first_page(look->glibc, first, goal);
	}
	if (piece.start >= goal)
		return NULL;
	lack = look->glibc->source->nr_libcs == 1 ? look->lack :
						    by_lists(look, piece.start, goal);
	if (lack == &look->elsewhere)
		return NULL;
	return lack ? take_for(look, lack, &piece) : vec_push(&look->later, piece);
}

/* The first heap that lacks as much, or else one that lacks some; NULL: none does. */
static struct lack *lack_of(struct look *look, const struct piece *piece)
{
	struct lack *some = NULL;

	for (unsigned i = look->nr_lacks; i-- > 0;)
		if (look->lack[i].missing >= PAGE &&
		    (!some || look->lack[i].missing >= piece->end - piece->start))
			some = &look->lack[i];
	return some;
}

static struct err *take_later(struct look *look)
{
	struct err *err = NULL;

	for (size_t i = 0; i < look->later.nr && !err; i++) {
		const struct piece *piece = &look->later.at[i];
		struct lack *lack = lack_of(look, piece);

		if (lack)
			err = take_for(look, lack, piece);
	}
	return err;
}

static struct err *look_in(struct look *look, const struct heap_map *map)
{
	uint64_t from = map->start, page = map->start, part_end = 0;
	struct err *err = NULL;

	while (!err && is_missing(look) &&
	       glibc_pieces_next_written(look->glibc, map->end, &page, &part_end)) {
		if (glibc_mapped_skip_heap(look->glibc, look->nr, &page)) {
			from = page;
			continue;
		}
		if (look->pages++ > (look->glibc->running ? PAGES_RUNNING : PAGES_MAX))
			break;
		page += PAGE;
		if (!is_piece_end(look->glibc, page))
			continue;
		err = find_piece(look, from, page);
		from = page;
	}
	return err;
}

/* The map with top of a heap that lacks pieces; NULL: sbrk has made it. */
static const struct heap_map *map_with_top(const struct look *look, unsigned i)
{
	const struct heap_walk *walk = look->glibc->walk;
	const struct heap_map *map = glibc_pieces_map_of(look->glibc->source,
							 walk->arenas.at[look->lack[i].heap].top);

	return map && !map->brk ? map : NULL;
}

static bool was_looked_in(const struct look *look, const struct heap_map *map, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		if (map_with_top(look, i) == map)
			return true;
	return false;
}

static struct err *look_everywhere(struct look *look)
{
	const struct heap_source *source = look->glibc->source;
	struct err *err = NULL;

	/* The kernel maps each one right below the last one, if it can. */
	for (unsigned i = 0; i < look->nr_lacks && !err; i++) {
		const struct heap_map *map = map_with_top(look, i);

		if (map && !was_looked_in(look, map, i))
			err = look_in(look, map);
	}
	for (size_t i = 0; i < source->nr_maps && !err; i++)
		if (source->map[i].anonymous && !source->map[i].brk &&
		    !was_looked_in(look, &source->map[i], look->nr_lacks))
			err = look_in(look, &source->map[i]);
	return err ? err : take_later(look);
}

static struct err *say_missing(struct glibc *glibc, const struct lack *lack)
{
	uint64_t arena = glibc->walk->arenas.at[lack->heap].address;

	if (lack->missing < PAGE)
		return NULL;
	return glibc_walk_damage(glibc, (struct heap_damage){
				.heap = (uint16_t)lack->heap,
				.address = arena + glibc->layout.system_mem },
				 "%" PRIu64 " bytes of the heap were not found", lack->missing);
}

struct err *glibc_pieces_main(struct glibc *glibc)
{
	struct look look = { .glibc = glibc, .nr = glibc->walk->spans.nr };
	struct err *err = NULL;

	for (size_t i = 0; i < glibc->walk->arenas.nr; i++) {
		const struct heap_arena *arena = &glibc->walk->arenas.at[i];
		uint64_t missing = arena->main && glibc_pieces_map_of(glibc->source, arena->top) ?
			missing_bytes(glibc, i) : 0;

		if (missing >= PAGE && look.nr_lacks < HEAP_LIBCS_MAX)
			look.lack[look.nr_lacks++] = (struct lack){ i, missing };
	}
	/* While the target runs, only pages that it is known to have touched are read. */
	if (!glibc->running || glibc->source->live)
		err = look_everywhere(&look);
	vec_free(&look.later);
	vec_free(&look.passed);
	map_free(&look.listed, NULL);
	for (unsigned i = 0; i < look.nr_lacks && !err; i++)
		err = say_missing(glibc, &look.lack[i]);
	return err;
}
