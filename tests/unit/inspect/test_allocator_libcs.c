/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a C library has its arenas. */

#include "inspect/allocator_libcs.h"
#include "named.h"
#include "probe/allocators.h"
#include "unit.h"

static struct named named;

static int start(void)
{
	static const char *const names[] = { "malloc", "main_arena", NULL };

	named_open(&named, names);
	return 0;
}

FIXTURE(start, NULL);

TEST("a main arena is where its symbol is, and nowhere without one")
{
	const struct allocator with = { .arena = "main_arena" }, without = { .arena = NULL },
			       other = { .arena = "other_arena" };

	CU_ASSERT_EQUAL(allocator_libcs_main_arena(&with, &named.module), NAMED_BASE + NAMED_SYMBOL);
	CU_ASSERT_EQUAL(allocator_libcs_main_arena(&without, &named.module), 0);
	CU_ASSERT_EQUAL(allocator_libcs_main_arena(&other, &named.module), 0);
}

TEST("a process without a C library that is known has no pulse")
{
	struct target target = { .memory = &named.memory.memory };
	struct heap_pulse pulse;
	struct allocator_libcs libcs;

	allocator_libcs_find(&target.modules, &libcs);
	CU_ASSERT(!libcs.others && !libcs.nr);
	CU_ASSERT_EQUAL(allocator_libcs_pulse(&target, &pulse)->code, ERR_UNSUPPORTED);
}
