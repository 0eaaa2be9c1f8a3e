/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of numbers in one pool. */

#include "heap/u32_lists.h"
#include "unit.h"

#define LISTS	7u
#define NR	200000u		/* over several slabs */

/* Each list gives back what was pushed to it, the last first. */
TEST("lists")
{
	struct u32_lists pool = U32_LISTS_INIT;
	struct u32_list list[LISTS] = { U32_LIST_INIT };
	uint32_t number;

	for (uint32_t i = 0; i < NR; i++)
		CU_ASSERT_PTR_NULL_FATAL(u32_lists_push(&pool, &list[i % LISTS], i));
	for (uint32_t i = 0; i < LISTS; i++) {
		struct u32_cursor at = u32_lists_start(&pool, &list[i]);
		uint32_t want = NR - 1 - (NR - 1 - i) % LISTS;

		for (; u32_lists_next(&pool, &at, &number); want -= LISTS)
			CU_ASSERT_EQUAL_FATAL(number, want);
		CU_ASSERT_EQUAL(want, i - LISTS);
	}
	CU_ASSERT_TRUE(pool.nr <= NR / U32_LISTS_NODE + LISTS);
	u32_lists_shift(&pool, 4);
	for (struct u32_cursor at =
	     u32_lists_start(&pool, &list[3]); u32_lists_next(&pool, &at, &number);)
		CU_ASSERT_TRUE_FATAL(number <= NR >> 4);
	u32_lists_free(&pool);
	CU_ASSERT_EQUAL(pool.nr, 0);
}

TEST("empty")
{
	CLEANUP(u32_lists_free) struct u32_lists pool = U32_LISTS_INIT;
	struct u32_list list = U32_LIST_INIT;
	struct u32_cursor at = u32_lists_start(&pool, &list);
	uint32_t number;

	CU_ASSERT_FALSE(u32_lists_next(&pool, &at, &number));
}
