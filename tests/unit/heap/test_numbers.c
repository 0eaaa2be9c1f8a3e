/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of numbers in one pool. */

#include "heap/numbers.h"
#include "unit.h"

void suite_numbers(void);

#define LISTS	7u
#define NR	200000u		/* over several slabs */

/* Each list gives back what was pushed to it, the last first. */
static void test_lists(void)
{
	struct numbers pool = NUMBERS_INIT;
	struct number_list list[LISTS] = { NUMBER_LIST_INIT };
	uint32_t number;

	for (uint32_t i = 0; i < NR; i++)
		CU_ASSERT_PTR_NULL_FATAL(numbers_push(&pool, &list[i % LISTS], i));
	for (uint32_t i = 0; i < LISTS; i++) {
		struct number_at at = numbers_start(&pool, &list[i]);
		uint32_t want = NR - 1 - (NR - 1 - i) % LISTS;

		for (; numbers_next(&pool, &at, &number); want -= LISTS)
			CU_ASSERT_EQUAL_FATAL(number, want);
		CU_ASSERT_EQUAL(want, i - LISTS);
	}
	CU_ASSERT_TRUE(pool.nr <= NR / NUMBERS_NODE + LISTS);
	numbers_shift(&pool, 4);
	for (struct number_at at = numbers_start(&pool, &list[3]); numbers_next(&pool, &at, &number);)
		CU_ASSERT_TRUE_FATAL(number <= NR >> 4);
	numbers_free(&pool);
	CU_ASSERT_EQUAL(pool.nr, 0);
}

static void test_empty(void)
{
	struct numbers pool = NUMBERS_INIT;
	struct number_list list = NUMBER_LIST_INIT;
	struct number_at at = numbers_start(&pool, &list);
	uint32_t number;

	CU_ASSERT_FALSE(numbers_next(&pool, &at, &number));
	numbers_free(&pool);
}

void suite_numbers(void)
{
	CU_pSuite suite = CU_add_suite("numbers", NULL, NULL);

	CU_add_test(suite, "lists", test_lists);
	CU_add_test(suite, "empty", test_empty);
}
