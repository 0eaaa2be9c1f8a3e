/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several writers and readers at once; the long form, and the one with ThreadSanitizer, is in
 * tests/torture/log_tsan.sh.
 */

#include "hammer.h"
#include "unit.h"

TEST("very few addresses")
{
	struct hammer_spec spec = { .writers = 2, .readers = 2, .operations = 1000000, .addresses = 4,
				    .allocate = 42 };

	CU_ASSERT_EQUAL(hammer(&spec), 0);
}

TEST("few addresses")
{
	struct hammer_spec spec = { .writers = 3, .readers = 1, .operations = 300000,
				    .addresses = 200, .allocate = 42 };

	CU_ASSERT_EQUAL(hammer(&spec), 0);
}

TEST("growing tables")
{
	struct hammer_spec spec = { .writers = 3, .readers = 1, .operations = 300000,
				    .addresses = 150000, .allocate = 50 };

	CU_ASSERT_EQUAL(hammer(&spec), 0);
}

TEST("full tables")
{
	struct hammer_spec spec = { .writers = 2, .readers = 1, .operations = 700000,
				    .addresses = 800000, .allocate = 70, .fills = 1 };

	CU_ASSERT_EQUAL(hammer(&spec), 0);
}

/* Two writers in eight lines. */
TEST("directory, few addresses")
{
	struct hammer_spec spec = { .writers = 2, .readers = 2, .operations = 200000,
				    .addresses = 40, .allocate = 42, .directory = 1 };

	CU_ASSERT_EQUAL(hammer(&spec), 0);
}

TEST("directory")
{
	struct hammer_spec spec = { .writers = 4, .readers = 1, .operations = 100000,
				    .addresses = 50000, .allocate = 50, .directory = 1 };

	CU_ASSERT_EQUAL(hammer(&spec), 0);
}

/* Of each two of them one has its record apart. */
TEST("halves of granules")
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
TEST("a log that samples")
{
	struct hammer_spec spec = { .writers = 3, .readers = 1, .operations = 300000,
				    .addresses = 32, .allocate = 42, .samples = 1 };

	CU_ASSERT_EQUAL(hammer(&spec), 0);
}

TEST("a log that samples, growing")
{
	struct hammer_spec spec = { .writers = 3, .readers = 1, .operations = 200000,
				    .addresses = 100000, .allocate = 50, .samples = 1 };

	CU_ASSERT_EQUAL(hammer(&spec), 0);
}
