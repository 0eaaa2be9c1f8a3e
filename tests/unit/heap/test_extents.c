/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which block is at an address, near others and far from all. */

#include "fixture.h"
#include "heap/extents.h"

#define FAR	(1ull << 30)

static void add(struct packed_list *list, uint64_t address, uint64_t size)
{
	struct block block = { .address = address, .size = size, .heap = LOG_HEAP_UNKNOWN };

	CU_ASSERT_PTR_NULL_FATAL(packed_add(list, &block));
}

static void check(const struct extents *extents)
{
	for (uint32_t i = 0; i < extents->list->nr; i++) {
		uint64_t start = packed_at(extents->list, i)->address, end =
							  extents_end(extents, i);

		CU_ASSERT_EQUAL(extents_find(extents, start).block, i);
		CU_ASSERT_EQUAL(extents_find(extents, start + 9).block, i);
		CU_ASSERT_EQUAL(extents_find(extents, end - 1).block, i);
		CU_ASSERT_EQUAL(extents_find(extents, end).block, EXTENT_NONE);
		CU_ASSERT_EQUAL(extents_find(extents, start - 1).block, EXTENT_NONE);
	}
}

/* A thousand that are far from each other, few that are near, many that are near, and all that again. */
TEST("near and far")
{
	CLEANUP(packed_free) struct packed_list list = PACKED_INIT;
	CLEANUP(extents_free) struct extents extents;
	uint64_t at = FAR;

	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 1000; i++, at += FAR)
			add(&list, at, i % 2 ? 64 : FAR / 2);
		for (unsigned i = 0; i < 5; i++, at += 128)
			add(&list, at, 64);
		for (at += FAR; at % FAR < 128 * 100; at += 128)
			add(&list, at, 64);
		at = ALIGN_UP(at, FAR) + FAR;
	}
	CU_ASSERT_PTR_NULL_FATAL(packed_sort(&list, NULL));
	CU_ASSERT_PTR_NULL_FATAL(extents_build(&list, &extents));
	CU_ASSERT_EQUAL(extents.outer.runs.nr, 4);
	check(&extents);
}
