/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deferred stacks: kept, finished, and read as what they are a part of. */

#include "log/log_deferred.h"

#include <string.h>

#include "deferred_hammer.h"
#include "log/log_totals.h"
#include "log/stack_table.h"
#include "region.h"
#include "unwind/walk.h"

#define SIZE		(32ull << 20)
#define GENERATION	7
#define PC		0x7f1234567890ull
#define ADDRESS		0x5000

static struct log log_;
static struct deferred_seen seen;
static struct deferred_copy copy;

static void begin(void)
{
	region_open(SIZE, &log_);
	CU_ASSERT_PTR_NULL_FATAL(log_reserve(&log_, 0));
}

static void end(void)
{
	region_close(&log_);
}

EACH(begin, end);

static uint32_t defer(uint64_t hash, uint32_t thread)
{
	uint64_t pcs[] = { 1, 2, PC, 99 }, words[] = { 10, 11, 12 };
	struct deferred_walk walk = { .pc = PC, .sp = 0x7ff0, .nr = 3, .at = 2, .thread = thread,
				      .generation = GENERATION, .len = sizeof(words),
				      .end = WALK_NO_MODULE };
	uint32_t id = log_deferred_add(&log_, &walk, hash, pcs, words);

	CU_ASSERT(pcs[0] == 1 && pcs[1] == 2 && pcs[2] == PC && pcs[3] == 99);
	return id;
}

static uint32_t whole_stack(void)
{
	static const uint64_t pcs[] = { 1, 2, PC, 3, 4, 5 };

	return stack_table_insert(&log_, pcs, 6, WALK_COMPLETE, GENERATION + 1);
}

/* How many are ready, and were taken. */
static unsigned finish_all(uint32_t whole)
{
	unsigned nr = 0;
	uint32_t stack;

	log_deferred_take_look(&log_, &seen);
	for (uint32_t i = 0; i < log_.nr_deferred; i++)
		if (log_deferred_take(&log_, &seen, i, &copy, &stack)) {
			nr++;
			log_deferred_take_finish(&log_, i, stack, whole);
		}
	return nr;
}

static uint32_t stack_of_block(void)
{
	struct log_record record;

	CU_ASSERT_FATAL(log_record_lookup(&log_, ADDRESS, &record));
	return record.stack;
}

TEST("known as a whole")
{
	struct log_record record = { .address = ADDRESS, .size = 8, .time = log_now() };
	struct log_stack_view view;
	struct log_totals totals;
	uint32_t id, whole;

	id = record.stack = defer(42, 0);
	CU_ASSERT_FATAL(id && log_record_insert(&log_, &record, NULL));
	stack_table_count(&log_, id, 2, 16);
	view = reader_stack(&log_, id);
	CU_ASSERT(view.nr == 3 && view.pcs[2] == PC && view.end == WALK_DEFERRED);
	CU_ASSERT_EQUAL(view.total, 2);
	CU_ASSERT_EQUAL(stack_of_block(), id);
	whole = whole_stack();
	CU_ASSERT_EQUAL(finish_all(whole), 1);
	CU_ASSERT(copy.walk.pc == PC && copy.walk.sp == 0x7ff0 && copy.walk.len == 24);
	CU_ASSERT(copy.pcs[1] == 2 && copy.stack[8] == 11 && seen.nr == 1);
	CU_ASSERT_EQUAL(stack_of_block(), whole);
	view = reader_stack(&log_, id);
	CU_ASSERT(view.nr == 6 && view.end == WALK_COMPLETE && view.generation == GENERATION + 1);
	CU_ASSERT_EQUAL(view.total, 0);
	CU_ASSERT_PTR_NULL_FATAL(log_totals_init(&log_, &totals));
	log_totals_begin(&log_, &totals);
	log_totals_end(&totals);
	CU_ASSERT(totals.at[whole].blocks == 2 && totals.at[whole].bytes == 16 && !totals.at[id].blocks);
	log_totals_free(&totals);
	/* The same again needs no copy any more. */
	CU_ASSERT_EQUAL(defer(42, 0), id);
	CU_ASSERT_EQUAL(finish_all(whole), 0);
}

TEST("the same again")
{
	uint32_t id;

	id = defer(1, 0);
	for (unsigned i = 0; i < 10000; i++)
		CU_ASSERT_FATAL(defer(1, 0) == id);
	CU_ASSERT_NOT_EQUAL(defer(2, 0), id);
	CU_ASSERT_EQUAL(finish_all(whole_stack()), 2);
}

TEST("no copy left")
{
	CU_ASSERT(log_.nr_deferred && log_.nr_deferred < DEFERRED_COPIES);
	for (uint32_t i = 0; i < log_.nr_deferred; i++)
		CU_ASSERT_FATAL(defer(100 + i, 0));
	CU_ASSERT(!defer(99, 0) && defer(100, 0));
	CU_ASSERT_EQUAL(finish_all(whole_stack()), log_.nr_deferred);
	CU_ASSERT(defer(99, 0));
	/* What is not faulted in is not touched. */
	log_.deferred->ready = 0;
	CU_ASSERT(!defer(98, 0));
	log_.deferred->ready = UINT32_MAX;
	CU_ASSERT(defer(98, 0));
}

static bool is_gone(uint32_t lwp, void *ctx)
{
	return lwp == *(uint32_t *)ctx;
}

TEST("budget")
{
	uint32_t nobody = 0;

	for (unsigned i = 0; i < DEFERRED_BUDGET; i++) {
		CU_ASSERT_FATAL(log_deferred_may(&log_));
		defer(1, 0);
	}
	CU_ASSERT_FALSE(log_deferred_may(&log_));
	log_deferred_take_renew(&log_, is_gone, &nobody);
	CU_ASSERT(log_deferred_may(&log_));
}

TEST("marked ranges")
{
	CU_ASSERT_FALSE(log_deferred_is_marked(&log_, 0x1000, GENERATION));
	log_deferred_take_mark(&log_, 0x1000, 0x2000, GENERATION);
	CU_ASSERT(log_deferred_is_marked(&log_, 0x1000, GENERATION));
	CU_ASSERT(log_deferred_is_marked(&log_, 0x1fff, GENERATION));
	CU_ASSERT_FALSE(log_deferred_is_marked(&log_, 0x2000, GENERATION));
	CU_ASSERT_FALSE(log_deferred_is_marked(&log_, 0x1000, GENERATION + 1));
	log_deferred_take_mark(&log_, 0x5000, 0x6000, GENERATION + 1);
	CU_ASSERT_FALSE(log_deferred_is_marked(&log_, 0x1000, GENERATION + 1));
	CU_ASSERT(log_deferred_is_marked(&log_, 0x5000, GENERATION + 1));
	/* The oldest gives way, and the same one takes no other place. */
	for (unsigned i = 0; i < 3 * DEFERRED_RANGES; i++)
		log_deferred_take_mark(&log_, 0x10000, 0x20000, GENERATION + 1);
	CU_ASSERT(log_deferred_is_marked(&log_, 0x5000, GENERATION + 1));
	for (uint64_t i = 0; i < DEFERRED_RANGES; i++)
		log_deferred_take_mark(&log_, i << 20, (i << 20) + 1, GENERATION + 1);
	CU_ASSERT_FALSE(log_deferred_is_marked(&log_, 0x5000, GENERATION + 1));
}

/* A claim of a thread that is gone is free again; of one that lives, or is unknown, it is not. */
TEST("death of a writer")
{
	uint32_t dead = 11, a, b;

	a = registry_thread(&log_, 0x1000, dead);
	b = registry_thread(&log_, 0x2000, 12);
	log_.deferred->head[0].claim = DEFERRED_BUSY | (uint64_t)a << 32;
	log_.deferred->head[1].claim = DEFERRED_BUSY | (uint64_t)b << 32;
	log_.deferred->head[2].claim = DEFERRED_BUSY;
	CU_ASSERT(defer(5, a));
	log_deferred_take_renew(&log_, is_gone, &dead);
	CU_ASSERT(!log_.deferred->head[0].claim && log_.deferred->head[1].claim);
	CU_ASSERT(log_.deferred->head[2].claim && log_.deferred->head[3].claim);
	CU_ASSERT_EQUAL(finish_all(whole_stack()), 1);
}

/* Copy 0 is of no use: it is dropped, and the stack stays as it is. */
static void dropped(uint32_t id)
{
	CU_ASSERT_EQUAL(finish_all(whole_stack()), 0);
	CU_ASSERT(!log_.deferred->head[0].claim && log_deferred_whole(&log_, id) == id);
}

TEST("nonsense")
{
	uint32_t id, plain, nr;
	struct log_stack *stack;

	plain = whole_stack();
	for (unsigned i = 0; i < 7; i++) {
		id = defer(1000 + i, 0);
		CU_ASSERT_FATAL(id && log_.deferred->head[0].claim == (DEFERRED_READY | id));
		switch (i) {
		case 0: log_.deferred_copy[0].walk.nr = LOG_DEPTH_MAX + 1; break;
		case 1: log_.deferred_copy[0].walk.at = 3; break;
		case 2: log_.deferred_copy[0].walk.len = UINT32_MAX; break;
		case 3: log_.deferred_copy[0].walk.end = WALK_DEFERRED; break;
		case 4: log_.deferred->head[0].hash++; break;
		case 5: log_.deferred->head[0].claim = DEFERRED_READY | plain; break;
		case 6: log_.deferred->head[0].claim = DEFERRED_READY | UINT32_MAX; break;
		}
		dropped(id);
	}
	CU_ASSERT_EQUAL(log_deferred_whole(&log_, plain), plain);
	/* Forwards that lead nowhere, to itself, and to another one that is deferred. */
	stack = stack_table_find(&log_, id, &nr);
	for (unsigned i = 0; i < 3; i++) {
		stack->forward = (uint32_t[]){ UINT32_MAX, id, id - 1 }[i];
		CU_ASSERT_EQUAL(log_deferred_whole(&log_, id), id);
		CU_ASSERT_EQUAL(reader_stack(&log_, id).nr, 3);
	}
	stack = stack_table_find(&log_, plain, &nr);
	stack->forward = id;
	CU_ASSERT_EQUAL(log_deferred_whole(&log_, plain), plain);
}

TEST("hammer, few stacks")
{
	struct deferred_spec spec = { .writers = 4, .kinds = 8, .operations = 100000 };

	CU_ASSERT_EQUAL(deferred_hammer(&spec), 0);
}

/* More than there are copies. */
TEST("hammer, many")
{
	struct deferred_spec spec = { .writers = 3, .kinds = 2000, .operations = 100000 };

	CU_ASSERT_EQUAL(deferred_hammer(&spec), 0);
}
