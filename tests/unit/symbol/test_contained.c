/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls that crash, do not end, or take more stack than there is. */

#include "symbol/contained.h"

#include <signal.h>

#include "unit.h"

static volatile uint64_t sink, most = UINT64_MAX, bad = 8;

static void good(void *arg)
{
	*(int *)arg += 1;
}

static void crash(void *arg UNUSED)
{
	*(volatile int *)(uintptr_t)bad = 1;
}

static void illegal(void *arg UNUSED)
{
	__builtin_trap();
}

static void loop(void *arg UNUSED)
{
	for (;;)
		sink++;
}

static NOINLINE uint64_t deeper(uint64_t depth)
{
	volatile uint64_t frame[64];

	frame[depth % 64] = depth;
	return depth < most ? deeper(depth + 1) + frame[depth % 64] : 0;
}

static void recurse(void *arg UNUSED)
{
	sink = deeper(0);
}

TEST("crashes")
{
	static const size_t stacks[] = { 0, 1 << 20 };
	int calls = 0;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(stacks); i++) {
		size_t stack = stacks[i / 2];

		CU_ASSERT_EQUAL(contained_call(good, &calls, stack), CONTAINED_DONE);
		CU_ASSERT_EQUAL(contained_call(crash, NULL, stack), CONTAINED_CRASHED);
		CU_ASSERT_EQUAL(contained_call(illegal, NULL, stack), CONTAINED_CRASHED);
		CU_ASSERT_EQUAL(contained_call(recurse, NULL, stack), CONTAINED_CRASHED);
	}
	CU_ASSERT_EQUAL(calls, 4);
}

/* The second one begins with the timer of the first one set, or not. */
TEST("no end")
{
	int calls = 0;

	CU_ASSERT_EQUAL(contained_call(loop, NULL, 0), CONTAINED_ENDLESS);
	CU_ASSERT_EQUAL(contained_call(good, &calls, 0), CONTAINED_DONE);
	CU_ASSERT_EQUAL(contained_call(loop, NULL, 1 << 20), CONTAINED_ENDLESS);
}

TEST("no stack")
{
	CU_ASSERT_EQUAL(contained_call(good, NULL, (size_t)1 << 50), CONTAINED_NOT_RUN);
}
