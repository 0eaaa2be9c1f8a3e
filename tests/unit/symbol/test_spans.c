/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranges that overlap, against an array that is searched in full. */

#include "symbol/spans.h"

#include "unit.h"

struct truth {
	uint64_t start, end;
};

/*
 * The one that starts last, and of those the last added, that comes before `before` in this order;
 * -1: none.
 */
static int next_of(const struct truth *truth, int nr, uint64_t addr, int before)
{
	int best = -1;

	for (int i = 0; i < nr; i++) {
		if (addr < truth[i].start || addr >= truth[i].end)
			continue;
		if (before >= 0 && (truth[i].start > truth[before].start ||
				    (truth[i].start == truth[before].start && i >= before)))
			continue;
		if (best < 0 || truth[i].start >= truth[best].start)
			best = i;
	}
	return best;
}

TEST("against an array")
{
	enum { NR = 200, ADDRESSES = 300 };
	struct truth truth[NR];
	CLEANUP(spans_free) struct spans spans = { .vec = VEC_INIT };

	srand(1);
	for (int i = 0; i < NR; i++) {
		truth[i].start = (uint64_t)(rand() % ADDRESSES);
		truth[i].end = truth[i].start + (uint64_t)(rand() % (i % 10 ? 8 : 200));
		CU_ASSERT_PTR_NULL_FATAL(
			spans_add(&spans, truth[i].start, truth[i].end, (uint32_t)i));
		/* What comes later is merged. */
		if (i % 37 == 0)
			spans_sort(&spans);
	}
	spans_sort(&spans);
	for (size_t i = 1; i < spans.vec.nr; i++)
		CU_ASSERT(spans.vec.at[i - 1].start <= spans.vec.at[i].start);
	for (uint64_t addr = 0; addr < ADDRESSES + 210; addr++) {
		const struct span *span = NULL;
		int expected = -1;

		do {
			span = spans_find(&spans, addr, span);
			expected = next_of(truth, NR, addr, expected);
			CU_ASSERT_EQUAL_FATAL(span ? (int)span->value : -1, expected);
		} while (span);
	}
}

TEST("edges")
{
	CLEANUP(spans_free) struct spans spans = { .vec = VEC_INIT };

	spans_sort(&spans);
	CU_ASSERT_PTR_NULL(spans_find(&spans, 0, NULL));
	CU_ASSERT_PTR_NULL(spans_add(&spans, 5, 5, 1));
	CU_ASSERT_PTR_NULL(spans_add(&spans, 9, 5, 2));
	CU_ASSERT_EQUAL(spans.vec.nr, 0);
	CU_ASSERT_PTR_NULL(spans_add(&spans, 0, UINT64_MAX, 3));
	spans_sort(&spans);
	CU_ASSERT_PTR_NOT_NULL(spans_find(&spans, 0, NULL));
	CU_ASSERT_PTR_NOT_NULL(spans_find(&spans, UINT64_MAX - 1, NULL));
	CU_ASSERT_PTR_NULL(spans_find(&spans, UINT64_MAX, NULL));
}

/* A file may say that a million ranges reach over everything: a search ends nevertheless. */
TEST("bounded")
{
	CLEANUP(spans_free) struct spans spans = { .vec = VEC_INIT };

	CU_ASSERT_PTR_NULL_FATAL(spans_add(&spans, 0, 1000000, 0));
	for (uint32_t i = 1; i < 3 * SPANS_STEPS; i++)
		CU_ASSERT_PTR_NULL_FATAL(spans_add(&spans, i, i + 1, i));
	spans_sort(&spans);
	CU_ASSERT_PTR_NULL(spans_find(&spans, 500000, NULL));
	CU_ASSERT_PTR_NOT_NULL(spans_find(&spans, SPANS_STEPS / 2, NULL));
}
