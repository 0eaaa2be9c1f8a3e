/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory that glibc's allocator has, while the target runs (heap_walk.h). */

#include "base/page.h"
#include "heap/glibc/glibc.h"
#include "log/log.h"

#define TRIES	3u

/* Heaps but the main ones are aligned, and what they have not used yet is reserved behind them. */
static struct heap_range range_of(const struct glibc *glibc, const struct heap_span *span)
{
	uint64_t max = glibc->layout.heap_max;
	struct heap_range range = {
		.start = ALIGN_DOWN(span->start, PAGE),
		.end = ALIGN_UP(span->end, PAGE),
		.mapped = span->heap == LOG_HEAP_MMAP,
	};

	if (!range.mapped && !glibc_is_main(glibc, span->heap) && max) {
		range.start = ALIGN_DOWN(span->start, max);
		range.end = range.start + max;
	}
	return range;
}

COMPARE_BY(by_start, struct heap_range, x, x->start)

static struct err *find(struct glibc *glibc, struct heap_ranges *ranges)
{
	struct err *err = glibc_layout_arenas(glibc);

	if (!err)
		err = glibc_layout_spans(glibc);
	if (!err)
		err = glibc_mapped_find(glibc);
	for (size_t i = 0; i < glibc->walk->spans.nr && !err; i++)
		err = vec_push(&ranges->vec, range_of(glibc, &glibc->walk->spans.at[i]));
	return err;
}

/* Has malloc mapped or unmapped a block since its sums were read? */
static bool sums_changed(struct glibc *glibc)
{
	struct heap_walk *walk = glibc->walk, now = HEAP_WALK_INIT;

	glibc->walk = &now;
	glibc_sums_find_mapped(glibc);
	glibc->walk = walk;
	return now.mmapped_known != walk->mmapped_known || now.mmapped != walk->mmapped ||
	       now.mmapped_bytes != walk->mmapped_bytes;
}

/* again_ret: the heaps changed meanwhile, so another look may find all. */
static struct err *look(const struct heap_source *source, struct window *window,
			struct heap_ranges *ranges, bool *again_ret)
{
	struct heap_walk walk = HEAP_WALK_INIT;
	struct glibc glibc = { .source = source, .walk = &walk, .window = *window,
			       .running = true };
	struct err *err = find(&glibc, ranges);

	if (!err && source->free_ns)
		glibc_free_look(&glibc, source->free_ns, &ranges->free);
	ranges->whole = !err && walk.mmapped_certain && !heap_walk_all_damage(&walk);
	*again_ret = !err && !ranges->whole && sums_changed(&glibc);
	heap_walk_free(&walk);
	return err;
}

struct err *glibc_ranges(const struct heap_source *source, struct heap_ranges *ret)
{
	struct window window = { .memory = source->memory, .bytes = malloc(WINDOW_BYTES) };
	struct heap_ranges ranges = { .vec = VEC_INIT };
	struct err *err = window.bytes ? NULL : err_nomem;
	bool again = true;

	for (unsigned i = 0; i < TRIES && again && !err; i++) {
		vec_clear(&ranges.vec);
		err = look(source, &window, &ranges, &again);
	}
	free(window.bytes);
	if (err && err->code == ERR_NOTFOUND) {
		err_ignore(err);
		err = NULL;
	}
	if (err) {
		heap_ranges_free(&ranges);
		return err;
	}
	vec_sort(&ranges.vec, by_start);
	*ret = ranges;
	return NULL;
}

void heap_ranges_free(struct heap_ranges *ranges)
{
	vec_free(&ranges->vec);
}
