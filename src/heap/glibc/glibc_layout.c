/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds glibc's arenas and heaps and the layout of its structures: all of it is derived and
 * checked.
 */

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/glibc/glibc.h"

/* bins that do not fit, in an arena that is accepted nevertheless */
#define BAD_BINS	8u
#define HEAPS_OF_ARENA	(1u << 20)

/* The words from the first bin on: 254 of bins, binmap[4] of 32 bits, and then these: */
#define WORD_NEXT	256u
#define WORD_SYSTEM	259u
#define WORD_MAX_SYSTEM	260u
#define BIN_WORDS	261u

/*
 * malloc_state before its bins: mutex, flags, have_fastchunks (2.27 to 2.42), ten fastbins (up to
 * 2.42), top and last_remainder.
 */
static const struct glibc_layout layouts[] = {
	{ .fastbins = 16, .nr_fastbins = 10, .top = 96, .bins = 112 },
	{ .fastbins = 8, .nr_fastbins = 10, .top = 88, .bins = 104 },
	{ .nr_fastbins = 0, .top = 8, .bins = 24 },
};

static const uint32_t heap_infos[] = { 48, 32 };	/* from 2.35 on, and before */

static bool plausible_pointer(uint64_t address)
{
	return address && address < ADDRESS_END && address % CHUNK_HEADER == 0;
}

/* Could the words be bins, the first of which is at address? */
static bool are_bins(const uint64_t *word, uint64_t address)
{
	unsigned empty = 0, bad = 0;

	for (unsigned i = BINS; i-- > 0 && bad <= BAD_BINS;) {
		uint64_t self = address + i * 16 - CHUNK_HEADER, fd = word[2 * i],
			 bk = word[2 * i + 1];

		if (fd == self && bk == self)
			empty++;
		else
			bad += fd == self || bk == self || !plausible_pointer(fd) ||
			       !plausible_pointer(bk);
	}
	return empty && bad <= BAD_BINS;
}

static struct err *add_arena(struct glibc *glibc, uint64_t address)
{
	const struct glibc_layout *layout = &glibc->layout;
	struct heap_arena arena = { .address = address };
	uint64_t mutex = 0;

	if (!glibc_walk_peek(glibc, address, &mutex) ||
	    !glibc_walk_peek(glibc, address + layout->top, &arena.top) ||
	    !glibc_walk_peek(glibc, address + layout->system_mem, &arena.system_mem) ||
	    !glibc_walk_peek(glibc, address + layout->max_system_mem, &arena.max_system_mem))
		return err_create(ERR_MEMORY, "cannot read the arena at 0x%" PRIx64,
				  address);
	arena.locked = (uint32_t)mutex;
	if (arena.top == address + layout->bins - CHUNK_HEADER)
		/* top points to the unsorted bin as long as nothing was allocated */
		arena.top = 0;
	arena.bins_end = address + layout->state_len;
	return vec_push(&glibc->walk->arenas, arena);
}

/* Number the oldest first: glibc inserts a new arena right behind the main one, `first`. */
static void number_arenas(struct heap_walk *walk, size_t first)
{
	for (size_t i = first + 1, j = walk->arenas.nr - 1; i < j; i++, j--) {
		struct heap_arena arena = walk->arenas.at[i];

		walk->arenas.at[i] = walk->arenas.at[j];
		walk->arenas.at[j] = arena;
	}
}

/* Read the arena at *at, and move to the next one. */
static struct err *add_next(struct glibc *glibc, uint64_t *at)
{
	struct err *err = add_arena(glibc, *at);
	uint64_t next;

	if (err)
		return err;
	if (!glibc_walk_peek(glibc, *at + glibc->layout.next, &next) || next % 8 || !next)
		return err_create(ERR_MEMORY, "no arena");
	*at = next;
	return NULL;
}

/* Add all arenas, if `next` leads back to the one at main with this layout. */
static bool follow_ring(struct glibc *glibc, uint64_t main, struct err **err_ret)
{
	struct heap_walk *walk = glibc->walk;
	size_t first = walk->arenas.nr;
	struct err *err;
	uint64_t at = main;

	do
		err = add_next(glibc, &at);
	while (!err && at != main && walk->arenas.nr < HEAPS_MAX);
	if (!err && at == main) {
		number_arenas(walk, first);
		walk->arenas.at[first].main = true;
		return true;
	}
	walk->arenas.nr = first;
	if (err && err->code != ERR_MEMORY)
		*err_ret = err;
	return false;
}

static void set_layout(struct glibc_layout *layout, const struct glibc_layout *of)
{
	*layout = *of;
	layout->next = layout->bins + WORD_NEXT * 8;
	layout->system_mem = layout->bins + WORD_SYSTEM * 8;
	layout->max_system_mem = layout->bins + WORD_MAX_SYSTEM * 8;
	layout->state_len = layout->bins + BIN_WORDS * 8;
}

/* Is there an arena whose bins begin at address? The glibcs of a process have one layout. */
static bool try_bins(struct glibc *glibc, const struct heap_libc *libc, uint64_t address,
		     struct err **err_ret)
{
	bool known = glibc->walk->arenas.nr;

	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		uint64_t main = address - layouts[i].bins;

		if ((libc->main_arena && libc->main_arena != main) ||
		    (known && layouts[i].bins != glibc->layout.bins))
			continue;
		set_layout(&glibc->layout, &layouts[i]);
		if (follow_ring(glibc, main, err_ret) || *err_ret)
			return true;
	}
	return false;
}

/*
 * Is there, at address, what would be the bins of a main arena as libc's file has it? They are
 * zeros until the first allocation, and the arena is a ring of its own.
 */
static bool are_unused_bins(const uint64_t *word, uint64_t address)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (word[WORD_NEXT] != address - layouts[i].bins)
			continue;
		for (unsigned j = 0; j < 2 * BINS; j++)
			if (word[j])
				return false;
		return true;
	}
	return false;
}

enum search_found { FOUND_NOTHING, FOUND_UNUSED, FOUND_ARENAS };

static enum search_found search(struct glibc *glibc, const struct heap_libc *libc,
				const struct heap_map *map, struct err **err_ret)
{
	uint64_t len = MIN(map->end - map->start, DATA_MAX);
	AUTO_FREE uint64_t *word = malloc(len);
	enum search_found found = FOUND_NOTHING;
	size_t nr = len / 8;

	if (!word)
		*err_ret = err_nomem;
	if (!word || !memory_read_holes(glibc->source->memory, map->start, word, len))
		return FOUND_NOTHING;
	for (size_t i = 0; i + BIN_WORDS <= nr; i++) {
		uint64_t address = map->start + i * 8;

		if (are_bins(&word[i], address) && try_bins(glibc, libc, address, err_ret))
			return FOUND_ARENAS;
		if (are_unused_bins(&word[i], address))
			found = FOUND_UNUSED;
	}
	return found;
}

static struct err *find_arenas_of(struct glibc *glibc, uint16_t number)
{
	const struct heap_libc *libc = &glibc->source->libc[number];
	struct heap_walk *walk = glibc->walk;
	enum search_found found = FOUND_NOTHING;
	size_t first = walk->arenas.nr;
	struct err *err = NULL;

	for (size_t i = 0; i < libc->nr_data && found != FOUND_ARENAS && !err; i++)
		found = MAX(found, search(glibc, libc, &libc->data[i], &err));
	for (size_t i = first; i < walk->arenas.nr; i++)
		walk->arenas.at[i].libc = number;
	glibc->libc[number].found = walk->arenas.nr > first;
	if (found == FOUND_NOTHING)
		walk->unknown_libcs |= 1u << number;
	return err;
}

/* The glibc whose main heap is made by sbrk; nr_libcs: none is. */
static size_t find_brk_libc(const struct glibc *glibc)
{
	const struct heap_source *source = glibc->source;

	if (source->nr_libcs == 1)
		return 0;
	vec_each(arena, &glibc->walk->arenas) {
		const struct heap_map *map = glibc_pieces_map_of(source, arena->top);

		if (arena->main && map && map->brk)
			return arena->libc;
	}
	for (size_t i = 0; i < source->nr_libcs; i++)
		if (glibc->libc[i].found && glibc_sums_has_brk_base(glibc, i))
			return i;
	return source->nr_libcs;
}

/* Move the arenas of this glibc to the front; the order stays otherwise. */
static struct err *put_first(struct heap_walk *walk, size_t libc)
{
	size_t nr = walk->arenas.nr, to = 0;
	AUTO_FREE struct heap_arena *sorted = malloc(nr * sizeof(*sorted));

	if (!sorted)
		return err_nomem;
	for (unsigned pass = 0; pass < 2; pass++)
		vec_each(arena, &walk->arenas) {
			if ((arena->libc == libc) == !pass)
				sorted[to++] = *arena;
		}
	memcpy(walk->arenas.at, sorted, nr * sizeof(*sorted));
	return NULL;
}

struct err *glibc_layout_arenas(struct glibc *glibc)
{
	const struct heap_source *source = glibc->source;
	struct heap_walk *walk = glibc->walk;
	struct err *err = NULL;
	size_t brk;

	for (size_t i = 0; i < source->nr_libcs && !err; i++)
		err = find_arenas_of(glibc, (uint16_t)i);
	if (err)
		return err;
	if (!walk->arenas.nr)
		return err_create(ERR_NOTFOUND,
				  "glibc's heap cannot be walked: libc's data has no arena (nothing "
				  "was allocated from it, or its layout is not known)");
	brk = find_brk_libc(glibc);
	if (brk < source->nr_libcs) {
		glibc->libc[brk].brk = true;
		err = put_first(walk, brk);
	}
	vec_each(arena, &walk->arenas)
		arena->brk = arena->main && arena->libc == brk;
	return err;
}

struct heap_info {
	uint64_t arena, prev, size, writable;
};

static bool read_info(const struct glibc *glibc, uint64_t heap, struct heap_info *ret)
{
	return !memory_read(glibc->source->memory, heap, ret, sizeof(*ret));
}

/* Is this heap of an arena the one that its top is in? */
static bool has_top(const struct glibc *glibc, uint64_t heap, const struct heap_arena *arena,
		    uint64_t max)
{
	struct heap_info info;

	return read_info(glibc, heap, &info) && info.size <= max && arena->top - heap < info.size;
}

/* Does prev lead from this heap to the first one? */
static bool heap_chain(const struct glibc *glibc, uint64_t heap, uint64_t first, uint64_t arena,
		       uint64_t max)
{
	struct heap_info info;

	for (unsigned i = 0; i < HEAPS_OF_ARENA && heap % max == 0; i++) {
		if (!read_info(glibc, heap, &info) || info.arena != arena)
			return false;
		if (heap == first)
			return true;
		heap = info.prev;
	}
	return false;
}

/* Returns the first heap of an arena that follows its heap_info; 0: neither length fits. */
static uint64_t first_heap(const struct glibc *glibc, const struct heap_arena *arena,
			   uint32_t *len_ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(heap_infos); i++) {
		uint64_t heap = arena->address - heap_infos[i];
		struct heap_info info;

		if (heap % 4096 || !read_info(glibc, heap, &info) || info.arena != arena->address)
			continue;
		*len_ret = heap_infos[i];
		return heap;
	}
	return 0;
}

static bool fits_heap_max(const struct glibc *glibc, const struct heap_arena *arena,
			  uint64_t first, uint64_t max)
{
	uint64_t last = arena->top & ~(max - 1);

	return has_top(glibc, last, arena, max) &&
	       heap_chain(glibc, last, first, arena->address, max);
}

/* Take max if more arenas fit it than what was tried before. True: all do. */
static bool try_heap_max(struct glibc *glibc, uint64_t max, size_t *most)
{
	const struct heap_walk *walk = glibc->walk;
	size_t nr = 0, fit = 0;

	vec_each(arena, &walk->arenas) {
		uint32_t len;
		uint64_t first = arena->main || !arena->top ? 0 : first_heap(glibc, arena, &len);

		nr += !!first;
		fit += first && fits_heap_max(glibc, arena, first, max);
	}
	if (fit > *most) {
		*most = fit;
		glibc->layout.heap_max = max;
	}
	return fit == nr;
}

/*
 * All heaps but the main one are aligned to heap_max, which is 64 MB, or four huge pages if the
 * process wants such (even if it has got none). As a single heap fits many lengths, all arenas are
 * asked for each.
 */
static void find_heap_max(struct glibc *glibc)
{
	size_t most = 0;

	if ((glibc->huge_page && try_heap_max(glibc, 4 * glibc->huge_page, &most)) ||
	    try_heap_max(glibc, 64ull << 20, &most))
		return;
	for (unsigned shift = 20; shift <= 36; shift++)
		if (try_heap_max(glibc, 1ull << shift, &most))
			return;
}

static struct err *heap_spans(struct glibc *glibc, size_t number)
{
	const struct heap_arena *arena = &glibc->walk->arenas.at[number];
	uint64_t first, heap;
	struct err *err = NULL;
	uint32_t len;

	first = first_heap(glibc, arena, &len);
	if (!first || !glibc->layout.heap_max ||
	    !fits_heap_max(glibc, arena, first, glibc->layout.heap_max))
		return glibc_walk_damage(glibc, (struct heap_damage){
					.heap = (uint16_t)number, .address = arena->address },
					 "the heaps of this arena were not found");
	heap = arena->top & ~(glibc->layout.heap_max - 1);
	for (;;) {
		uint64_t start = heap == first ? arena->address + glibc->layout.state_len :
						 heap + len;
		uint64_t end;
		struct heap_info info;

		/* It could be read when the chain was followed, but the target may run. */
		if (!read_info(glibc, heap, &info) || info.size > glibc->layout.heap_max)
			return glibc_walk_damage(glibc, (struct heap_damage){
						.heap = (uint16_t)number, .address = heap },
						 "this heap has no length");
		end = heap + info.size;
		/* Chunks are such that the blocks in them, behind the header, are aligned. */
		start = ALIGN_UP(start, CHUNK_HEADER);
		if (start < end)
			err = glibc_pieces_add_span(glibc, start, end, number);
		if (err || heap == first || glibc->walk->spans.nr > HEAPS_OF_ARENA)
			return err;
		heap = info.prev;
	}
}

COMPARE_BY(by_start, struct heap_span, x, x->start)

/* If spans overlap, one of them is wrong: the first one stays. */
static struct err *drop_overlaps(struct glibc *glibc)
{
	struct heap_walk *walk = glibc->walk;
	struct err *err = NULL;
	size_t to = 0;

	for (size_t i = 0; i < walk->spans.nr && !err; i++) {
		if (to && walk->spans.at[i].start < walk->spans.at[to - 1].end)
			err = glibc_walk_damage(glibc, (struct heap_damage){
						.heap = walk->spans.at[i].heap,
						.address = walk->spans.at[i].start },
						"this heap lies in another one");
		else
			walk->spans.at[to++] = walk->spans.at[i];
	}
	walk->spans.nr = to;
	return err;
}

static struct err *in_order(struct glibc *glibc)
{
	vec_sort(&glibc->walk->spans, by_start);
	return drop_overlaps(glibc);
}

struct err *glibc_layout_spans(struct glibc *glibc)
{
	struct heap_walk *walk = glibc->walk;
	struct err *err = NULL;

	for (size_t i = 0; i < walk->arenas.nr && !err; i++)
		if (walk->arenas.at[i].main)
			err = glibc_pieces_main_spans(glibc, i);
	if (err)
		return err;
	glibc_sums_find_mapped(glibc);
	find_heap_max(glibc);
	for (size_t i = 0; i < walk->arenas.nr && !err; i++)
		if (!walk->arenas.at[i].main && walk->arenas.at[i].top)
			err = heap_spans(glibc, i);
	if (!err)
		err = in_order(glibc);
	if (err)
		return err;
	err = glibc_pieces_main(glibc);
	return err ? err : in_order(glibc);
}

/* The chain is that of heap_spans, which has been followed once. */
void glibc_layout_add_heaps(const struct glibc *glibc, const struct heap_arena *arena,
			    struct heap_lists *lists)
{
	struct heap_info info = { .prev = glibc->layout.heap_max ?
					  ALIGN_DOWN(arena->top, glibc->layout.heap_max) : 0 };

	while (info.prev && lists->heaps < HEAPS_OF_ARENA) {
		if (!read_info(glibc, info.prev, &info) || info.arena != arena->address)
			break;
		lists->heaps++;
		lists->heap_bytes += info.size;
		lists->writable_bytes += info.writable;
	}
	lists->whole &= lists->heaps && !info.prev;
}
