/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where tcmalloc's heap is, and what is free in it, while the process runs (heap_walk.h). Its
 * spans say that, and no list is followed. One that is changing is passed over.
 */

#include <time.h>

#include "base/compiler.h"
#include "base/page.h"
#include "heap/tcmalloc/tcmalloc.h"
#include "os/procfs.h"

struct ranges {
	const struct heap_source *source;
	struct heap_ranges *ret;
	uint64_t until;		/* of the clock, for what is free; 0: it is not looked for */
};

/*
 * Of a span that is cut, what is resident and lent to nobody: blocks that are held were written
 * to.
 */
static void add_free(struct ranges *ranges, const struct tcmalloc *tc,
		     const struct tcmalloc_span *span)
{
	const struct heap_source *source = ranges->source;
	struct heap_free *free = &ranges->ret->free;
	uint64_t resident = span->bytes, used;

	if (!ranges->until || !free->whole || span->where == SPAN_RETURNED ||
	    (span->where == SPAN_USED && span->refs >= span->nr))
		return;
	free->whole = procfs_clock(CLOCK_MONOTONIC) < ranges->until;
	if (source->resident)
		resident = source->resident(source->ctx, span->start, span->start + span->bytes);
	used = span->refs * tc->class[span->class].size;
	free->listed += resident - MIN(resident, used);
	free->trimmed += span->where == SPAN_NORMAL ? resident : 0;
}

COMPARE_BY(by_start, struct heap_range, x, x->start)

/* Sorted, and those that touch become one. */
static void join(struct heap_ranges *ranges)
{
	struct heap_range *last = NULL;
	size_t nr = 0;

	vec_sort(&ranges->vec, by_start);
	vec_each(range, &ranges->vec) {
		if (last && range->start <= last->end) {
			last->end = MAX(last->end, range->end);
			continue;
		}
		last = &ranges->vec.at[nr++];
		*last = *range;
	}
	ranges->vec.nr = nr;
}

/*
 * The spans, what describes them, and the leaves of the page map. Few bytes more are tcmalloc's
 * own.
 */
static struct err *add_ranges(struct ranges *ranges, struct tcmalloc *tc)
{
	unsigned bits = tcmalloc_leaf_bits(tc);
	struct err *err = NULL;
	uint64_t leaf;

	vec_each_while(span, &tc->spans, !err) {
		uint64_t page = ALIGN_DOWN(span->at, PAGE);

		add_free(ranges, tc, span);
		err = vec_push(&ranges->ret->vec, ((struct heap_range){
				span->start, span->start + span->bytes, false }));
		if (!err)
			err = vec_push(&ranges->ret->vec,
				       ((struct heap_range){ page, page + PAGE, false }));
	}
	for (uint64_t i = 0; i < 1ull << (tcmalloc_page_bits(tc) - bits) && !err; i++)
		if (tcmalloc_word(tc, tc->root + i * 8, &leaf) && leaf &&
		    tcmalloc_is_mapped(tc, leaf))
			err = vec_push(&ranges->ret->vec, ((struct heap_range){
					leaf, leaf + (8ull << bits), false }));
	return err;
}

struct err *tcmalloc_ranges(const struct heap_source *source, struct heap_ranges *ret)
{
	struct heap_ranges found = { .vec = VEC_INIT };
	struct ranges ranges = {
		.source = source, .ret = &found,
		.until = source->free_ns ? procfs_clock(CLOCK_MONOTONIC) + source->free_ns : 0,
	};
	struct err *err = NULL;

	found.free.known = found.free.whole = ranges.until;
	found.whole = true;
	for (size_t i = 0; i < source->nr_libcs && !err; i++) {
		struct tcmalloc *tc;

		err = tcmalloc_spans_look(source, i, &tc);
		if (!err)
			err = add_ranges(&ranges, tc);
		else
			found.whole = false;
		tcmalloc_close(tc);
		if (err && err->code != ERR_NOMEM)
			err = NULL;	/* there are none */
	}
	join(&found);
	if (err)
		heap_ranges_free(&found);
	else
		*ret = found;
	return err;
}
