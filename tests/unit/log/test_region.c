/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The region as a whole: format, open, reset, reserve, usage; and a region that somebody has
 * written over.
 */

#include <stdio.h>
#include <string.h>

#include "log/free_history.h"
#include "log/journal.h"
#include "log/stack_table.h"
#include "log/log_unknown_free.h"
#include "log/block_table.h"
#include "region.h"

#define SIZE	(128ull << 20)

static struct log log_;

TEST("format and open")
{
	struct log_config config = { .region_size = SIZE, .stack_depth = 17, .sample = 4096 }, got;
	struct log_record in = { .address = 0x1000, .size = 3, .time = 5 }, out;
	void *base = region_map(SIZE);
	struct log opened;

	CU_ASSERT_PTR_NULL(log_format(base, &config, &log_));
	CU_ASSERT_TRUE(log_record_insert(&log_, &in, NULL));
	CU_ASSERT_PTR_NULL(log_open(base, SIZE, &opened));
	CU_ASSERT_TRUE(log_record_lookup(&opened, 0x1000, &out));
	CU_ASSERT_EQUAL(out.size, 3);
	got = log_config(&opened);
	CU_ASSERT_EQUAL(got.region_size, SIZE);
	CU_ASSERT_EQUAL(got.stack_depth, 17);
	CU_ASSERT_EQUAL(got.sample, 4096);
	CU_ASSERT_TRUE(log_view(base, SIZE, &opened));
	CU_ASSERT_TRUE(log_record_lookup(&opened, 0x1000, &out));
	region_close(&log_);
}

/* All parts lie inside, one after the other, for any size. */
TEST("layout")
{
	static const uint64_t sizes[] = { LOG_REGION_MIN, LOG_REGION_MIN + 1, LOG_REGION_MIN + 4095,
					 100000000,
					  1ull << 30, 12345678901, 1ull << 40, LOG_REGION_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint8_t *start = (uint8_t *)LOG_PAGE, *at = start, *end = at + sizes[i];
		struct log log;
		uint64_t used;

		CU_ASSERT_TRUE_FATAL(log_layout(at, sizes[i], JOURNAL_SIZE, &log));
		CU_ASSERT_TRUE((uint8_t *)log.header >= at + JOURNAL_SIZE);
		CU_ASSERT_TRUE((uint8_t *)log.thread >= (uint8_t *)log.header + LOG_HEADER_SIZE);
		CU_ASSERT_TRUE((uint8_t *)log.thread_index >= (uint8_t *)(log.thread + log.nr_threads));
		CU_ASSERT_TRUE((uint8_t *)log.stack_index >= (uint8_t *)(log.thread_index + 2 * log.nr_threads));
		CU_ASSERT_TRUE((uint8_t *)log.stack_directory >=
			       (uint8_t *)(log.stack_index + stack_level_start(log.stack_levels) * STACK_BUCKET));
		CU_ASSERT_TRUE(log.arena >= (uint8_t *)(log.stack_directory + log.nr_stacks + 1));
		CU_ASSERT_TRUE((uint8_t *)log.unknown[0] >= log.arena + log.arena_size);
		CU_ASSERT_TRUE((uint8_t *)log.freed >=
			       (uint8_t *)(log.unknown[1] + LOG_UNKNOWN_FREES));
		at = (uint8_t *)(log.freed + log.nr_frees);
		CU_ASSERT_TRUE((uint8_t *)log.extent_map >= at);
		CU_ASSERT_TRUE((uint8_t *)log.extent >= (uint8_t *)(log.extent_map + log.extent_mask + 1));
		CU_ASSERT_TRUE((uint8_t *)log.directory >= (uint8_t *)(log.extent + log.nr_extents));
		/* The memory of all parts, of which the last two share theirs. */
		used = (uint64_t)((uint8_t *)log.directory - start) + log.share;
		CU_ASSERT_TRUE(used <= sizes[i] / 2);
		CU_ASSERT_TRUE(used + 2 * LOG_PAGE >= sizes[i] / 2);
		CU_ASSERT_TRUE((log.nr_extents + 1) * DIRECTORY_BYTES >= log.share / 50 * 49);
		at = (uint8_t *)(log.directory + log.nr_extents * DIRECTORY_LINES);
		for (uint32_t j = 0; j < log.nr_tables; j++) {
			CU_ASSERT_TRUE_FATAL((uint8_t *)log.table[j].window >= at &&
					     log.table[j].nr);
			at = (uint8_t *)(log.table[j].window + log.table[j].nr);
		}
		CU_ASSERT_TRUE(at <= end);
		CU_ASSERT_TRUE(tables_bytes(&log, log.nr_tables) + 2 * LOG_PAGE >= log.share);
	}
	CU_ASSERT_FALSE(log_layout(NULL, LOG_REGION_MIN - 1, JOURNAL_SIZE, &log_));
	CU_ASSERT_FALSE(log_layout(NULL, LOG_REGION_MAX + 1, JOURNAL_SIZE, &log_));
	CU_ASSERT_FALSE(log_layout(NULL, SIZE, 0, &log_));
	CU_ASSERT_FALSE(log_layout(NULL, SIZE, JOURNAL_SIZE + 8, &log_));
	CU_ASSERT_FALSE(log_layout(NULL, SIZE, ~4095ull, &log_));
}

/* Where a pointer of one view lies in the region. */
static uint64_t offset(const struct log *log, const void *at)
{
	return (uint64_t)(uintptr_t)at - (uint64_t)(uintptr_t)log->base;
}

/* A view for an address where nothing is: the same offsets, and nothing is looked at. */
TEST("a view for elsewhere")
{
	const uint64_t bases[] = { LOG_PAGE, 0x7f1234567000, ~0ull << 32 };
	struct log at;

	region_open(SIZE, &log_);
	for (unsigned i = 0; i < ARRAY_SIZE(bases); i++) {
		CU_ASSERT_TRUE_FATAL(log_view_at(&log_, bases[i], &at));
		CU_ASSERT_EQUAL((uint64_t)(uintptr_t)at.base, bases[i]);
		CU_ASSERT_EQUAL(at.size, SIZE);
		CU_ASSERT_EQUAL(offset(&at, at.header), offset(&log_, log_.header));
		CU_ASSERT_EQUAL(offset(&at, at.hint), offset(&log_, log_.hint));
		CU_ASSERT_EQUAL(offset(&at, at.thread), offset(&log_, log_.thread));
		CU_ASSERT_EQUAL(offset(&at, at.thread_index), offset(&log_, log_.thread_index));
		CU_ASSERT_EQUAL(offset(&at, at.stack_index), offset(&log_, log_.stack_index));
		CU_ASSERT_EQUAL(offset(&at, at.stack_directory),
				offset(&log_, log_.stack_directory));
		CU_ASSERT_EQUAL(offset(&at, at.arena), offset(&log_, log_.arena));
		CU_ASSERT_EQUAL(offset(&at, at.freed), offset(&log_, log_.freed));
		CU_ASSERT_EQUAL(at.nr_frees, log_.nr_frees);
		CU_ASSERT_EQUAL(at.nr_threads, log_.nr_threads);
		CU_ASSERT_EQUAL(at.nr_stacks, log_.nr_stacks);
		CU_ASSERT_EQUAL(at.stack_levels, log_.stack_levels);
		CU_ASSERT_EQUAL(at.arena_size, log_.arena_size);
		CU_ASSERT_EQUAL_FATAL(at.nr_tables, log_.nr_tables);
		for (uint32_t j = 0; j < at.nr_tables; j++) {
			CU_ASSERT_EQUAL(offset(&at, at.table[j].window),
					offset(&log_, log_.table[j].window));
			CU_ASSERT_EQUAL(at.table[j].nr, log_.table[j].nr);
		}
	}
	CU_ASSERT_FALSE(log_view_at(&log_, 0, &at));
	CU_ASSERT_FALSE(log_view_at(&log_, 0x7f1234567008, &at));
	CU_ASSERT_FALSE(log_view_at(&log_, ~0ull - LOG_PAGE + 1, &at));
	region_close(&log_);
}

TEST("bad configuration")
{
	struct log_config config = { .region_size = SIZE, .stack_depth = 0 };
	void *base = region_map(SIZE);

	CU_ASSERT_EQUAL(log_format(base, &config, &log_)->code, ERR_USAGE);
	config.stack_depth = LOG_DEPTH_MAX + 1;
	CU_ASSERT_EQUAL(log_format(base, &config, &log_)->code, ERR_USAGE);
	config.stack_depth = 1;
	config.region_size = LOG_REGION_MIN - 1;
	CU_ASSERT_EQUAL(log_format(base, &config, &log_)->code, ERR_USAGE);
	munmap(base, SIZE);
}

static void open_fails(const char *why)
{
	struct log opened;
	struct err *err = log_open(log_.base, SIZE, &opened);

	CU_ASSERT_FATAL(err && err->code == ERR_FORMAT);
	if (!strstr(err->msg, why))
		CU_FAIL(err->msg);
	CU_ASSERT_FALSE(log_view(log_.base, SIZE, &opened));
}

TEST("what is no log")
{
	struct journal *journal;
	struct log opened;
	char version[32];

	region_open(SIZE, &log_);
	journal = (struct journal *)log_.base;
	log_.header->version = LOG_VERSION + 1;
	snprintf(version, sizeof(version), "version %d", LOG_VERSION + 1);
	open_fails(version);
	log_.header->version = LOG_VERSION;
	log_.header->magic[0] = 'M';
	open_fails("no magic");
	memcpy(log_.header->magic, LOG_MAGIC, 8);
	log_.header->size -= 1;
	open_fails("made for");
	log_.header->size += 1;
	journal->log_offset += 64;
	open_fails("with the log at");
	journal->log_offset = SIZE - LOG_PAGE;
	open_fails("with the log at");
	journal->log_offset = JOURNAL_SIZE;
	journal->region_size = LOG_REGION_MIN / 2;
	open_fails("a region of");
	journal->region_size = SIZE * 2;
	open_fails("a region of");
	journal->region_size = SIZE;
	CU_ASSERT_PTR_NULL(log_open(log_.base, SIZE, &opened));
	CU_ASSERT_PTR_NOT_NULL(log_open(log_.base, SIZE / 2, &opened));
	CU_ASSERT_FALSE(log_view(log_.base, SIZE / 2, &opened));
	memset(log_.base, 0, 64);
	open_fails("journal");
	region_close(&log_);
}

static bool count_one(const struct log_record *at, uint64_t slot, void *ctx)
{
	(void)slot;
	(void)at;
	++*(uint64_t *)ctx;
	return false;
}

TEST("reset")
{
	uint64_t pcs[2] = { 1, 2 }, nr = 0, start;
	struct log_record out;
	uint32_t stack, thread;

	region_open(SIZE, &log_);
	stack = stack_table_insert(&log_, pcs, 2, 0, 1);
	thread = registry_thread(&log_, 7, 8);
	for (uint64_t i = 1; i < 100000; i++) {
		struct log_record one = { .address = i * 16, .size = 1, .time = i,
					 .thread = thread, .stack = stack };

		CU_ASSERT_TRUE_FATAL(log_record_insert(&log_, &one, NULL));
		stack_table_count(&log_, stack, 1, 1);
	}
	start = log_clock_begin(&log_);
	log_reset(&log_);
	reader_each(&log_, count_one, &nr);
	CU_ASSERT_EQUAL(nr, 0);
	CU_ASSERT_EQUAL(reader_live(&log_), 0);
	CU_ASSERT_EQUAL(reader_accounts(&log_).allocs, 0);
	CU_ASSERT_EQUAL(reader_stack(&log_, stack).total, 0);
	CU_ASSERT_EQUAL(reader_stack(&log_, stack).nr, 2);
	CU_ASSERT_EQUAL(stack_table_insert(&log_, pcs, 2, 0, 1), stack);
	CU_ASSERT_EQUAL(registry_thread(&log_, 7, 8), thread);
	CU_ASSERT_TRUE(log_clock_begin(&log_) > start);
	CU_ASSERT_EQUAL(log_usage(&log_).table_bytes, TABLE_BYTES_FIRST);
	for (uint64_t i = 1; i < 100000; i++) {
		struct log_record one = { .address = i * 16, .size = 1, .time = i };

		CU_ASSERT_FALSE_FATAL(log_record_remove(&log_, i * 16, 0, &out));
		CU_ASSERT_TRUE_FATAL(log_record_insert(&log_, &one, &out) && !out.address);
	}
	region_check_sums(&log_, 99999);
	region_close(&log_);
}

TEST("usage")
{
	struct log_usage usage;
	uint64_t pcs[14] = { 1 };

	region_open(SIZE, &log_);
	usage = log_usage(&log_);
	CU_ASSERT_EQUAL(usage.table_bytes, TABLE_BYTES_FIRST);
	CU_ASSERT_EQUAL(usage.table_slots, TABLE_BYTES_FIRST / 512 * 15);
	for (unsigned i = 0; i < 1000; i++) {
		pcs[3] = i;
		stack_table_insert(&log_, pcs, 14, 0, 0);
	}
	CU_ASSERT_TRUE(log_usage(&log_).stack_bytes >= 1000 * (48 + 14 * 8));
	CU_ASSERT_TRUE(log_usage(&log_).stack_bytes <= 1000 * (48 + 16 * 8) + (64 << 10));
	region_close(&log_);
}

/* What is reserved is there: no page fault when it is written. */
TEST("reserve")
{
	uint64_t first = 0, size;
	unsigned char in_core[TABLE_BYTES_FIRST / LOG_PAGE];

	region_open(SIZE, &log_);
	size = log_.size;
	CU_ASSERT_PTR_NULL(log_reserve(&log_, 3 << 20));
	CU_ASSERT_EQUAL(mincore(log_.table[0].window, TABLE_BYTES_FIRST, in_core), 0);
	for (unsigned i = 0; i < sizeof(in_core); i++)
		first += in_core[i] & 1;
	CU_ASSERT_EQUAL(first, sizeof(in_core));
	CU_ASSERT_EQUAL(mincore(log_.table[1].window, TABLE_BYTES_FIRST, in_core), 0);
	CU_ASSERT_TRUE(in_core[0] & 1);
	CU_ASSERT_EQUAL(mincore(log_.arena, LOG_PAGE, in_core), 0);
	CU_ASSERT_TRUE(in_core[0] & 1);
	CU_ASSERT_EQUAL(mincore(log_.table[log_.nr_tables - 1].window, LOG_PAGE, in_core), 0);
	CU_ASSERT_FALSE(in_core[0] & 1);
	CU_ASSERT_PTR_NULL(log_reserve(&log_, ~0ull));
	CU_ASSERT_EQUAL(mincore(log_.table[log_.nr_tables - 1].window, LOG_PAGE, in_core), 0);
	CU_ASSERT_TRUE(in_core[0] & 1);
	CU_ASSERT_EQUAL(reader_live(&log_), 0);
	munmap(log_.base, size);
}

/* Pages of [start, start + bytes) that are there. */
static uint64_t resident(const void *start, uint64_t bytes)
{
	uint64_t pages = ALIGN_UP(bytes, LOG_PAGE) / LOG_PAGE, nr = 0;
	unsigned char *in_core = malloc(pages);

	CU_ASSERT_EQUAL_FATAL(mincore((void *)(uintptr_t)start, bytes, in_core), 0);
	for (uint64_t i = 0; i < pages; i++)
		nr += in_core[i] & 1;
	free(in_core);
	return nr;
}

/* When all is there, a call does nothing: what was taken away meanwhile stays away. */
TEST("reserve again")
{
	struct log_reserved before;

	region_open(SIZE, &log_);
	for (unsigned i = 0; i < 8; i++)
		CU_ASSERT_PTR_NULL(log_reserve(&log_, 4 << 20));
	CU_ASSERT_EQUAL(resident(log_.table[0].window, TABLE_BYTES_FIRST),
			TABLE_BYTES_FIRST / LOG_PAGE);
	before = log_.reserved;
	CU_ASSERT_EQUAL_FATAL(madvise(log_.table[0].window, LOG_PAGE, MADV_REMOVE), 0);
	CU_ASSERT_PTR_NULL(log_reserve(&log_, 4 << 20));
	CU_ASSERT_EQUAL(memcmp(&before, &log_.reserved, sizeof(before)), 0);
	CU_ASSERT_EQUAL(resident(log_.table[0].window, LOG_PAGE), 0);
	/* But a reset takes away all tables. */
	log_reset(&log_);
	CU_ASSERT_EQUAL(resident(log_.table[0].window, TABLE_BYTES_FIRST), 0);
	CU_ASSERT_PTR_NULL(log_reserve(&log_, 4 << 20));
	CU_ASSERT_EQUAL(resident(log_.table[0].window, LOG_PAGE), 1);
	region_close(&log_);
}

static uint64_t table_resident(uint32_t table, uint64_t *pages)
{
	uint64_t bytes = log_.table[table].nr * sizeof(struct log_window);

	*pages = bytes / LOG_PAGE;
	return resident(log_.table[table].window, bytes);
}

/* As the tables fill up, the next one comes: nearly all of it is there when it is added. */
TEST("reserve tables")
{
	uint64_t pages = 1, there, nr = 0;

	region_open(256 << 20, &log_);
	CU_ASSERT_EQUAL_FATAL(registry_thread(&log_, 1, 1), 1);
	for (uint32_t tables = 1; tables < 4; tables++) {
		there = 0;
		while (log_.header->tables == tables) {
			struct log_record one = { .address = (nr + 1) * 16, .size = 1,
						  .time = nr + 1, .thread = 1 };

			if (++nr % 512 == 0) {
				struct log_usage usage = log_usage(&log_);

				CU_ASSERT_PTR_NULL_FATAL(log_reserve(&log_, 4 << 20));
				there = table_resident(tables, &pages);
				/* It does not run ahead of the blocks that pay for it. */
				if (nr < usage.table_slots / 2)
					CU_ASSERT_TRUE_FATAL(log_.reserved.tables <=
							     usage.table_bytes + (4 << 20));
			}
			CU_ASSERT_TRUE_FATAL(log_record_insert(&log_, &one, NULL));
		}
		CU_ASSERT_TRUE(there > pages * 3 / 4);
	}
	/* Nor does a log that says it has more blocks than there can be. */
	log_.thread[0].account[LOG_ACCOUNT(allocs)] = ~0ull >> 1;
	CU_ASSERT_PTR_NULL(log_reserve(&log_, LOG_PAGE));
	CU_ASSERT_PTR_NULL(log_reserve(&log_, LOG_PAGE));
	CU_ASSERT_TRUE(log_.reserved.tables <= 2 * log_usage(&log_).table_bytes);
	region_close(&log_);
}

/* Arena, directory and index are there before the stacks that go into them; threads, too. */
TEST("reserve stacks and threads")
{
	region_open(256 << 20, &log_);
	for (uint64_t i = 0; i < 40000; i++) {
		uint64_t pcs[5] = { i, i, i, i, i };
		uint32_t unit = (uint32_t)log_.header->stacks, id;

		if (i % 1000 == 0)
			CU_ASSERT_PTR_NULL_FATAL(log_reserve(&log_, 1 << 20));
		CU_ASSERT_EQUAL_FATAL(resident(log_.arena + ALIGN_DOWN(unit * 16ull, LOG_PAGE),
					       LOG_PAGE), 1);
		id = stack_table_insert(&log_, pcs, 5, 0, 0);
		CU_ASSERT_TRUE_FATAL(id * sizeof(uint32_t) < log_.reserved.stack_directory);
	}
	/* All that the index has there are the levels that were asked for. */
	CU_ASSERT_EQUAL(resident(log_.stack_index, stack_level_start(log_.stack_levels) * 64),
			log_.reserved.stack_index / LOG_PAGE);
	for (uint64_t i = 1; i < 3000; i++) {
		if (i % 500 == 1)
			CU_ASSERT_PTR_NULL_FATAL(log_reserve(&log_, 1 << 20));
		CU_ASSERT_EQUAL_FATAL(registry_thread(&log_, i, 1), i);
		CU_ASSERT_TRUE_FATAL((i + 1) * sizeof(struct log_entry) <= log_.reserved.threads);
	}
	CU_ASSERT_EQUAL(resident(log_.thread_index, 2ull * log_.nr_threads * sizeof(uint32_t)),
			2ull * log_.nr_threads * sizeof(uint32_t) / LOG_PAGE);
	region_close(&log_);
}

/* Keeps the compiler from leaving reads out. */
static volatile uint64_t sink;

static bool look(const struct log_record *record, uint64_t slot, void *ctx)
{
	(void)slot;
	const struct log *log = ctx;
	struct log_stack_view stack = reader_stack(log, record->stack);
	uint64_t sum = reader_thread(log, record->thread).lwp;

	for (uint32_t i = 0; i < stack.nr; i++)
		sum += stack.pcs[i];
	sink = sum;
	return false;
}

/* Everything a reader and a writer may do, on what is there. */
static void use(struct log *log, uint64_t x)
{
	struct log_record one = { .address = x & KEY_ADDRESS, .size = x, .time = x,
				 .thread = (uint32_t)x }, out;
	uint64_t pcs[LOG_DEPTH_MAX] = { x };

	reader_each(log, look, log);
	reader_accounts(log);
	reader_live(log);
	log_usage(log);
	log_config(log);
	log_clock_realtime(log, x);
	log_clock_seq(log, x);
	for (uint32_t i = 0; i < 3000; i++) {
		reader_stack(log, i);
		reader_thread(log, i);
		pcs[1] = i;
		stack_table_count(log, stack_table_insert(log, pcs, 1 + i % LOG_DEPTH_MAX, 0, 0), 1,
				  1);
		registry_thread(log, x + i, i);
		one.address += 16;
		log_record_insert(log, &one, &out);
		log_record_lookup(log, one.address, &out);
		log_record_remove(log, one.address, (uint32_t)x, &out);
		log_record_restore(log, &one, i);
		registry_count(log, (uint32_t)x + i, i, 1);
	}
	CU_ASSERT_TRUE(reader_stacks(log) <= log->nr_stacks);
}

/*
 * The target can write anything anywhere in the region: mdbg survives that. Guard pages stand on
 * both sides.
 */
TEST("garbage")
{
	uint8_t *map = region_map(LOG_REGION_MIN + 2 * LOG_PAGE), *base = map + LOG_PAGE;
	struct log_config config = { .region_size = LOG_REGION_MIN, .stack_depth = 32 };
	uint64_t x = 88172645463325252;

	mprotect(map, LOG_PAGE, PROT_NONE);
	mprotect(base + LOG_REGION_MIN, LOG_PAGE, PROT_NONE);
	for (unsigned round = 0; round < 6; round++) {
		struct log opened;

		memset(base, round == 4 ? 0xff : 0, LOG_REGION_MIN);
		CU_ASSERT_PTR_NULL_FATAL(log_format(base, &config, &log_));
		for (uint64_t *at = (uint64_t *)base; at < (uint64_t *)(base + LOG_REGION_MIN); at++) {
			unit_random(&x);
			/*
			 * All of it, a part of it, small numbers, one in sixteen; ones as they are.
			 */
			if (round < 2 || (round == 2 && at > (uint64_t *)log_.thread))
				*at = x;
			else if (round == 3)
				*at = x & 0x0000003f0000003f;
			else if (round == 5 && !(x & 15))
				*at = x;
		}
		if (round == 4)
			memset(&log_.header->tables, 0xff, LOG_HEADER_SIZE - 512);
		use(&log_, x);
		if (!log_open(base, LOG_REGION_MIN, &opened))
			use(&opened, x);
		log_clock_update(&log_);
		log_reset(&log_);
		use(&log_, x);
	}
	munmap(map, LOG_REGION_MIN + 2 * LOG_PAGE);
}
