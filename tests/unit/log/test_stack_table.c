/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stack table: each stack once, under a number that stays. */


#include <string.h>

#include "region.h"

static struct log log_;

static void fill(uint64_t *pcs, uint32_t nr, uint64_t seed)
{
	for (uint32_t i = 0; i < nr; i++)
		pcs[i] = 0x7f0000000000 + seed * 4096 + i * 16;
}

TEST("each once")
{
	uint64_t pcs[LOG_DEPTH_MAX], other[LOG_DEPTH_MAX];
	uint32_t ids[LOG_DEPTH_MAX + 1];

	region_open(LOG_REGION_MIN, &log_);
	fill(pcs, LOG_DEPTH_MAX, 1);
	for (uint32_t nr = 1; nr <= LOG_DEPTH_MAX; nr++) {
		ids[nr] = stack_table_insert(&log_, pcs, nr, nr % 7, 3);
		CU_ASSERT_EQUAL(ids[nr], nr);
	}
	CU_ASSERT_EQUAL(reader_stacks(&log_), LOG_DEPTH_MAX);
	for (uint32_t nr = 1; nr <= LOG_DEPTH_MAX; nr++) {
		struct log_stack_view view = reader_stack(&log_, ids[nr]);

		CU_ASSERT_EQUAL(view.nr, nr);
		CU_ASSERT_EQUAL(view.end, nr % 7);
		CU_ASSERT_EQUAL(view.generation, 3);
		CU_ASSERT_FALSE(memcmp(view.pcs, pcs, nr * sizeof(*pcs)));
		CU_ASSERT_EQUAL(stack_table_insert(&log_, pcs, nr, nr % 7, 3), ids[nr]);
	}
	memcpy(other, pcs, sizeof(pcs));
	for (uint32_t i = 0; i < LOG_DEPTH_MAX; i++) {
		other[i] ^= 1;
		CU_ASSERT_EQUAL(stack_table_insert(&log_, other, LOG_DEPTH_MAX, LOG_DEPTH_MAX % 7,
						   3),
				LOG_DEPTH_MAX + 1 + i);
		other[i] ^= 1;
	}
	region_close(&log_);
}

TEST("end, generation and order are part of the key")
{
	uint64_t pcs[4], swapped[4];
	uint32_t a, b, c, d;

	region_open(LOG_REGION_MIN, &log_);
	fill(pcs, 4, 1);
	memcpy(swapped, pcs, sizeof(pcs));
	swapped[0] = pcs[1];
	swapped[1] = pcs[0];
	a = stack_table_insert(&log_, pcs, 4, 0, 1);
	b = stack_table_insert(&log_, pcs, 4, 1, 1);
	c = stack_table_insert(&log_, pcs, 4, 0, 2);
	d = stack_table_insert(&log_, swapped, 4, 0, 1);
	CU_ASSERT_TRUE(a && b && c && d && a != b && a != c && a != d && b != c && b != d &&
		       c != d);
	CU_ASSERT_EQUAL(stack_table_insert(&log_, pcs, 0, 0, 1), LOG_STACK_NONE);
	region_close(&log_);
}

TEST("counts")
{
	uint64_t pcs[3];
	struct log_stack_view view;
	uint32_t id;

	region_open(LOG_REGION_MIN, &log_);
	fill(pcs, 3, 1);
	id = stack_table_insert(&log_, pcs, 3, 0, 1);
	stack_table_count(&log_, id, 2, 100);
	stack_table_count(&log_, id, 1, 11);
	stack_table_count(&log_, LOG_STACK_NONE, 1, 1);
	stack_table_count(&log_, 999, 1, 1);
	view = reader_stack(&log_, id);
	CU_ASSERT_EQUAL(view.total, 3);
	CU_ASSERT_EQUAL(view.total_bytes, 111);
	CU_ASSERT_EQUAL(reader_stack(&log_, LOG_STACK_NONE).nr, 0);
	CU_ASSERT_EQUAL(reader_stack(&log_, id + 1).nr, 0);
	CU_ASSERT_EQUAL(reader_stack(&log_, ~0u).nr, 0);
	region_close(&log_);
}

/* Until ids or arena run out: NONE then, but what is there is still found. */
static void fill_up(uint32_t depth, uint32_t at_least)
{
	uint64_t pcs[LOG_DEPTH_MAX];
	uint32_t nr = 0, id;

	region_open(2 * LOG_REGION_MIN, &log_);
	do {
		fill(pcs, depth, nr);
		id = stack_table_insert(&log_, pcs, depth, 0, 1);
		CU_ASSERT_TRUE_FATAL(id == LOG_STACK_NONE || id == nr + 1);
		nr += id != LOG_STACK_NONE;
	} while (id != LOG_STACK_NONE);
	CU_ASSERT_TRUE(nr >= at_least);
	CU_ASSERT_EQUAL(reader_stacks(&log_), nr);
	for (uint32_t i = 0; i < nr; i++) {
		fill(pcs, depth, i);
		CU_ASSERT_EQUAL_FATAL(stack_table_insert(&log_, pcs, depth, 0, 1), i + 1);
		CU_ASSERT_FALSE_FATAL(memcmp(reader_stack(&log_, i + 1).pcs, pcs,
					     depth * sizeof(*pcs)));
	}
	CU_ASSERT_TRUE(log_usage(&log_).stack_bytes <= log_.size / 4);
	region_close(&log_);
}

TEST("no more ids")
{
	fill_up(1, 16384);
}

TEST("no more arena")
{
	fill_up(LOG_DEPTH_MAX, 1900);
}
