/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The history of frees: who has freed a block that is freed again. */

#include <sys/mman.h>

#include "free_history_hammer.h"
#include "log/free_history.h"
#include "log/log_layout.h"
#include "log/log_unknown_free.h"
#include "log/ring.h"
#include "region.h"
#include "unit.h"
#include "unwind/walk.h"

#define SIZE	(2 * LOG_REGION_MIN)
#define A	0x10000ull
#define NR	8u

static struct log log_;

static void begin(uint32_t history)
{
	region_open(SIZE, &log_);
	CU_ASSERT_PTR_NULL(log_set_free_history(&log_, history));
}

static void end(void)
{
	munmap(log_.base, SIZE);
}

static struct log_free free_of(uint64_t address, uint64_t block_time)
{
	return (struct log_free){ .address = address, .block_time = block_time,
				  .time = block_time + 1, .thread = 7, .stack = 9 };
}

static void note(uint64_t address, uint64_t block_time)
{
	struct log_free free = free_of(address, block_time);

	free_history_note(&log_, &free);
}

static bool is_there(uint64_t address, uint64_t block_time)
{
	struct log_free want = free_of(address, block_time), is;

	if (!free_history_first(&log_, address, block_time, &is))
		return false;
	CU_ASSERT(is.address == want.address && is.block_time == want.block_time);
	CU_ASSERT(is.time == want.time && is.thread == 7 && is.stack == 9);
	return true;
}

/* A block is known by its address and its time. */
TEST("which block")
{
	begin(NR);
	CU_ASSERT_FALSE(is_there(A, 100));
	note(A, 100);
	note(A, 200);
	note(A + 16, 300);
	CU_ASSERT_TRUE(is_there(A, 100));
	CU_ASSERT_TRUE(is_there(A, 200));
	CU_ASSERT_TRUE(is_there(A + 16, 300));
	CU_ASSERT_FALSE(is_there(A, 300));
	CU_ASSERT_FALSE(is_there(A + 16, 100));
	end();
}

/* The last ones, and none where none is to be remembered. */
TEST("length")
{
	begin(0);
	note(A, 1);
	CU_ASSERT_FALSE(is_there(A, 1));
	CU_ASSERT_EQUAL(log_.header->frees, 0);
	CU_ASSERT_PTR_NULL(log_set_free_history(&log_, NR));
	CU_ASSERT_EQUAL(log_config(&log_).free_history, NR);
	for (unsigned i = 1; i <= NR + 3; i++)
		note(A, i);
	for (unsigned i = 1; i <= NR + 3; i++)
		CU_ASSERT_EQUAL(is_there(A, i), i > 3);
	CU_ASSERT_PTR_NULL(log_set_free_history(&log_, 2));
	note(A, 50);
	note(A, 51);
	CU_ASSERT_TRUE(is_there(A, 50) && is_there(A, 51));
	note(A, 52);
	CU_ASSERT_FALSE(is_there(A, 50));
	CU_ASSERT_PTR_NULL(log_set_free_history(&log_, 0));
	CU_ASSERT_FALSE(is_there(A, 52));
	CU_ASSERT_PTR_NULL(log_set_free_history(&log_, NR));
	CU_ASSERT_TRUE(is_there(A, 52));
	note(A, 60);
	CU_ASSERT_TRUE(is_there(A, 60));
	log_reset(&log_);
	CU_ASSERT_FALSE(is_there(A, 60));
	CU_ASSERT_EQUAL(log_config(&log_).free_history, NR);
	end();
}

TEST("refused")
{
	struct log_config config = { .region_size = SIZE, .stack_depth = 1, .sample = 100,
				     .free_history = 1 };
	struct log large = { 0 };
	void *base = region_map(SIZE);
	struct log sampling;

	begin(NR);
	CU_ASSERT(log_.nr_frees >= 4096 && log_.nr_frees < LOG_FREES_MAX);
	CU_ASSERT_PTR_NULL(log_set_free_history(&log_, log_.nr_frees));
	CU_ASSERT_EQUAL(log_set_free_history(&log_, log_.nr_frees + 1)->code, ERR_USAGE);
	CU_ASSERT_EQUAL(log_config(&log_).free_history, log_.nr_frees);
	end();
	CU_ASSERT_EQUAL(log_format(base, &config, &sampling)->code, ERR_USAGE);
	config.free_history = 0;
	CU_ASSERT_PTR_NULL(log_format(base, &config, &sampling));
	CU_ASSERT_EQUAL(log_set_free_history(&sampling, 1)->code, ERR_USAGE);
	CU_ASSERT_PTR_NULL(log_set_free_history(&sampling, 0));
	munmap(base, SIZE);
	CU_ASSERT_TRUE(log_layout((void *)LOG_PAGE, 1ull << 30, LOG_PAGE * 64, &large));
	CU_ASSERT_EQUAL(large.nr_frees, LOG_FREES_MAX);
}

/* What a writer that died in the middle has left is in nobody's way. */
TEST("death of a writer")
{
	begin(NR);
	for (unsigned i = 1; i <= NR; i++)
		note(A, i);
	log_.freed[3].ticket = ring_ticket(3) | RING_BUSY;
	CU_ASSERT_FALSE(is_there(A, 4));
	for (unsigned i = 101; i <= 100 + NR; i++)
		note(A, i);
	for (unsigned i = 101; i <= 100 + NR; i++)
		CU_ASSERT_EQUAL(is_there(A, i), i != 104);
	end();
}

/* What the target writes there leads nobody astray. */
TEST("nonsense")
{
	struct log_free free;

	begin(NR);
	memset(log_.freed, 0xff, NR * sizeof(*log_.freed));
	log_.header->frees = log_.header->free_history = UINT64_MAX;
	CU_ASSERT_EQUAL(free_history_kept(&log_), log_.nr_frees);
	CU_ASSERT_FALSE(free_history_first(&log_, ~0ull, ~0ull, &free));
	note(A, 5);
	log_.header->frees = UINT64_MAX;
	memset(log_.freed, 0xfe, NR * sizeof(*log_.freed));
	CU_ASSERT_TRUE(free_history_first(&log_, 0xfefefefefefefefe, 0xfefefefefefefefe, &free));
	end();
}

static uint64_t resident(const void *start, uint64_t bytes)
{
	unsigned char in_core[LOG_FREES_MAX * sizeof(struct log_free_slot) / LOG_PAGE];
	uint64_t nr = 0;

	CU_ASSERT_EQUAL_FATAL(mincore((void *)(uintptr_t)start, bytes, in_core), 0);
	for (uint64_t i = 0; i < bytes / LOG_PAGE; i++)
		nr += in_core[i] & 1;
	return nr;
}

/* It takes memory as it is long, or was since the last reset, faulted in by mdbg. */
TEST("memory")
{
	uint64_t other, room;

	begin(0);
	room = log_.nr_frees * sizeof(*log_.freed);
	other = log_usage(&log_).other_bytes;
	CU_ASSERT_PTR_NULL(log_reserve(&log_, 1 << 20));
	CU_ASSERT_EQUAL(resident(log_.freed, room), 0);
	CU_ASSERT_PTR_NULL(log_set_free_history(&log_, 640));
	CU_ASSERT_EQUAL(log_usage(&log_).other_bytes - other, 640 * sizeof(*log_.freed));
	CU_ASSERT_PTR_NULL(log_reserve(&log_, 1 << 20));
	CU_ASSERT_EQUAL(resident(log_.freed, room), 10);
	CU_ASSERT_PTR_NULL(log_set_free_history(&log_, 65));
	CU_ASSERT_PTR_NULL(log_reserve(&log_, 1 << 20));
	CU_ASSERT_EQUAL(log_usage(&log_).other_bytes - other, 640 * sizeof(*log_.freed));
	CU_ASSERT_PTR_NULL(log_set_free_history(&log_, 0));
	log_reset(&log_);
	CU_ASSERT_EQUAL(resident(log_.freed, room), 0);
	CU_ASSERT_EQUAL(log_usage(&log_).other_bytes, other);
	end();
}

/* --- as a double free has it --- */

static const struct free_facts facts = { .complete = 1, .library = { { 0x7000, 0x8000 } } };

static void put(uint64_t address, uint64_t time)
{
	struct log_record record = { .address = address, .size = 10, .time = time,
				     .heap = LOG_HEAP_UNKNOWN };

	CU_ASSERT_TRUE(log_record_insert(&log_, &record, NULL));
}

/* Freed, and remembered. */
static void take_block(uint64_t address)
{
	struct log_record old;

	CU_ASSERT_TRUE(log_record_remove(&log_, address, 0, &old));
	note(address, old.time);
}

static void free_again(uint64_t address)
{
	static const uint64_t pcs[] = { 0x7100, 0x1000 };
	struct log_unknown_free free = {
		.address = address, .time = log_now(),
		.stack = stack_table_insert(&log_, pcs, 2, WALK_COMPLETE, 1),
	};

	CU_ASSERT_FALSE(log_record_remove(&log_, address, 0, NULL));
	log_unknown_free(&log_, &free, &facts, 0, true);
}

static bool see(const struct log_unknown_free *unknown, void *ctx)
{
	*(struct log_unknown_free *)ctx = *unknown;
	return false;
}

static struct log_unknown_free newest(enum log_unknown_free_kind kind)
{
	struct log_unknown_free unknown = { .address = 0 };

	reader_each_unknown_free(&log_, kind, see, &unknown);
	return unknown;
}

TEST("with a double free")
{
	struct log_unknown_free unknown;
	uint64_t t;

	begin(NR);
	t = log_now();
	put(A, t);
	take_block(A);
	put(A, t + 10);
	take_block(A);
	free_again(A);
	unknown = newest(LOG_UNKNOWN_FREE_DOUBLE);
	CU_ASSERT_EQUAL(unknown.block.time, t + 10);
	CU_ASSERT(unknown.history == NR && unknown.first.time == t + 11);
	CU_ASSERT(unknown.first.block_time == t + 10 && unknown.first.address == A);
	CU_ASSERT(unknown.first.thread == 7 && unknown.first.stack == 9);
	/* It stays with the double free when the ring has others. */
	for (unsigned i = 0; i < NR; i++)
		note(A + 16, 1000 + i);
	CU_ASSERT_EQUAL(newest(LOG_UNKNOWN_FREE_DOUBLE).first.time, t + 11);
	free_again(A);
	unknown = newest(LOG_UNKNOWN_FREE_DOUBLE);
	CU_ASSERT(unknown.history == NR && !unknown.first.time && !unknown.first.stack);
	CU_ASSERT_PTR_NULL(log_set_free_history(&log_, 0));
	free_again(A);
	unknown = newest(LOG_UNKNOWN_FREE_DOUBLE);
	CU_ASSERT(!unknown.history && !unknown.first.time);
	free_again(A + 160);
	unknown = newest(LOG_UNKNOWN_FREE_OTHER);
	CU_ASSERT(unknown.address == A + 160 && !unknown.history && !unknown.first.time);
	end();
}

TEST("hammer, a short ring")
{
	struct free_history_spec spec =
 { .writers = 3, .readers = 2, .operations = 300000, .history = 4 };

	CU_ASSERT_EQUAL(free_history_hammer(&spec), 0);
}

TEST("hammer, a longer one")
{
	struct free_history_spec spec = { .writers = 2, .readers = 1, .operations = 50000,
				   .history = 200 };

	CU_ASSERT_EQUAL(free_history_hammer(&spec), 0);
}
