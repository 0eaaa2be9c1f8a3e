/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A log with a budget takes no more memory than that, whatever is recorded, and counts what does
 * not fit. What it takes is what the kernel says.
 */

#include "log/budget.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "region.h"

#define SIZE	(256ull << 20)
#define M	(1ull << 20)
/* A few pages for each part that begins one, and the first table, which is there from the start. */
#define LEAST	(2 * M)

static struct log log_;

static uint64_t resident(void)
{
	uint64_t pages = SIZE / LOG_PAGE, nr = 0;
	unsigned char *seen = malloc(pages);

	CU_ASSERT_EQUAL_FATAL(mincore(log_.base, SIZE, seen), 0);
	for (uint64_t i = 0; i < pages; i++)
		nr += seen[i] & 1;
	free(seen);
	return nr * LOG_PAGE;
}

static void add(uint64_t address, uint64_t size, uint32_t stack, uint32_t thread)
{
	struct log_record record = { .address = address, .size = size, .stack = stack,
				     .thread = thread, .heap = LOG_HEAP_UNKNOWN };

	record.time = ALIGN_DOWN(log_now(), (uint64_t)32) | (thread & 31);
	log_record_insert(&log_, &record, NULL);
}

static void blocks_of_32(uint64_t i)
{
	add(0x10000000 + i * 32, 24, 0, 0);
}

/* Each in an extent of its own. */
static void far_apart(uint64_t i)
{
	add(0x10000000 + i * (3 * M), 24, 0, 0);
}

static void large_blocks(uint64_t i)
{
	add(0x10000000 + i * 8192, 5000, 0, 0);
}

static void stacks(uint64_t i)
{
	uint64_t pcs[30];
	uint32_t stack;

	for (unsigned j = 0; j < 30; j++)
		pcs[j] = 0x1000 + i * j;
	stack = stack_table_insert(&log_, pcs, 30, 0, 1);
	if (stack == LOG_STACK_NONE)
		registry_count(&log_, 0, LOG_ACCOUNT(unstacked), 1);
	add(0x10000000 + i * 32, 24, stack, 0);
}

static void threads(uint64_t i)
{
	add(0x10000000 + i * 32, 24, 0, registry_thread(&log_, 0x7000 + i * 4096, (uint32_t)i + 1));
}

TEST("bounds")
{
	static void (*const ways[])(uint64_t i) = { blocks_of_32, far_apart, large_blocks, stacks,
						    threads };
	static const uint64_t budgets[] = { 0, 3 * M, 20 * M };

	for (size_t i = 0; i < ARRAY_SIZE(ways) * ARRAY_SIZE(budgets); i++) {
		uint64_t budget = budgets[i % ARRAY_SIZE(budgets)], nr = 200000, bytes;
		void (*way)(uint64_t i) = ways[i / ARRAY_SIZE(budgets)];
		struct log_accounts accounts;

		region_open(SIZE, &log_);
		log_set_budget(&log_, budget);
		for (uint64_t j = 0; j < nr; j++)
			way(j);
		CU_ASSERT_PTR_NULL(log_reserve(&log_, 2 * M));
		bytes = resident();
		CU_ASSERT_TRUE(bytes <= budget + LEAST);
		if (bytes > budget + LEAST)
			printf("way %zu: %lu of %lu bytes, %lu taken\n", i, bytes, budget,
			       log_taken(&log_));
		accounts = reader_accounts(&log_);
		CU_ASSERT_EQUAL(accounts.allocs + accounts.table_full, nr);
		CU_ASSERT_TRUE(accounts.table_full || accounts.unstacked || way == threads ||
			       budget == 20 * M);
		region_close(&log_);
	}
}

/* More room: it goes on. */
TEST("more room")
{
	struct log_accounts before, after;

	region_open(SIZE, &log_);
	log_set_budget(&log_, M);
	for (uint64_t i = 0; i < 300000; i++)
		stacks(i);
	before = reader_accounts(&log_);
	CU_ASSERT_TRUE(before.unstacked && before.table_full);
	CU_ASSERT_TRUE(log_left(&log_) < M / 4);
	log_set_budget(&log_, UINT64_MAX);
	CU_ASSERT_EQUAL(log_left(&log_), UINT64_MAX);
	for (uint64_t i = 300000; i < 310000; i++)
		stacks(i);
	after = reader_accounts(&log_);
	CU_ASSERT_EQUAL(after.unstacked, before.unstacked);
	CU_ASSERT_EQUAL(after.allocs, before.allocs + 10000);
	region_close(&log_);
}

/* Nothing is faulted in ahead that the budget has not. */
TEST("ahead")
{
	uint64_t before;

	region_open(SIZE, &log_);
	log_set_budget(&log_, 0);
	before = resident();
	CU_ASSERT_PTR_NULL(log_reserve(&log_, 64 * M));
	CU_ASSERT_EQUAL(resident(), before);
	log_set_budget(&log_, 3 * M);
	CU_ASSERT_PTR_NULL(log_reserve(&log_, 64 * M));
	CU_ASSERT_TRUE(resident() <= before + 3 * M);
	CU_ASSERT_TRUE(resident() > before + 2 * M);
	region_close(&log_);
}
