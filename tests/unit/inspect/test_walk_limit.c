/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many chunks a walk may find. */

#include "inspect/walk_limit.h"
#include "unit.h"

#define ROOM	(1000ull * 2 * WALK_LIMIT_COST)

static struct memory_limit own(uint64_t left)
{
	return (struct memory_limit){ .kind = MEMORY_LIMIT_OWN, .left = left, .name = "a limit" };
}

TEST("chunks may take half of what is left to mdbg")
{
	struct memory_limit some = own(ROOM), all = own(UINT64_MAX), unknown = { .left = 1 };
	struct walk_limit limit;

	walk_limit_find(&some, 0, &limit);
	CU_ASSERT_EQUAL(limit.chunks, 1000);
	CU_ASSERT_PTR_EQUAL(limit.own, &some);
	walk_limit_find(&all, 0, &limit);
	CU_ASSERT(limit.chunks == UINT64_MAX && !limit.own);
	walk_limit_find(&unknown, 0, &limit);
	CU_ASSERT(limit.chunks == UINT64_MAX && !limit.own);
}

TEST("a process has no more chunks than its pages have room for")
{
	struct memory_limit all = own(UINT64_MAX), some = own(ROOM);
	struct walk_limit limit;

	walk_limit_find(&all, getpid(), &limit);
	CU_ASSERT(limit.chunks > 0 && limit.chunks < UINT64_MAX && !limit.own);
	walk_limit_find(&some, getpid(), &limit);
	CU_ASSERT_PTR_EQUAL(limit.own, &some);
}

TEST("a walk that met a bound says whose it is, and other errors stay")
{
	struct memory_limit some = own(ROOM);
	struct walk_limit ours = { 1000, &some }, its = { 1000, NULL };
	struct err *other = err_create(ERR_NOTFOUND, "no arena");

	CU_ASSERT_EQUAL(walk_limit_say(&ours, err_create(ERR_RANGE, "x"))->code, ERR_NOMEM);
	CU_ASSERT_EQUAL(walk_limit_say(&its, err_create(ERR_RANGE, "x"))->code, ERR_FORMAT);
	CU_ASSERT_PTR_EQUAL(walk_limit_say(&its, other), other);
	CU_ASSERT_PTR_NULL(walk_limit_say(&its, NULL));
}
