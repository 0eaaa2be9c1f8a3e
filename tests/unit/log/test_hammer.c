/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several writers and readers at once; the long form, and the one with ThreadSanitizer, is in
 * tests/torture/log_tsan.sh.
 */

#include "hammer.h"
#include "unit.h"

void suite_hammer(void);

static void test_close(void)
{
	struct hammer_spec spec = { .writers = 2, .readers = 2, .operations = 1000000, .addresses = 4,
				    .allocate = 42 };

	CU_ASSERT_EQUAL(hammer(&spec), 0);
}

static void test_small(void)
{
	struct hammer_spec spec = { .writers = 3, .readers = 1, .operations = 300000,
				    .addresses = 200, .allocate = 42 };

	CU_ASSERT_EQUAL(hammer(&spec), 0);
}

static void test_growing(void)
{
	struct hammer_spec spec = { .writers = 3, .readers = 1, .operations = 300000,
				    .addresses = 150000, .allocate = 50 };

	CU_ASSERT_EQUAL(hammer(&spec), 0);
}

static void test_full(void)
{
	struct hammer_spec spec = { .writers = 2, .readers = 1, .operations = 700000,
				    .addresses = 800000, .allocate = 70, .fills = 1 };

	CU_ASSERT_EQUAL(hammer(&spec), 0);
}

/* Two writers in eight lines. */
static void test_directory_close(void)
{
	struct hammer_spec spec = { .writers = 2, .readers = 2, .operations = 200000,
				    .addresses = 40, .allocate = 42, .directory = 1 };

	CU_ASSERT_EQUAL(hammer(&spec), 0);
}

static void test_directory(void)
{
	struct hammer_spec spec = { .writers = 4, .readers = 1, .operations = 100000,
				    .addresses = 50000, .allocate = 50, .directory = 1 };

	CU_ASSERT_EQUAL(hammer(&spec), 0);
}

/* Of each two of them one has its record apart. */
static void test_halves(void)
{
	struct hammer_spec close = { .writers = 2, .readers = 2, .operations = 200000,
				     .addresses = 40, .allocate = 42, .directory = 1, .halves = 1 };
	struct hammer_spec many = { .writers = 4, .readers = 1, .operations = 100000,
				    .addresses = 50000, .allocate = 50, .directory = 1,
				    .halves = 1 };

	CU_ASSERT_EQUAL(hammer(&close), 0);
	CU_ASSERT_EQUAL(hammer(&many), 0);
}

/* All of them in two counters of the counting filter. */
static void test_sampling(void)
{
	struct hammer_spec spec = { .writers = 3, .readers = 1, .operations = 300000,
				    .addresses = 32, .allocate = 42, .samples = 1 };

	CU_ASSERT_EQUAL(hammer(&spec), 0);
}

static void test_sampling_growing(void)
{
	struct hammer_spec spec = { .writers = 3, .readers = 1, .operations = 200000,
				    .addresses = 100000, .allocate = 50, .samples = 1 };

	CU_ASSERT_EQUAL(hammer(&spec), 0);
}

void suite_hammer(void)
{
	CU_pSuite suite = CU_add_suite("hammer", NULL, NULL);

	CU_add_test(suite, "very few addresses", test_close);
	CU_add_test(suite, "few addresses", test_small);
	CU_add_test(suite, "growing tables", test_growing);
	CU_add_test(suite, "full tables", test_full);
	CU_add_test(suite, "directory, few addresses", test_directory_close);
	CU_add_test(suite, "directory", test_directory);
	CU_add_test(suite, "halves of granules", test_halves);
	CU_add_test(suite, "a log that samples", test_sampling);
	CU_add_test(suite, "a log that samples, growing", test_sampling_growing);
}
