/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Adds up free memory by what keeps its pages (free_space.h): one pass over the chunks, in order of
 * address, with one page at a time.
 *
 * A free chunk is [p, p + size) here, as malloc has it. A live block ends a word later, since it
 * reaches into the next chunk, and begins a word later: that is what it keeps on a page.
 */

#include "heap/free_space.h"

#include "base/page.h"
#include "heap/free_slabs.h"
#include "os/page_runs.h"

#define CHUNK_HEADER	16u
#define SPILL		8u	/* of a live block into the next chunk */

enum extent_of { EXTENT_LIVE, EXTENT_OPEN, EXTENT_TOP, EXTENT_CACHED, EXTENT_OWN };

/* A chunk, or free ones that are neighbours: malloc_trim makes them one. */
struct extent {
	enum extent_of of;
	uint64_t start, end;
	struct heap_chunk chunk;	/* the first one */
};

struct sweep {
	const struct free_space_source *source;
	struct free_space *ret;
	struct chunk_at at;
	struct heap_chunk next;		/* that was read, and is in no extent yet */
	bool has_next;
	size_t at_run;			/* of source->pages: they are asked for in order */
	/* The page that is added up: */
	bool any;
	uint64_t page;
	uint16_t heap;
	uint64_t open, end, cached;	/* bytes */
	bool own;			/* a cache, or a chunk of one, is on it */
	VEC(struct heap_chunk) live;
};

static bool read_chunk(struct sweep *sweep)
{
	const struct heap_walk *walk = sweep->source->walk;

	do
		sweep->has_next = heap_chunks_next(&walk->chunks, &sweep->at, &sweep->next);
	while (sweep->has_next && (sweep->next.heap >= walk->arenas.nr || sweep->next.bare));
	return sweep->has_next;
}

static enum extent_of extent_of(const struct sweep *sweep, const struct heap_chunk *chunk)
{
	const struct free_space_source *source = sweep->source;

	switch (chunk->kind) {
	case CHUNK_FAST:
	case CHUNK_FREE:
	case CHUNK_KEPT:
		return EXTENT_OPEN;
	case CHUNK_TOP:
		return EXTENT_TOP;
	case CHUNK_CACHED:
		return EXTENT_CACHED;
	case CHUNK_OWN:
		return EXTENT_OWN;
	}
	return source->gone && source->gone(source->ctx, chunk) ? EXTENT_OPEN : EXTENT_LIVE;
}

/* The next chunk, with all free neighbours behind it if it is free. */
static bool next_extent(struct sweep *sweep, struct extent *ret)
{
	enum extent_of of;

	if (!sweep->has_next)
		return false;
	*ret = (struct extent){
		.of = extent_of(sweep, &sweep->next),
		.start = sweep->next.address - CHUNK_HEADER,
		.end = sweep->next.address - CHUNK_HEADER + sweep->next.size,
		.chunk = sweep->next,
	};
	while (read_chunk(sweep) && ret->of == EXTENT_OPEN &&
	       sweep->next.heap == ret->chunk.heap &&
	       sweep->next.address - CHUNK_HEADER == ret->end) {
		of = extent_of(sweep, &sweep->next);
		if (of != EXTENT_OPEN && of != EXTENT_TOP)
			break;
		ret->of = of;
		ret->end += sweep->next.size;
	}
	return true;
}

/* How much of [start, end) is resident; all questions are in order of start. */
static uint64_t resident(struct sweep *sweep, uint64_t start, uint64_t end)
{
	return page_runs_between(sweep->source->pages, &sweep->at_run, start, end).resident;
}

static struct free_sum *sum_of(const struct sweep *sweep)
{
	return &sweep->ret->arenas.at[sweep->heap];
}

static struct err *end_page(struct sweep *sweep)
{
	const struct free_space_source *source = sweep->source;
	struct free_sum *sum = sum_of(sweep);
	const struct pinned_page page = {
		.address = sweep->page, .bytes = sweep->open, .pages = 1,
		.live = sweep->live.at, .nr_live = sweep->live.nr,
	};

	if (!sweep->any || !(sweep->open + sweep->end + sweep->cached) ||
	    !resident(sweep, sweep->page, sweep->page + PAGE))
		return NULL;
	sum->kept[FREE_END] += sweep->end;
	sum->cached_resident += sweep->cached;
	sum->kept[page.nr_live ? FREE_PINNED : sweep->own ? FREE_CACHED : FREE_HEADER] +=
		sweep->open;
	if (!page.nr_live || !page.bytes)
		return NULL;
	sum->pinned_pages++;
	return source->pinned ? source->pinned(source->ctx, &page) : NULL;
}

static struct err *turn_to(struct sweep *sweep, uint64_t address, uint16_t heap)
{
	uint64_t page = ALIGN_DOWN(address, PAGE);
	struct err *err;

	if (sweep->any && page == sweep->page)
		return NULL;
	err = end_page(sweep);
	sweep->any = true;
	sweep->page = page;
	sweep->heap = heap;
	sweep->open = sweep->end = sweep->cached = 0;
	sweep->own = false;
	vec_clear(&sweep->live);
	return err;
}

/* The pages between its first and its last are full of it. */
static struct err *add_live(struct sweep *sweep, const struct extent *extent)
{
	uint64_t first = extent->start + SPILL, last = extent->end + SPILL - 1;
	struct err *err = turn_to(sweep, first, extent->chunk.heap);

	if (!err)
		err = vec_push(&sweep->live, extent->chunk);
	if (err || ALIGN_DOWN(last, PAGE) == sweep->page)
		return err;
	err = turn_to(sweep, last, extent->chunk.heap);
	return err ? err : vec_push(&sweep->live, extent->chunk);
}

static bool reaches(const struct sweep *sweep, const struct extent *extent)
{
	const struct heap_arena *arena = &sweep->source->walk->arenas.at[extent->chunk.heap];

	return extent->of == EXTENT_OPEN ||
	       (extent->of == EXTENT_TOP && arena->brk && extent->end == sweep->source->brk);
}

/* The part of a free extent that malloc_trim gives back, resident or not. */
static void trimmed_part(const struct sweep *sweep, const struct extent *extent, uint64_t *start,
			 uint64_t *end)
{
	uint64_t size = extent->end - extent->start;

	*end = ALIGN_DOWN(extent->end, PAGE);
	*start = ALIGN_UP(extent->start + FREE_LINKS, PAGE);
	if (extent->of == EXTENT_TOP)
		*start = *end - ALIGN_DOWN(MAX(size, FREE_TOP_LEAST) - FREE_TOP_LEAST, PAGE);
	if (!reaches(sweep, extent))
		*start = *end;
}

/* The pages of an extent that nothing else is on: [start, end). */
static void add_whole_pages(struct sweep *sweep, const struct extent *extent, uint64_t start,
			    uint64_t end)
{
	struct free_sum *sum = &sweep->ret->arenas.at[extent->chunk.heap];
	uint64_t bytes = resident(sweep, start, end), from, to, trimmed = 0;

	if (extent->of == EXTENT_CACHED) {
		sum->cached_resident += bytes;
		return;
	}
	trimmed_part(sweep, extent, &from, &to);
	from = MAX(from, start);
	to = MIN(to, end);
	if (from < to)
		trimmed = resident(sweep, from, to);
	sum->kept[FREE_TRIMMED] += trimmed;
	sum->kept[reaches(sweep, extent) ? FREE_HEADER : FREE_END] += bytes - trimmed;
}

/* Add bytes of the extent that are on the sweep's page. */
static void add_to_page(struct sweep *sweep, const struct extent *extent, uint64_t bytes)
{
	if (extent->of == EXTENT_CACHED)
		sweep->cached += bytes;
	else if (reaches(sweep, extent))
		sweep->open += bytes;
	else
		sweep->end += bytes;
	sweep->own |= extent->of == EXTENT_CACHED;
}

static void add_bytes(struct sweep *sweep, const struct extent *extent)
{
	struct free_sum *sum = &sweep->ret->arenas.at[extent->chunk.heap];
	uint64_t bytes = extent->end - extent->start;

	if (extent->of == EXTENT_CACHED)
		sum->cached += bytes;
	else
		sum->bytes += bytes;
}

static struct err *add_free(struct sweep *sweep, const struct extent *extent)
{
	uint64_t behind = ALIGN_DOWN(extent->start, PAGE) + PAGE;
	uint64_t last = ALIGN_DOWN(extent->end, PAGE);
	struct err *err = turn_to(sweep, extent->start, extent->chunk.heap);

	if (err)
		return err;
	add_bytes(sweep, extent);
	add_to_page(sweep, extent, MIN(extent->end, behind) - extent->start);
	if (extent->end <= behind)
		return NULL;
	err = turn_to(sweep, behind, extent->chunk.heap);
	if (err)
		return err;
	add_whole_pages(sweep, extent, behind, last);
	if (extent->end == last)
		return NULL;
	err = turn_to(sweep, last, extent->chunk.heap);
	if (!err)
		add_to_page(sweep, extent, extent->end - last);
	return err;
}

/* What a thread's cache keeps of itself lies in one or two pages. */
static struct err *add_own(struct sweep *sweep, const struct extent *extent)
{
	struct err *err = turn_to(sweep, extent->start, extent->chunk.heap);

	sweep->own = true;
	if (!err)
		err = turn_to(sweep, extent->end - 1, extent->chunk.heap);
	sweep->own = true;
	return err;
}

static struct err *add_extent(struct sweep *sweep, const struct extent *extent)
{
	switch (extent->of) {
	case EXTENT_LIVE:
		return add_live(sweep, extent);
	case EXTENT_OWN:
		return add_own(sweep, extent);
	default:
		return add_free(sweep, extent);
	}
}

static void add_sum(struct free_sum *all, struct free_sum *sum)
{
	for (unsigned i = 0; i < FREE_KEPTS; i++) {
		sum->resident += sum->kept[i];
		all->kept[i] += sum->kept[i];
	}
	all->resident += sum->resident;
	all->bytes += sum->bytes;
	all->pinned_pages += sum->pinned_pages;
	all->cached += sum->cached;
	all->cached_resident += sum->cached_resident;
}

static struct err *sweep_chunks(struct sweep *sweep)
{
	struct extent extent;
	struct err *err = NULL;

	read_chunk(sweep);
	while (!err && next_extent(sweep, &extent))
		err = add_extent(sweep, &extent);
	return err ? err : end_page(sweep);
}

struct err *free_space_add_up(const struct free_space_source *source, struct free_space *ret)
{
	struct sweep sweep = { .source = source, .ret = ret, .at = heap_chunks_start() };
	size_t nr = source->walk->arenas.nr;
	struct err *err = vec_reserve(&ret->arenas, nr);

	if (err || !nr)
		return err;
	memset(ret->arenas.at, 0, nr * sizeof(*ret->arenas.at));
	ret->arenas.nr = nr;
	ret->huge_page = source->walk->huge_page;
	err = sweep_chunks(&sweep);
	vec_free(&sweep.live);
	if (!err)
		err = free_slabs_add_up(source, ret);
	for (size_t i = 0; i < nr; i++)
		add_sum(&ret->all, &ret->arenas.at[i]);
	return err;
}

void free_space_free(struct free_space *space)
{
	vec_free(&space->arenas);
}
