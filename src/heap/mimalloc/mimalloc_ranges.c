/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where mimalloc's heap is, and what is free in it, while the process runs (heap_walk.h). Segments
 * and pages say that; no list is followed.
 */

#include <time.h>

#include "base/compiler.h"
#include "heap/mimalloc/mimalloc.h"
#include "os/procfs.h"

struct ranges {
	struct mimalloc *mimalloc;
	struct heap_ranges *ret;
	uint64_t until;			/* of the clock, for what is free; 0: it is not looked for */
};

static struct err *add_range(struct heap_ranges *ranges, uint64_t start, uint64_t end, bool mapped)
{
	struct heap_range *last = ranges->vec.nr ? &ranges->vec.at[ranges->vec.nr - 1] : NULL;

	if (!last || last->end != start || last->mapped || mapped)
		return vec_push(&ranges->vec, ((struct heap_range){ start, end, mapped }));
	last->end = end;
	return NULL;
}

static uint64_t resident_of(const struct ranges *ranges, uint64_t start, uint64_t bytes)
{
	const struct heap_source *source = ranges->mimalloc->bare.source;

	return source->resident ? source->resident(source->ctx, start, start + bytes) : bytes;
}

/* The slices of a page; of those that no page has, what was used before and is kept. */
static struct err *add_page(struct ranges *ranges, const struct mi_page *page)
{
	bool in_use = mimalloc_page_in_use(&ranges->mimalloc->layout, page);
	uint64_t start = page->start;
	struct err *err = NULL;

	for (uint32_t i = 0; i < page->slices && !err; i++, start += SLICE)
		if (in_use || resident_of(ranges, start, SLICE))
			err = add_range(ranges->ret, start, start + SLICE, false);
	return err;
}

static struct err *add_segment(struct ranges *ranges, uint32_t nr, size_t *page)
{
	const struct mi_segment *segment = &ranges->mimalloc->segments.at[nr];
	uint64_t len = (segment->huge ? segment->slices : segment->info) * SLICE;
	const struct mi_page *at = ranges->mimalloc->pages.at;
	struct err *err = add_range(ranges->ret, segment->start, segment->start + len,
				    segment->huge);

	for (; !err && *page < ranges->mimalloc->pages.nr && at[*page].segment == nr; ++*page)
		if (!segment->huge)
			err = add_page(ranges, &at[*page]);
	return err;
}

/* What is resident of a page, and in no block that counts as used. */
static void add_free(struct ranges *ranges, const struct mi_page *page)
{
	const struct mimalloc *mimalloc = ranges->mimalloc;
	struct heap_free *free = &ranges->ret->free;
	uint64_t resident, used = 0;

	if (!ranges->until || !free->whole || mimalloc->segments.at[page->segment].huge)
		return;
	free->whole = procfs_clock(CLOCK_MONOTONIC) < ranges->until;
	resident = resident_of(ranges, page->start, page->slices * SLICE);
	if (mimalloc_page_in_use(&mimalloc->layout, page)) {
		struct mi_numbers numbers;

		mimalloc_page_numbers(&mimalloc->layout, page, &numbers);
		used = numbers.used * numbers.size;
	}
	free->listed += resident - MIN(resident, used);
}

struct err *mimalloc_ranges(const struct heap_source *source, struct heap_ranges *ret)
{
	struct heap_ranges found = { .vec = VEC_INIT };
	struct mimalloc mimalloc;
	struct ranges ranges = {
		.mimalloc = &mimalloc, .ret = &found,
		.until = source->free_ns ? procfs_clock(CLOCK_MONOTONIC) + source->free_ns : 0,
	};
	struct err *err = mimalloc_walk_open(&mimalloc, source);
	size_t page = 0;

	found.whole = !err && !heap_walk_all_damage(&mimalloc.walk);
	found.free.known = found.free.whole = !err && ranges.until;
	if (err && err->code != ERR_NOMEM) {
		mimalloc.segments.nr = 0;	/* there are none */
		err = NULL;
	}
	for (uint32_t i = 0; i < mimalloc.segments.nr && !err; i++)
		err = add_segment(&ranges, i, &page);
	vec_each_while(at, &mimalloc.pages, !err && found.free.known)
		add_free(&ranges, at);
	/* What mi_collect gives back of it is not foretold: it depends on the thread that calls it. */
	found.free.whole = false;
	mimalloc_walk_close(&mimalloc);
	if (err)
		heap_ranges_free(&found);
	else
		*ret = found;
	return err;
}
