/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sieve of a log that samples: it has exactly the records that the tables have, whatever becomes
 * of them. (Several writers at once: test_hammer.c.)
 */

#include "log/sieve.h"

#include "region.h"

void suite_sieve(void);

#define BASE	0x7f1234000000ull
#define ARENA	(64ull << 20)

static struct log log_;

static void open_log(void)
{
	region_open(LOG_LIMIT_MIN, &log_);
	log_.header->sample = 4096;
}

static struct log_record record(uint64_t address, uint64_t time)
{
	return (struct log_record){ .address = address, .size = 8, .time = time };
}

static bool insert(uint64_t address, uint64_t time)
{
	struct log_record new = record(address, time);

	return log_insert(&log_, &new, NULL);
}

/* What all counters say together. */
static uint64_t counted(void)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < LOG_SIEVE; i++)
		sum += log_.sieve[i];
	return sum;
}

static void test_counts(void)
{
	struct log_record old;

	open_log();
	CU_ASSERT_TRUE(sieve_lacks(&log_, BASE));
	CU_ASSERT_TRUE(insert(BASE, 1));
	CU_ASSERT_FALSE(sieve_lacks(&log_, BASE));
	CU_ASSERT_FALSE(sieve_lacks(&log_, BASE + SIEVE_GRANULE - 1));
	CU_ASSERT_TRUE(sieve_lacks(&log_, BASE + SIEVE_GRANULE));
	CU_ASSERT_TRUE(sieve_lacks(&log_, BASE - 1));
	CU_ASSERT_TRUE(insert(BASE, 2));	/* in the first one's place */
	CU_ASSERT_EQUAL(counted(), 1);
	CU_ASSERT_TRUE(insert(BASE + 16, 3));
	CU_ASSERT_EQUAL(counted(), 2);
	CU_ASSERT_FALSE(log_remove(&log_, BASE + 32, 0, NULL));
	CU_ASSERT_EQUAL(counted(), 2);
	CU_ASSERT_TRUE(log_remove(&log_, BASE, 0, &old));
	CU_ASSERT_EQUAL(counted(), 1);
	CU_ASSERT_FALSE(sieve_lacks(&log_, BASE));
	CU_ASSERT_TRUE(log_restore(&log_, &old, 0));
	CU_ASSERT_EQUAL(counted(), 2);
	CU_ASSERT_TRUE(log_remove(&log_, BASE, 0, NULL));
	CU_ASSERT_TRUE(log_remove(&log_, BASE + 16, 0, NULL));
	CU_ASSERT_EQUAL(counted(), 0);
	CU_ASSERT_TRUE(sieve_lacks(&log_, BASE));
	CU_ASSERT_EQUAL(log_accounts_get(&log_).unsampled_frees, 1);
	region_close(&log_);
}

/* A block of the user's allocator inside one of malloc's; and one of another process. */
static void test_keys(void)
{
	open_log();
	CU_ASSERT_TRUE(insert(BASE | LOG_DOMAIN_USER, 1));
	CU_ASSERT_TRUE(insert(BASE | 5ull << LOG_PROCESS_SHIFT, 2));
	CU_ASSERT_EQUAL(counted(), 2);
	CU_ASSERT_FALSE(log_remove(&log_, BASE, 0, NULL));
	CU_ASSERT_FALSE(sieve_lacks(&log_, BASE | LOG_DOMAIN_USER));
	CU_ASSERT_TRUE(log_remove(&log_, BASE | LOG_DOMAIN_USER, 0, NULL));
	CU_ASSERT_TRUE(log_remove(&log_, BASE | 5ull << LOG_PROCESS_SHIFT, 0, NULL));
	CU_ASSERT_EQUAL(counted(), 0);
	region_close(&log_);
}

/* More than a byte counts share one: those are found all the same, and it is never told to be empty. */
static void test_stuck(void)
{
	uint64_t apart = (uint64_t)SIEVE_GRANULE * LOG_SIEVE * SIEVE_LINE;

	open_log();
	for (uint64_t i = 0; i < 300; i++)
		CU_ASSERT_TRUE(insert(BASE + i * apart, i + 1));
	CU_ASSERT_EQUAL(counted(), SIEVE_STUCK);
	for (uint64_t i = 0; i < 300; i++)
		CU_ASSERT_TRUE(log_remove(&log_, BASE + i * apart, 0, NULL));
	CU_ASSERT_EQUAL(counted(), SIEVE_STUCK);
	CU_ASSERT_FALSE(sieve_lacks(&log_, BASE));
	CU_ASSERT_FALSE(log_remove(&log_, BASE, 0, NULL));
	region_close(&log_);
}

/* What finds no room is not counted. */
static void test_full(void)
{
	uint64_t nr = 0, full = 0;

	open_log();
	while (full < 1000) {
		full += !insert(BASE + nr * 16, nr + 1);
		nr++;
	}
	CU_ASSERT_EQUAL(counted(), nr - full);
	CU_ASSERT_EQUAL(log_live(&log_), nr - full);
	log_reset(&log_);
	CU_ASSERT_EQUAL(counted(), 0);
	region_close(&log_);
}

/* Neighbours are on one cache line, and all of its counters are used. */
static void test_near(void)
{
	uint64_t seen = 0;

	open_log();
	for (uint64_t i = 0; i < SIEVE_LINE; i++) {
		uint8_t *counter = sieve_counter(&log_, BASE + i * SIEVE_GRANULE);

		CU_ASSERT_EQUAL((uintptr_t)counter / SIEVE_LINE,
				(uintptr_t)sieve_counter(&log_, BASE) / SIEVE_LINE);
		seen |= 1ull << ((uintptr_t)counter % SIEVE_LINE);
	}
	CU_ASSERT_EQUAL(seen, ~0ull);
	region_close(&log_);
}

/* The first 256 KB of 128 arenas, and a heap of 256 MB, share no counters among themselves. */
static void test_far(void)
{
	open_log();
	for (uint64_t i = 0; i < 128; i++)
		for (uint64_t at = 0; at < 256 << 10; at += SIEVE_GRANULE)
			sieve_add(&log_, BASE + i * ARENA + at);
	for (uint64_t i = 0; i < LOG_SIEVE; i++)
		CU_ASSERT(log_.sieve[i] <= 1);
	log_reset(&log_);
	for (uint64_t at = 0; at < 256 << 20; at += SIEVE_GRANULE)
		sieve_add(&log_, 0x555555559000ull + at);
	CU_ASSERT_EQUAL(counted(), LOG_SIEVE);
	for (uint64_t i = 0; i < LOG_SIEVE; i++)
		CU_ASSERT(log_.sieve[i] <= 2);
	region_close(&log_);
}

/* A log that does not sample has none. */
static void test_without(void)
{
	uint64_t usage;

	region_open(LOG_LIMIT_MIN, &log_);
	usage = log_usage(&log_).other_bytes;
	CU_ASSERT_TRUE(insert(BASE, 1));
	CU_ASSERT_TRUE(log_remove(&log_, BASE, 0, NULL));
	CU_ASSERT_PTR_NULL(log_reserve(&log_, 1 << 20));
	CU_ASSERT_EQUAL(log_.reserved.sieve, 0);
	log_.header->sample = 4096;
	CU_ASSERT_PTR_NULL(log_reserve(&log_, 1 << 20));
	CU_ASSERT_EQUAL(log_.reserved.sieve, LOG_SIEVE);
	CU_ASSERT_EQUAL(log_usage(&log_).other_bytes, usage + LOG_SIEVE);
	region_close(&log_);
}

void suite_sieve(void)
{
	CU_pSuite suite = CU_add_suite("sieve", NULL, NULL);

	CU_add_test(suite, "counts", test_counts);
	CU_add_test(suite, "keys", test_keys);
	CU_add_test(suite, "stuck", test_stuck);
	CU_add_test(suite, "full", test_full);
	CU_add_test(suite, "near", test_near);
	CU_add_test(suite, "far", test_far);
	CU_add_test(suite, "without sampling", test_without);
}
