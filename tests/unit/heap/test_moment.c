/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Moments: what is kept of sums, which moment a later one is compared with, and how many there are. */

#include "fixture.h"
#include "heap/moment.h"

void suite_moment(void);

static void test_take(void)
{
	struct sample_share live[] = { { 1, 10 }, { 0, 0 }, { 3, 0 }, { 0, 0 }, { 2, 500 } };
	struct live_counts counts = { live, ARRAY_SIZE(live), ARRAY_SIZE(live) };
	struct moment moment;

	CU_ASSERT_PTR_NULL_FATAL(moment_take(&counts, 77, &moment));
	CU_ASSERT_EQUAL(moment.time_ns, 77);
	CU_ASSERT_EQUAL_FATAL(moment.vec.nr, 3);
	CU_ASSERT(moment.vec.at[0].stack == 0 && moment.vec.at[0].bytes == 10);
	CU_ASSERT(moment.vec.at[1].stack == 2 && moment.vec.at[1].count == 3);
	CU_ASSERT(moment.vec.at[2].stack == 4 && moment.vec.at[2].bytes == 500);
	moment_free(&moment);
}

static void add(struct moments *moments, uint64_t ns)
{
	struct sample_share live = { 1, ns };
	struct live_counts counts = { &live, 1, 1 };
	struct moment moment;

	CU_ASSERT_PTR_NULL_FATAL(moment_take(&counts, ns, &moment));
	moments_add(moments, &moment);
	CU_ASSERT(!moment.vec.at);
}

/* However often they are added, there is one that is old enough and not much older, and few are kept. */
static void test_which(void)
{
	static const uint64_t steps[] = { SECOND / 10, SECOND * 3 / 10, SECOND, SECOND * 5 / 2, SECOND * 7 };

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct moments moments = { .nr = 0 };
		uint64_t step = steps[i], now = EPOCH;

		CU_ASSERT_PTR_NULL(moments_before(&moments, now));
		for (unsigned round = 0; round < 100; round++, now += step) {
			const struct moment *before = moments_before(&moments, now);

			CU_ASSERT_EQUAL_FATAL(!before, now - EPOCH < MOMENT_AGE_NS);
			if (before) {
				CU_ASSERT(now - before->time_ns >= MOMENT_AGE_NS);
				CU_ASSERT(now - before->time_ns <= MOMENT_AGE_NS + MOMENT_STEP_NS + step);
				CU_ASSERT_EQUAL(before->vec.at[0].bytes, before->time_ns);
			}
			add(&moments, now);
			CU_ASSERT(moments.nr <= MOMENTS_MOST);
		}
		moments_clear(&moments);
		CU_ASSERT(!moments.nr && !moments_before(&moments, UINT64_MAX));
	}
}

void suite_moment(void)
{
	CU_pSuite suite = CU_add_suite("moment", NULL, NULL);

	CU_add_test(suite, "take", test_take);
	CU_add_test(suite, "which", test_which);
}
