/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The allocation table, one writer: what goes in comes out, whatever the windows look like. */

#include "log/fast_path.h"
#include "log/primary_slot.h"

#include <string.h>

#include "region.h"
#include "same_record.h"

#define REGION	(96ull << 20)
#define BASE	0x555555559000ull

static struct log log_;
static uint32_t thread_;	/* 0: the entry of all, which takes the slow path; 1: one of its own */

static void open_log(uint64_t size)
{
	region_open(size, &log_);
	CU_ASSERT_EQUAL_FATAL(registry_thread(&log_, 1, 1), 1);
}

static int by_all(void)
{
	thread_ = 0;
	return 0;
}

static int by_one(void)
{
	thread_ = 1;
	return 0;
}

SUITE("block table, by all", by_all, NULL);
SUITE("block table", by_one, NULL);

static struct log_record record(uint64_t address, uint64_t time)
{
	return (struct log_record){
		.address = address, .size = address % 1000 + 1, .time = time,
		.thread = thread_, .stack = (uint32_t)(address >> 4) % 8192, .heap = (uint16_t)(address % 7),
	};
}

static bool count_one(const struct log_record *at, uint64_t slot, void *ctx)
{
	(void)slot;
	(void)at;
	++*(uint64_t *)ctx;
	return false;
}

static uint64_t scanned(const struct log *log)
{
	uint64_t nr = 0;

	reader_each(log, count_one, &nr);
	return nr;
}

TEST("insert and remove")
{
	struct log_record in = record(BASE, 17), out, old;

	open_log(LOG_REGION_MIN);
	CU_ASSERT_FALSE(log_record_lookup(&log_, BASE, &out));
	CU_ASSERT_TRUE(log_record_insert(&log_, &in, &old));
	CU_ASSERT_EQUAL(old.address, 0);
	CU_ASSERT_TRUE(log_record_lookup(&log_, BASE, &out));
	CU_ASSERT_TRUE(same_record(&in, &out));
	memset(&out, 0, sizeof(out));
	CU_ASSERT_TRUE(log_record_remove(&log_, BASE, thread_, &out));
	CU_ASSERT_TRUE(same_record(&in, &out));
	CU_ASSERT_FALSE(log_record_lookup(&log_, BASE, &out));
	CU_ASSERT_FALSE(log_record_remove(&log_, BASE, thread_, &out));
	CU_ASSERT_EQUAL(out.address, BASE);	/* its retired record */
	CU_ASSERT_FALSE(log_record_remove(&log_, BASE + 16, thread_, &out));
	CU_ASSERT_EQUAL(out.address, 0);
	CU_ASSERT_EQUAL(reader_accounts(&log_).unknown_frees, 2);
	CU_ASSERT_EQUAL(scanned(&log_), 0);
	region_check_sums(&log_, 0);
	region_close(&log_);
}

/* What was there is still known when it has gone, until a reset. */
TEST("what it knew")
{
	struct log_record in = record(BASE, 1);

	open_log(REGION);
	CU_ASSERT_FALSE(log_record_knew(&log_, BASE));
	CU_ASSERT_TRUE(log_record_insert(&log_, &in, NULL));
	CU_ASSERT_TRUE(log_record_knew(&log_, BASE));
	CU_ASSERT_TRUE(log_record_remove(&log_, BASE, thread_, NULL));
	CU_ASSERT_TRUE(log_record_knew(&log_, BASE));
	CU_ASSERT_FALSE(log_record_knew(&log_, BASE + 16));
	CU_ASSERT_FALSE(log_record_knew(&log_, 1ull << 60));
	log_reset(&log_);
	CU_ASSERT_FALSE(log_record_knew(&log_, BASE));
	region_close(&log_);
}

/* What was there at an earlier moment, as long as nobody else has its place. */
TEST("what there was")
{
	struct log_record in = record(BASE, 1), out;
	uint64_t until = in.time;

	open_log(REGION);
	CU_ASSERT_EQUAL(log_record_past(&log_, BASE, until, &out), LOG_NEVER);
	CU_ASSERT_TRUE(log_record_insert(&log_, &in, NULL));
	CU_ASSERT_EQUAL(log_record_past(&log_, BASE, until, &out), LOG_PAST);
	CU_ASSERT_TRUE(same_record(&in, &out));
	CU_ASSERT_EQUAL(log_record_past(&log_, BASE, until - 1, &out), LOG_SINCE);
	CU_ASSERT_TRUE(log_record_remove(&log_, BASE, thread_, NULL));
	memset(&out, 0, sizeof(out));
	CU_ASSERT_EQUAL(log_record_past(&log_, BASE, until, &out), LOG_PAST);
	CU_ASSERT_TRUE(same_record(&in, &out));
	CU_ASSERT_EQUAL(log_record_past(&log_, BASE, until - 1, &out), LOG_SINCE);
	in.time++;
	CU_ASSERT_TRUE(log_record_insert(&log_, &in, NULL));
	CU_ASSERT_EQUAL(log_record_past(&log_, BASE, until, &out), LOG_SINCE);
	CU_ASSERT_EQUAL(log_record_past(&log_, BASE + 16, until, &out), LOG_NEVER);
	CU_ASSERT_EQUAL(log_record_past(&log_, 1ull << 60, until, &out), LOG_NEVER);
	region_close(&log_);
}

TEST("largest fields")
{
	struct log_record in = {
		.address = 1, .size = ~0ull, .time = ~0ull, .thread = 0xffff, .stack = ~0u,
			.heap = 0xffff,
	}, out;

	open_log(LOG_REGION_MIN);
	CU_ASSERT_TRUE(log_record_insert(&log_, &in, NULL));
	CU_ASSERT_TRUE(log_record_lookup(&log_, 1, &out));
	CU_ASSERT_TRUE(out.address == 1 && out.size == LOG_SIZE_MAX && out.time == ~0ull && out.heap == 0xffff);
	in.size = LOG_SIZE_MAX;
	CU_ASSERT_TRUE(log_record_remove(&log_, 1, thread_, &out));
	CU_ASSERT_TRUE(same_record(&in, &out));
	CU_ASSERT_EQUAL(reader_accounts(&log_).alloc_bytes, reader_accounts(&log_).free_bytes);
	region_close(&log_);
}

TEST("odd addresses")
{
	static const uint64_t good[] = { 1, 2, 15, 16, KEY_ADDRESS, KEY_ADDRESS - 1, 1ull << 55,
					0x7fffffffffff };
	static const uint64_t bad[] = { 0, KEY_ADDRESS + 1, ~0ull, 1ull << 63, KEY_LIVE | 16 };
	struct log_record out;

	open_log(LOG_REGION_MIN);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct log_record in = record(good[i], i + 1);

		CU_ASSERT_TRUE(log_record_insert(&log_, &in, NULL));
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct log_record in = record(bad[i], i + 1), old = { .address = 5 };

		CU_ASSERT_FALSE(log_record_insert(&log_, &in, &old));
		CU_ASSERT_EQUAL(old.address, 0);
		CU_ASSERT_FALSE(log_record_lookup(&log_, bad[i], &out));
		CU_ASSERT_FALSE(log_record_remove(&log_, bad[i], thread_, &out));
		CU_ASSERT_FALSE(log_record_restore(&log_, &in, thread_));
	}
	CU_ASSERT_EQUAL(reader_accounts(&log_).table_full, 2 * ARRAY_SIZE(bad));
	CU_ASSERT_EQUAL(reader_accounts(&log_).unknown_frees, ARRAY_SIZE(bad));
	region_check_sums(&log_, ARRAY_SIZE(good));
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		CU_ASSERT_TRUE(log_record_remove(&log_, good[i], thread_, &out));
		CU_ASSERT_EQUAL(out.address, good[i]);
	}
	region_check_sums(&log_, 0);
	region_close(&log_);
}

TEST("replaced")
{
	struct log_record first = record(BASE, 1), second = record(BASE, 2), old, out;

	second.size = 5000;
	open_log(LOG_REGION_MIN);
	CU_ASSERT_TRUE(log_record_insert(&log_, &first, NULL));
	CU_ASSERT_TRUE(log_record_insert(&log_, &second, &old));
	CU_ASSERT_TRUE(same_record(&old, &first));
	CU_ASSERT_TRUE(log_record_lookup(&log_, BASE, &out));
	CU_ASSERT_TRUE(same_record(&out, &second));
	CU_ASSERT_EQUAL(reader_accounts(&log_).replaced, 1);
	CU_ASSERT_EQUAL(reader_accounts(&log_).allocs, 2);
	CU_ASSERT_EQUAL(reader_accounts(&log_).alloc_bytes - reader_accounts(&log_).free_bytes,
			5000);
	CU_ASSERT_EQUAL(scanned(&log_), 1);
	region_check_sums(&log_, 1);
	region_close(&log_);
}

TEST("restore")
{
	struct log_record in = record(BASE, 9), taken, out;

	open_log(LOG_REGION_MIN);
	CU_ASSERT_TRUE(log_record_insert(&log_, &in, NULL));
	CU_ASSERT_TRUE(log_record_remove(&log_, BASE, thread_, &taken));
	CU_ASSERT_TRUE(log_record_restore(&log_, &taken, thread_));
	CU_ASSERT_TRUE(log_record_lookup(&log_, BASE, &out));
	CU_ASSERT_TRUE(same_record(&in, &out));
	CU_ASSERT_EQUAL(reader_accounts(&log_).frees, 0);
	CU_ASSERT_EQUAL(reader_accounts(&log_).free_bytes, 0);
	region_check_sums(&log_, 1);
	region_close(&log_);
}

/*
 * The retired record is gone when all the slots of the window have been used by others: the record
 * comes back elsewhere.
 */
TEST("restore without ghost")
{
	struct log_record in = record(BASE, 9), taken, out;
	uint64_t nr = 0;
	bool early;

	open_log(LOG_REGION_MIN);
	CU_ASSERT_TRUE(log_record_insert(&log_, &in, NULL));
	CU_ASSERT_TRUE(log_record_remove(&log_, BASE, thread_, &taken));
	for (uint64_t i = 1; ; i++) {
		struct log_record other = record(BASE + i * 16, 10 + i);

		if (!log_record_insert(&log_, &other, NULL))
			break;
		nr++;
	}
	CU_ASSERT_TRUE(nr > 80000);
	early = log_record_restore(&log_, &taken, thread_);
	for (uint64_t i = 1; i <= nr; i++)
		CU_ASSERT_TRUE(log_record_remove(&log_, BASE + i * 16, thread_, &out));
	if (!early)
		CU_ASSERT_TRUE(log_record_restore(&log_, &taken, thread_));
	CU_ASSERT_TRUE(log_record_lookup(&log_, BASE, &out));
	CU_ASSERT_TRUE(same_record(&in, &out));
	region_check_sums(&log_, 1);
	region_close(&log_);
}

/* Through several tables, until nothing more fits; each block exactly once, each event counted. */
TEST("growth until full")
{
	uint64_t inserted = 0, refused = 0, nr;
	struct log_record out;
	uint8_t *in;

	open_log(REGION);
	nr = tables_bytes(&log_, log_.nr_tables) / sizeof(struct log_slot);
	in = calloc(nr, 1);
	for (uint64_t i = 0; i < nr; i++) {
		struct log_record one = record(BASE + i * 48, i + 1);

		in[i] = log_record_insert(&log_, &one, NULL);
		inserted += in[i];
		refused += !in[i];
	}
	CU_ASSERT_EQUAL(log_.header->tables, log_.nr_tables);
	CU_ASSERT_TRUE(log_.nr_tables >= 3);
	CU_ASSERT_TRUE(refused > 0);
	CU_ASSERT_EQUAL(reader_accounts(&log_).table_full, refused);
	CU_ASSERT_TRUE(inserted > log_usage(&log_).table_slots * 9 / 10);
	CU_ASSERT_EQUAL(scanned(&log_), inserted);
	region_check_sums(&log_, inserted);
	for (uint64_t i = 0; i < nr; i++) {
		bool found = log_record_lookup(&log_, BASE + i * 48, &out);

		CU_ASSERT_EQUAL_FATAL(found, in[i]);
		CU_ASSERT_TRUE_FATAL(!found || (out.address == BASE + i * 48 && out.time == i + 1));
	}
	for (uint64_t i = 0; i < nr; i++)
		CU_ASSERT_EQUAL_FATAL(log_record_remove(&log_, BASE + i * 48, thread_, &out),
				      in[i]);
	CU_ASSERT_EQUAL(scanned(&log_), 0);
	CU_ASSERT_EQUAL(reader_accounts(&log_).unknown_frees, refused);
	region_check_sums(&log_, 0);
	free(in);
	region_close(&log_);
}

/*
 * Free slots of all tables are used before another is added: a set of the same size never makes the
 * log grow, whatever its addresses.
 */
TEST("no growth in steady state")
{
	enum { LIVE = 20000, ROUNDS = 40 };
	struct log_record out;
	uint32_t tables = 0;

	open_log(REGION);
	for (uint64_t i = 0; i < (uint64_t)LIVE * ROUNDS; i++) {
		struct log_record one = record(BASE + i * 32, i + 1);

		CU_ASSERT_TRUE_FATAL(log_record_insert(&log_, &one, NULL));
		if (i >= LIVE)
			CU_ASSERT_TRUE_FATAL(log_record_remove(&log_, BASE + (i - LIVE) * 32,
							       thread_, &out));
		if (i == 4 * LIVE)
			tables = log_.header->tables;
	}
	CU_ASSERT_EQUAL(tables, log_.header->tables);
	CU_ASSERT_EQUAL(scanned(&log_), LIVE);
	region_check_sums(&log_, LIVE);
	region_close(&log_);
}

/*
 * An address that comes back is in one slot, even after it went to its second window, to another
 * table, and back.
 */
TEST("reuse of addresses")
{
	enum { NR = 100000, ROUNDS = 8 };
	struct log_record out;
	uint32_t x = 1;

	open_log(REGION);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (uint64_t i = 0; i < NR; i++) {
			struct log_record one = record(BASE + i * 16, round * NR + i + 1);

			CU_ASSERT_TRUE_FATAL(log_record_insert(&log_, &one, &out));
			CU_ASSERT_TRUE_FATAL(!out.address || out.address == one.address);
		}
		CU_ASSERT_EQUAL_FATAL(scanned(&log_), NR);
		for (uint64_t i = 0; i < NR; i++) {
			x = x * 1664525 + 1013904223;
			if (x >> 30)
				CU_ASSERT_TRUE_FATAL(log_record_remove(&log_, BASE + i * 16,
								       thread_, &out));
		}
	}
	region_check_sums(&log_, scanned(&log_));
	region_close(&log_);
}

/* A writer that died: slots claimed for ever are passed by, the rest works. */
TEST("dead claims")
{
	struct log_record out;
	uint64_t claimed = 0;

	open_log(LOG_REGION_MIN);
	for (uint32_t i = 0; i < log_.table[0].nr; i++) {
		for (unsigned j = 0; j < WINDOW_SLOTS; j += 2) {
			log_.table[0].window[i].slot[j].key = KEY_CLAIMED | KEY_SEQUENCE_ONE;
			claimed++;
		}
	}
	for (uint64_t i = 1; i <= 20000; i++) {
		struct log_record one = record(BASE + i * 16, i);

		CU_ASSERT_TRUE_FATAL(log_record_insert(&log_, &one, NULL));
	}
	CU_ASSERT_EQUAL(scanned(&log_), 20000);
	for (uint64_t i = 1; i <= 20000; i++)
		CU_ASSERT_TRUE_FATAL(log_record_remove(&log_, BASE + i * 16, thread_, &out));
	for (uint32_t i = 0; i < log_.table[0].nr; i++)
		for (unsigned j = 0; j < WINDOW_SLOTS; j++)
			claimed -= (log_.table[0].window[i].slot[j].key & KEY_STATE) == KEY_CLAIMED;
	CU_ASSERT_EQUAL(claimed, 0);
	region_close(&log_);
}

/* A remove that died between its two stores has not begun. */
TEST("dead remove")
{
	struct log_record in = record(BASE, 1), again = record(BASE, 2), out;
	struct log_window *window;

	open_log(LOG_REGION_MIN);
	CU_ASSERT_TRUE(log_record_insert(&log_, &in, NULL));
	window = log_.table[0].window;
	for (uint32_t i = 0; i < log_.table[0].nr; i++)
		for (unsigned j = 0; j < 4; j++)
			window[i].tags[j] &= ~0x8000800080008000ull;
	CU_ASSERT_TRUE(log_record_lookup(&log_, BASE, &out));
	for (uint64_t i = 1; i <= 30000; i++) {
		struct log_record one = record(BASE + i * 16, i);

		CU_ASSERT_TRUE_FATAL(log_record_insert(&log_, &one, NULL));
	}
	CU_ASSERT_TRUE(log_record_insert(&log_, &again, &out));
	CU_ASSERT_TRUE(same_record(&out, &in));
	CU_ASSERT_EQUAL(scanned(&log_), 30001);
	region_close(&log_);
}

static bool stop_at_three(const struct log_record *at, uint64_t slot, void *ctx)
{
	(void)slot;
	(void)at;
	return ++*(unsigned *)ctx == 3;
}

TEST("a scan can be ended")
{
	unsigned calls = 0;

	open_log(LOG_REGION_MIN);
	for (uint64_t i = 1; i <= 10; i++) {
		struct log_record one = record(BASE + i * 16, i);

		CU_ASSERT_TRUE(log_record_insert(&log_, &one, NULL));
	}
	reader_each(&log_, stop_at_three, &calls);
	CU_ASSERT_EQUAL(calls, 3);
	region_close(&log_);
}

/* Out and in again by the fast path: the record need not come out. */
TEST("the fast path")
{
	struct log_record in = record(BASE, 1), out;

	open_log(LOG_REGION_MIN);
	for (uint64_t i = 1; i <= 1000; i++) {
		in.time = i;
		in.size = i;
		CU_ASSERT_TRUE_FATAL(fast_insert(&log_, &in, NULL));
		CU_ASSERT_TRUE_FATAL(log_record_lookup(&log_, BASE, &out));
		CU_ASSERT_TRUE_FATAL(same_record(&in, &out));
		CU_ASSERT_TRUE_FATAL(fast_remove(&log_, BASE, thread_, i % 2 ? &out : NULL));
		CU_ASSERT_TRUE_FATAL(same_record(&in, &out) || !(i % 2));
		CU_ASSERT_FALSE_FATAL(log_record_lookup(&log_, BASE, &out));
	}
	CU_ASSERT_FALSE(fast_remove(&log_, BASE, thread_, NULL));
	CU_ASSERT_EQUAL(reader_accounts(&log_).alloc_bytes, 500500);
	CU_ASSERT_EQUAL(reader_accounts(&log_).free_bytes, 500500);
	CU_ASSERT_EQUAL(reader_accounts(&log_).frees, 1000);
	CU_ASSERT_EQUAL(reader_accounts(&log_).unknown_frees, 1);
	region_check_sums(&log_, 0);
	region_close(&log_);
}

/* Hints that are right, of others, and of nothing: what is found is the same. */
TEST("hints")
{
	enum { NR = 60000 };
	struct log_record out;
	uint32_t x = 1;

	open_log(REGION);
	for (uint64_t round = 0; round < 4; round++) {
		for (uint64_t i = 0; i < NR; i++) {
			struct log_record one = record(BASE + i * 48, round * NR + i + 1);

			CU_ASSERT_TRUE_FATAL(log_record_insert(&log_, &one, &out));
			CU_ASSERT_EQUAL_FATAL(out.address, 0);
		}
		CU_ASSERT_TRUE(log_.header->tables > 1);
		/* (Those that are not of an address by its hash are not followed.) */
		for (uint64_t i = 0; round && i < NR; i++) {
			uint64_t hash = hash_address(BASE + i * 48);

			x = x * 1664525 + 1013904223;
			log_.hint[hash >> 16 & (LOG_HINTS - 1)] = hash >> 32 << 32 |
				(round == 1 ? x : round == 2 ? x % log_.hint_units : ~0u);
		}
		for (uint64_t i = 0; i < NR; i++) {
			CU_ASSERT_TRUE_FATAL(log_record_remove(&log_, BASE + i * 48, thread_,
							       &out));
			CU_ASSERT_EQUAL_FATAL(out.address, BASE + i * 48);
			CU_ASSERT_EQUAL_FATAL(out.time, round * NR + i + 1);
			CU_ASSERT_FALSE_FATAL(log_record_remove(&log_, BASE + i * 48, thread_,
								NULL));
		}
		CU_ASSERT_EQUAL(scanned(&log_), 0);
	}
	/* All units that may be named are slots of tables, up to the last one. */
	CU_ASSERT_EQUAL((uint8_t *)log_.table[0].window + log_.hint_units * sizeof(struct log_slot),
			(uint8_t *)(log_.table[log_.nr_tables - 1].window +
				    log_.table[log_.nr_tables - 1].nr));
	region_check_sums(&log_, 0);
	region_close(&log_);
}

/* Addresses, live or not, in slots of a table; each one's bit is set in seen, and was not before. */
static unsigned keys_in(const struct log_table *table, uint8_t *seen, unsigned nr)
{
	unsigned keys = 0;

	for (uint32_t i = 0; i < table->nr; i++) {
		for (unsigned slot = 0; slot < WINDOW_SLOTS; slot++) {
			uint64_t address = table->window[i].slot[slot].key & KEY_ADDRESS;
			uint64_t number = (address - BASE) / 48;

			if (!address)
				continue;
			CU_ASSERT_TRUE_FATAL(number < nr && !seen[number]);
			seen[number] = 1;
			keys++;
		}
	}
	return keys;
}

/* Who comes again moves to the newest of two tables, and leaves nothing in the older one. */
TEST("a move to the newest table")
{
	enum { NR = 60000 };
	AUTO_FREE uint8_t *seen = calloc(2, NR);
	unsigned old[2];

	CU_ASSERT_PTR_NOT_NULL_FATAL(seen);
	open_log(REGION);
	for (unsigned round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < NR; i++) {
			struct log_record one = record(BASE + i * 48, round * NR + i + 1);

			CU_ASSERT_TRUE_FATAL(log_record_insert(&log_, &one, NULL));
		}
		CU_ASSERT_EQUAL_FATAL(log_.header->tables, 2);
		CU_ASSERT_EQUAL(scanned(&log_), NR);
		old[round] = keys_in(&log_.table[0], seen + round * NR, NR);
		CU_ASSERT_EQUAL(old[round] + keys_in(&log_.table[1], seen + round * NR, NR), NR);
		for (uint64_t i = 0; i < NR; i++)
			CU_ASSERT_TRUE_FATAL(log_record_remove(&log_, BASE + i * 48, thread_,
							       NULL));
	}
	/* But for those whose cache line is taken. */
	CU_ASSERT_TRUE(old[1] < old[0] / 4);
	region_check_sums(&log_, 0);
	region_close(&log_);
}

static bool note(const struct log_record *record, uint64_t slot, void *ctx)
{
	struct log_record *got = ctx;

	got[0] = *record;
	CU_ASSERT_TRUE(reader_slot(&log_, slot, &got[1]));
	return true;
}

/* Ids that no writer can have been given, as a target may write them: no reader gets one. */
TEST("damaged ids")
{
	static const uint32_t ids[] = { UINT32_MAX, 0xfffffff0, 1u << 31 };
	struct log_record got[5];

	for (unsigned i = 0; i < ARRAY_SIZE(ids); i++) {
		struct log_record record = { .address = 0x1000, .size = 8, .time = 1, .thread = 0xffff,
					     .stack = ids[i] };

		region_open(LOG_REGION_MIN, &log_);
		CU_ASSERT_TRUE(log_.nr_threads < 0xffff);
		CU_ASSERT_TRUE(log_.nr_stacks < ids[i]);
		CU_ASSERT_TRUE(log_record_insert(&log_, &record, NULL));
		reader_each(&log_, note, got);
		CU_ASSERT_TRUE(log_record_lookup(&log_, record.address, &got[2]));
		CU_ASSERT_TRUE(log_record_remove(&log_, record.address, 0, NULL));
		CU_ASSERT_TRUE(log_record_retired(&log_, record.address, &got[3]));
		CU_ASSERT_EQUAL(log_record_past(&log_, record.address, 2, &got[4]), LOG_PAST);
		for (unsigned j = 0; j < ARRAY_SIZE(got); j++) {
			CU_ASSERT_EQUAL(got[j].stack, LOG_STACK_DAMAGED);
			CU_ASSERT_EQUAL(got[j].thread, 0);
			CU_ASSERT_EQUAL(got[j].address, record.address);
		}
		region_close(&log_);
	}
}
