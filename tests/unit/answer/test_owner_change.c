/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Owners of two moments, by name. */

#include "answer/owner_change.h"
#include "unit.h"

static int64_t since(struct owner_change *before, const char *name, uint64_t bytes)
{
	int64_t change = 0;

	CU_ASSERT_PTR_NULL(owner_change_since(before, name, bytes, &change));
	return change;
}

TEST("an owner is the same by its name")
{
	struct owner_change before = OWNER_CHANGE_INIT;
	char name[] = "cache";

	CU_ASSERT_PTR_NULL(owner_change_add(&before, name, 100));
	CU_ASSERT_PTR_NULL(owner_change_add(&before, "table", 70));
	name[0] = 'C';		/* it is a copy */
	CU_ASSERT_EQUAL(since(&before, "cache", 130), 30);
	CU_ASSERT_EQUAL(since(&before, "table", 20), -50);
	/* One that was not there, and stays so. */
	CU_ASSERT_EQUAL(since(&before, "sessions", 5), 5);
	CU_ASSERT_EQUAL(since(&before, "sessions", 5), 5);
	/* Names that are one owner add up. */
	CU_ASSERT_PTR_NULL(owner_change_add(&before, "cache", 50));
	CU_ASSERT_EQUAL(since(&before, "cache", 150), 0);
	CU_ASSERT_EQUAL(since(&before, "large", UINT64_MAX / 2), INT64_MAX);
	owner_change_free(&before);
	CU_ASSERT_EQUAL(since(&before, "cache", 1), 1);
	owner_change_free(&before);
}
