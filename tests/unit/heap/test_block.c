/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks from the log, and the sort under them. */

#include "fixture.h"
#include "heap/radix.h"

/* Stable, whatever bits the keys differ in. */
TEST("radix sort")
{
	static const uint64_t masks[] = { 0, 1, 0xff, 0x7fffffff, 0xfff0, ~0ull,
					 0xff00000000000000, 0x800 };
	enum { NR = 20000 };
	AUTO_FREE struct radix_item *item = malloc(NR * sizeof(*item));
	uint64_t state = 1;

	for (size_t m = 0; m < ARRAY_SIZE(masks); m++) {
		for (uint32_t i = 0; i < NR; i++)
			item[i] = (struct radix_item){ unit_random(&state) & masks[m], i };
		CU_ASSERT_PTR_NULL(radix_sort(item, NR));
		for (uint32_t i = 1; i < NR; i++)
			CU_ASSERT_TRUE_FATAL(item[i - 1].key < item[i].key ||
					     (item[i - 1].key == item[i].key &&
					      item[i - 1].index < item[i].index));
	}
	CU_ASSERT_PTR_NULL(radix_sort(item, 0));
	CU_ASSERT_PTR_NULL(radix_sort(item, 1));
}

/* What the accounts say is worth no memory where the tables have no room for it. */
TEST("how many are expected")
{
	struct log_record record = { .address = 0x1000, .size = 8, .time = 1 };
	CLEANUP(fixture_close) struct log log;

	fixture_open(&log);
	CU_ASSERT_EQUAL(blocks_expected(&log), 0);
	CU_ASSERT_TRUE(log_record_insert(&log, &record, NULL));
	CU_ASSERT_EQUAL(blocks_expected(&log), 1);
	registry_count(&log, 0, LOG_ACCOUNT(allocs), 1ull << 40);
	CU_ASSERT_EQUAL(blocks_expected(&log), 0);
	registry_count(&log, 0, LOG_ACCOUNT(frees), 1ull << 41);
	CU_ASSERT_EQUAL(blocks_expected(&log), 0);
}

TEST("from the log")
{
	enum { NR = 50000 };
	struct blocks blocks;
	CLEANUP(fixture_close) struct log log;

	fixture_open(&log);
	CU_ASSERT_PTR_NULL(blocks_from_log(&log, NULL, &blocks));
	CU_ASSERT_EQUAL(blocks.vec.nr, 0);
	blocks_free(&blocks);
	for (uint64_t i = NR; i; i--) {
		struct log_record record = { .address = i * 0x1230, .size = i, .time = i + 1,
					    .thread = i % 100,
					     .stack = (uint32_t)i * 3 % 10007, .heap = (uint16_t)i };

		CU_ASSERT_TRUE_FATAL(log_record_insert(&log, &record, NULL));
	}
	CU_ASSERT_PTR_NULL(blocks_from_log(&log, NULL, &blocks));
	CU_ASSERT_EQUAL_FATAL(blocks.vec.nr, NR);
	for (uint64_t i = 1; i <= NR; i++) {
		const struct block *block = &blocks.vec.at[i - 1];

		CU_ASSERT_TRUE_FATAL(block->address == i * 0x1230 && block->size == i &&
				     block->time == i + 1 &&
				     block->thread == i % 100 && block->stack == i * 3 % 10007 &&
				     block->heap == (uint16_t)i && !block->preattach);
	}
	blocks_free(&blocks);
}

/* Live blocks by stack; records with ids of no stack are left out of it. */
TEST("live by stack")
{
	struct log_record record = { .size = 1, .time = 1 };
	uint32_t ids[3];
	struct blocks blocks;
	CLEANUP(fixture_close) struct log log;

	fixture_open(&log);
	for (uint64_t i = 0; i < ARRAY_SIZE(ids); i++)
		ids[i] = stack_table_insert(&log, &i, 1, 0, 0);
	for (uint64_t i = 1; i <= 10; i++) {
		record.address = i * 16;
		record.stack = i <= 3 ? ids[0] : i <= 8 ? ids[2] : i == 9 ? 4 : UINT32_MAX;
		CU_ASSERT_TRUE_FATAL(log_record_insert(&log, &record, NULL));
	}
	CU_ASSERT_TRUE(log_record_remove(&log, 16, 0, &record));
	CU_ASSERT_PTR_NULL(blocks_from_log(&log, NULL, &blocks));
	CU_ASSERT_EQUAL(blocks.vec.nr, 9);
	CU_ASSERT_EQUAL_FATAL(blocks.live.nr, 4);
	CU_ASSERT_EQUAL(blocks.live.at[ids[0]].blocks, 2);
	CU_ASSERT_EQUAL(blocks.live.at[ids[1]].blocks, 0);
	CU_ASSERT_EQUAL(blocks.live.at[ids[2]].blocks, 5);
	blocks_free(&blocks);
	CU_ASSERT_PTR_NULL(blocks.live.at);
}

/* A block in hand is listed once, also if it is back in the table; of two at one address the younger. */
TEST("in hand")
{
	struct log_record there = { .address = 0x2000, .size = 20, .time = 5 };
	struct in_hand in_hand = { VEC_INIT };
	struct blocks blocks;
	struct log log;

	fixture_open(&log);
	CU_ASSERT_TRUE(log_record_insert(&log, &there, NULL));
	there.address = 0x3000;
	CU_ASSERT_TRUE(log_record_insert(&log, &there, NULL));
	CU_ASSERT_PTR_NULL(vec_push(&in_hand.vec, there));
	CU_ASSERT_PTR_NULL(vec_push(&in_hand.vec, ((struct log_record){ .address = 0x2000,
			.size = 10, .time = 4 })));
	CU_ASSERT_PTR_NULL(vec_push(&in_hand.vec, ((struct log_record){ .address = 0x1000,
			.size = 30, .time = 6 })));
	CU_ASSERT_PTR_NULL(blocks_from_log(&log, &in_hand, &blocks));
	CU_ASSERT_EQUAL_FATAL(blocks.vec.nr, 3);
	CU_ASSERT_TRUE(blocks.vec.at[0].address == 0x1000 && blocks.vec.at[0].size == 30);
	CU_ASSERT_TRUE(blocks.vec.at[1].address == 0x2000 && blocks.vec.at[1].size == 20);
	CU_ASSERT_TRUE(blocks.vec.at[2].address == 0x3000 && blocks.vec.at[2].size == 20);
	vec_free(&in_hand.vec);
	blocks_free(&blocks);
	fixture_close(&log);
}

/* The same address in two processes is two blocks, in the order of the processes. */
TEST("two processes")
{
	uint64_t second = 1ull << LOG_PROCESS_SHIFT;
	struct log_record record = { .size = 1, .time = 1 };
	const uint64_t addresses[] = { second | 0x1000, 0x2000, 0x1000, second | 0x500 };
	struct blocks blocks;
	struct log log;

	fixture_open(&log);
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		record.address = addresses[i];
		CU_ASSERT_TRUE(log_record_insert(&log, &record, NULL));
	}
	CU_ASSERT_PTR_NULL(blocks_from_log(&log, NULL, &blocks));
	CU_ASSERT_EQUAL_FATAL(blocks.vec.nr, 4);
	CU_ASSERT_TRUE(blocks.vec.at[0].address == 0x1000 && blocks.vec.at[0].process == 0);
	CU_ASSERT_TRUE(blocks.vec.at[1].address == 0x2000 && blocks.vec.at[1].process == 0);
	CU_ASSERT_TRUE(blocks.vec.at[2].address == 0x500 && blocks.vec.at[2].process == 1);
	CU_ASSERT_TRUE(blocks.vec.at[3].address == 0x1000 && blocks.vec.at[3].process == 1);
	blocks_free(&blocks);
	fixture_close(&log);
}

/* A region that says that it has more blocks than there can be. */
TEST("false accounts")
{
	struct log_record record = { .address = 0x1000, .size = 1, .time = 1 };
	struct blocks blocks;
	struct log log;

	fixture_open(&log);
	CU_ASSERT_TRUE(log_record_insert(&log, &record, NULL));
	log.thread[0].account[LOG_ACCOUNT(allocs)] = ~0ull >> 1;
	CU_ASSERT_PTR_NULL(blocks_from_log(&log, NULL, &blocks));
	CU_ASSERT_EQUAL(blocks.vec.nr, 1);
	blocks_free(&blocks);
	fixture_close(&log);
}
