/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The counting filter of a log that samples: it has exactly the records that the tables have,
 * whatever becomes of them. (Several writers at once: test_hammer.c.)
 */

#include "log/counting_filter.h"

#include "region.h"

#define BASE	0x7f1234000000ull
#define ARENA	(64ull << 20)

static struct log log_;

static void open_log(void)
{
	region_open(LOG_REGION_MIN, &log_);
	log_.header->sample = 4096;
}

static void close_log(void)
{
	region_close(&log_);
}

EACH(open_log, close_log);

static struct log_record record(uint64_t address, uint64_t time)
{
	return (struct log_record){ .address = address, .size = 8, .time = time };
}

static bool insert(uint64_t address, uint64_t time)
{
	struct log_record new = record(address, time);

	return log_record_insert(&log_, &new, NULL);
}

/* What all counters say together. */
static uint64_t counted(void)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < LOG_COUNTING_FILTER; i++)
		sum += log_.counting_filter[i];
	return sum;
}

TEST("counts")
{
	struct log_record old;

	CU_ASSERT_TRUE(counting_filter_lacks(&log_, BASE));
	CU_ASSERT_TRUE(insert(BASE, 1));
	CU_ASSERT_FALSE(counting_filter_lacks(&log_, BASE));
	CU_ASSERT_FALSE(counting_filter_lacks(&log_, BASE + COUNTING_FILTER_GRANULE - 1));
	CU_ASSERT_TRUE(counting_filter_lacks(&log_, BASE + COUNTING_FILTER_GRANULE));
	CU_ASSERT_TRUE(counting_filter_lacks(&log_, BASE - 1));
	CU_ASSERT_TRUE(insert(BASE, 2));	/* in the first one's place */
	CU_ASSERT_EQUAL(counted(), 1);
	CU_ASSERT_TRUE(insert(BASE + 16, 3));
	CU_ASSERT_EQUAL(counted(), 2);
	CU_ASSERT_FALSE(log_record_remove(&log_, BASE + 32, 0, NULL));
	CU_ASSERT_EQUAL(counted(), 2);
	CU_ASSERT_TRUE(log_record_remove(&log_, BASE, 0, &old));
	CU_ASSERT_EQUAL(counted(), 1);
	CU_ASSERT_FALSE(counting_filter_lacks(&log_, BASE));
	CU_ASSERT_TRUE(log_record_restore(&log_, &old, 0));
	CU_ASSERT_EQUAL(counted(), 2);
	CU_ASSERT_TRUE(log_record_remove(&log_, BASE, 0, NULL));
	CU_ASSERT_TRUE(log_record_remove(&log_, BASE + 16, 0, NULL));
	CU_ASSERT_EQUAL(counted(), 0);
	CU_ASSERT_TRUE(counting_filter_lacks(&log_, BASE));
	CU_ASSERT_EQUAL(reader_accounts(&log_).unsampled_frees, 1);
}

/* A block of the user's allocator inside one of malloc's; and one of another process. */
TEST("keys")
{
	CU_ASSERT_TRUE(insert(BASE | LOG_DOMAIN_USER, 1));
	CU_ASSERT_TRUE(insert(BASE | 5ull << LOG_PROCESS_SHIFT, 2));
	CU_ASSERT_EQUAL(counted(), 2);
	CU_ASSERT_FALSE(log_record_remove(&log_, BASE, 0, NULL));
	CU_ASSERT_FALSE(counting_filter_lacks(&log_, BASE | LOG_DOMAIN_USER));
	CU_ASSERT_TRUE(log_record_remove(&log_, BASE | LOG_DOMAIN_USER, 0, NULL));
	CU_ASSERT_TRUE(log_record_remove(&log_, BASE | 5ull << LOG_PROCESS_SHIFT, 0, NULL));
	CU_ASSERT_EQUAL(counted(), 0);
}

/* More than a byte counts share one: those are found all the same, and it is never told to be empty. */
TEST("stuck")
{
	uint64_t apart =
 (uint64_t)COUNTING_FILTER_GRANULE * LOG_COUNTING_FILTER * COUNTING_FILTER_LINE;

	for (uint64_t i = 0; i < 300; i++)
		CU_ASSERT_TRUE(insert(BASE + i * apart, i + 1));
	CU_ASSERT_EQUAL(counted(), COUNTING_FILTER_STUCK);
	for (uint64_t i = 0; i < 300; i++)
		CU_ASSERT_TRUE(log_record_remove(&log_, BASE + i * apart, 0, NULL));
	CU_ASSERT_EQUAL(counted(), COUNTING_FILTER_STUCK);
	CU_ASSERT_FALSE(counting_filter_lacks(&log_, BASE));
	CU_ASSERT_FALSE(log_record_remove(&log_, BASE, 0, NULL));
}

/* What finds no room is not counted. */
TEST("full")
{
	uint64_t nr = 0, full = 0;

	while (full < 1000) {
		full += !insert(BASE + nr * 16, nr + 1);
		nr++;
	}
	CU_ASSERT_EQUAL(counted(), nr - full);
	CU_ASSERT_EQUAL(reader_live(&log_), nr - full);
	log_reset(&log_);
	CU_ASSERT_EQUAL(counted(), 0);
}

/* Neighbours are on one cache line, and all of its counters are used. */
TEST("near")
{
	uint64_t seen = 0;

	for (uint64_t i = 0; i < COUNTING_FILTER_LINE; i++) {
		uint8_t *counter =
							     counting_filter_counter(&log_,
										     BASE + i * COUNTING_FILTER_GRANULE);

		CU_ASSERT_EQUAL((uintptr_t)counter / COUNTING_FILTER_LINE,
				(uintptr_t)counting_filter_counter(&log_,
								   BASE) / COUNTING_FILTER_LINE);
		seen |= 1ull << ((uintptr_t)counter % COUNTING_FILTER_LINE);
	}
	CU_ASSERT_EQUAL(seen, ~0ull);
}

/* The first 256 KB of 128 arenas, and a heap of 256 MB, share no counters among themselves. */
TEST("far")
{
	for (uint64_t i = 0; i < 128; i++)
		for (uint64_t at = 0; at < 256 << 10; at += COUNTING_FILTER_GRANULE)
			counting_filter_add(&log_, BASE + i * ARENA + at);
	for (uint64_t i = 0; i < LOG_COUNTING_FILTER; i++)
		CU_ASSERT(log_.counting_filter[i] <= 1);
	log_reset(&log_);
	for (uint64_t at = 0; at < 256 << 20; at += COUNTING_FILTER_GRANULE)
		counting_filter_add(&log_, 0x555555559000ull + at);
	CU_ASSERT_EQUAL(counted(), LOG_COUNTING_FILTER);
	for (uint64_t i = 0; i < LOG_COUNTING_FILTER; i++)
		CU_ASSERT(log_.counting_filter[i] <= 2);
}

/* A log that does not sample has none. */
TEST("without sampling")
{
	uint64_t usage;

	log_.header->sample = 0;
	usage = log_usage(&log_).other_bytes;
	CU_ASSERT_TRUE(insert(BASE, 1));
	CU_ASSERT_TRUE(log_record_remove(&log_, BASE, 0, NULL));
	CU_ASSERT_PTR_NULL(log_reserve(&log_, 1 << 20));
	CU_ASSERT_EQUAL(log_.reserved.counting_filter, 0);
	log_.header->sample = 4096;
	CU_ASSERT_PTR_NULL(log_reserve(&log_, 1 << 20));
	CU_ASSERT_EQUAL(log_.reserved.counting_filter, LOG_COUNTING_FILTER);
	CU_ASSERT_EQUAL(log_usage(&log_).other_bytes, usage + LOG_COUNTING_FILTER);
}
