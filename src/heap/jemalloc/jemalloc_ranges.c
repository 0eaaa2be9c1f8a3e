/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where jemalloc's heaps are, and what is free in them, while the process runs (heap_walk.h). */

#include <stdlib.h>
#include <time.h>

#include "base/page.h"
#include "heap/jemalloc/jemalloc.h"

struct ranges {
	struct jemalloc jemalloc;	/* first, as extents are given by it */
	struct heap_ranges *ret;
	uint64_t until;			/* of the clock, for what is free; 0: it is not looked for */
};

static uint64_t now(void)
{
	struct timespec is;

	clock_gettime(CLOCK_MONOTONIC, &is);
	return (uint64_t)is.tv_sec * 1000000000 + (uint64_t)is.tv_nsec;
}

/* What is resident of a slab, and is no block's, is free: blocks that are held were written to. */
static void add_free(struct ranges *ranges, const struct jemalloc_extent *extent)
{
	const struct heap_source *source = ranges->jemalloc.source;
	struct heap_free *free = &ranges->ret->free;
	uint64_t resident, used;

	if (!ranges->until || !free->whole || (extent->state == JEMALLOC_ACTIVE && !extent->slab))
		return;
	free->whole = now() < ranges->until;
	resident = source->resident ? source->resident(source->ctx, extent->base,
						       extent->base + extent->pages) : extent->pages;
	if (extent->state != JEMALLOC_ACTIVE) {
		free->listed += resident;
		free->trimmed += resident;
		return;
	}
	used = extent->pages - MIN(extent->pages, extent->free * extent->size);
	free->listed += resident - MIN(resident, used);
}

static struct err *add_range(struct heap_ranges *ret, uint64_t start, uint64_t end)
{
	struct heap_range *last = ret->vec.nr ? &ret->vec.at[ret->vec.nr - 1] : NULL;

	if (last && start < last->end)
		return NULL;
	if (last && last->end == start) {
		last->end = end;
		return NULL;
	}
	return vec_push(&ret->vec, ((struct heap_range){ start, end, false }));
}

static struct err *add_extent(struct jemalloc *jemalloc, const struct jemalloc_extent *extent)
{
	struct ranges *ranges = (struct ranges *)jemalloc;
	struct err *err = add_range(ranges->ret, extent->base, extent->base + extent->pages);

	if (!err && extent->state != JEMALLOC_RETAINED)
		add_free(ranges, extent);
	return err;
}

COMPARE_BY(by_start, struct heap_range, x, x->start)

static struct err *find(struct ranges *ranges)
{
	struct jemalloc *jemalloc = &ranges->jemalloc;
	struct heap_ranges *ret = ranges->ret;
	struct err *err = jemalloc_extents_bases(jemalloc);

	jemalloc->looks = true;
	if (!err)
		err = jemalloc_extents_each(jemalloc, add_extent);
	for (size_t i = 0; i < jemalloc->bases.vec.nr && !err; i += 2)
		err = vec_push(&ret->vec, ((struct heap_range){ jemalloc->bases.vec.at[i],
								jemalloc->bases.vec.at[i + 1],
								false }));
	vec_sort(&ret->vec, by_start);
	return err;
}

struct err *jemalloc_ranges(const struct heap_source *source, struct heap_ranges *ret)
{
	struct heap_ranges found = { .vec = VEC_INIT };
	struct ranges ranges = {
		.jemalloc = { .source = source, .bare = BARE_WALK_INIT(source, NULL), .page = calloc(PAGES_KEPT,
							       sizeof(struct jemalloc_page)) },
		.ret = &found,
		.until = source->free_ns ? now() + source->free_ns : 0,
	};
	struct err *err = ranges.jemalloc.page ? jemalloc_root_find(&ranges.jemalloc) : err_nomem;

	found.free.known = found.free.whole = ranges.until;
	if (!err) {
		err = find(&ranges);
		found.whole = !err;
	}
	jemalloc_extents_free(&ranges.jemalloc);
	if (err && err->code != ERR_NOMEM)
		err = NULL;		/* there are none, or they are not all */
	if (err)
		heap_ranges_free(&found);
	else
		*ret = found;
	return err;
}
