/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A log with one writer, for tests of the directory. */
#pragma once

#include "log/block_table.h"
#include "log/ledger.h"
#include "region.h"
#include "same_record.h"

#define REGION	(64ull << 20)
#define BASE	(0x555555400000ull / DIRECTORY_REACH * DIRECTORY_REACH)
#define PAGE	(DIRECTORY_REACH / DIRECTORY_PAGES)
#define STEP	96ull

static struct log log_;
static uint32_t thread_;
static uint64_t now_;

static inline void open_log(void)
{
	region_open(REGION, &log_);
	log_set_near_size(&log_, 0);
	thread_ = registry_thread(&log_, 1, 1);
	CU_ASSERT_EQUAL_FATAL(thread_, 1);
	now_ = 0;
}

static inline void close_log(void)
{
	region_close(&log_);
}

static inline uint64_t tick(void)
{
	return log_.header->origin + (++now_ * TIME_STEP | thread_);
}

static inline struct log_record record(uint64_t address, uint64_t size)
{
	return (struct log_record){ .address = address, .size = size, .time = tick(),
				    .thread = thread_, .stack = 5, .heap = LOG_HEAP_UNKNOWN };
}

static inline struct log_record insert(uint64_t address, uint64_t size)
{
	struct log_record in = record(address, size), old;

	CU_ASSERT_TRUE_FATAL(log_record_insert(&log_, &in, &old));
	CU_ASSERT_EQUAL(old.address, 0);
	return in;
}

/* Is its live record in the directory? */
static inline bool is_there(uint64_t address)
{
	struct directory_spot spot;
	struct log_record at;
	bool live;

	return directory_find(&log_, address, &spot) &&
	       directory_read(&log_, &spot, address, &at, &live) && live;
}

static inline void check_in(const struct log_record *in)
{
	struct log_record out;

	CU_ASSERT_TRUE(log_record_lookup(&log_, in->address, &out));
	CU_ASSERT_TRUE(same_record(in, &out));
}

static inline void remove_it(const struct log_record *in)
{
	struct log_record out;

	CU_ASSERT_TRUE(log_record_remove(&log_, in->address, thread_, &out));
	CU_ASSERT_TRUE(same_record(in, &out));
	CU_ASSERT_FALSE(log_record_lookup(&log_, in->address, &out));
	CU_ASSERT_TRUE(log_record_retired(&log_, in->address, &out));
	CU_ASSERT_TRUE(same_record(in, &out));
}

/* Fill a page until it is dense, with blocks from its end on. */
static inline void make_dense(uint64_t page)
{
	for (uint64_t i = 1; i <= DIRECTORY_DENSE; i++)
		insert(page + PAGE - i * 64, 40);
}
