/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Address ranges that may overlap, searched by address. They are sorted by start; `reach` tells a
 * search that goes down from addr when no range further down can hold addr.
 */

#include "symbol/spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compiler.h"

struct err *spans_add(struct spans *spans, uint64_t start, uint64_t end, uint32_t value)
{
	struct span span = { .start = start, .end = end, .value = value };

	return start < end ? vec_push(&spans->vec, span) : NULL;
}

COMPARE_BY(by_start, struct span, x, COMPARE_KEYS(x->start, x->value))

/* Merge the tail, which is already sorted, with the part before it. False: no memory. */
static bool merge_tail(struct spans *spans)
{
	size_t nr = spans->vec.nr - spans->sorted, front = spans->sorted, to = spans->vec.nr;
	AUTO_FREE struct span *tail = malloc(nr * sizeof(*tail));

	if (!tail)
		return false;
	memcpy(tail, spans->vec.at + front, nr * sizeof(*tail));
	while (nr > 0) {
		if (front > 0 && by_start(&spans->vec.at[front - 1], &tail[nr - 1]) > 0)
			spans->vec.at[--to] = spans->vec.at[--front];
		else
			spans->vec.at[--to] = tail[--nr];
	}
	return true;
}

void spans_sort(struct spans *spans)
{
	size_t added = spans->vec.nr - spans->sorted;
	uint64_t reach = 0;

	if (!added)
		return;
	qsort(spans->vec.at + spans->sorted, added, sizeof(struct span), by_start);
	if (spans->sorted && !merge_tail(spans))
		vec_sort(&spans->vec, by_start);
	spans->sorted = spans->vec.nr;
	for (size_t i = 0; i < spans->vec.nr; i++) {
		reach = MAX(reach, spans->vec.at[i].end);
		spans->vec.at[i].reach = reach;
	}
}

const struct span *spans_find(const struct spans *spans, uint64_t addr, const struct span *after)
{
	/* Begin behind the ranges that start at or below addr. */
	size_t i = after ? (size_t)(after - spans->vec.at) :
			   LOWER_BOUND(k, 0, spans->vec.nr, spans->vec.at[k].start <= addr);

	for (int steps = 0; i > 0 && steps < SPANS_STEPS; steps++) {
		const struct span *span = &spans->vec.at[--i];

		if (addr < span->end)
			return span;
		if (span->reach <= addr)
			return NULL;
	}
	return NULL;
}

void spans_free(struct spans *spans)
{
	vec_free(&spans->vec);
	spans->sorted = 0;
}
