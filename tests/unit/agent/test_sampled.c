/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A log that samples: which blocks it records, and what they stand for. */

#include <pthread.h>

#include "log/sample.h"
#include "record_tests.h"
#include "unit.h"

RECORD_SUITES("sampled");

/* As mdbg sets up a log that samples, and a thread whose next sample is so many bytes ahead. */
static void sample_begin(uint64_t mean, uint64_t gap)
{
	world_reset();
	world_sample(mean);
	world_new(3, MALLOC, 1, C);
	world_free(3, FREE, C);
	log_reset(&world.log);
	unwind_cache_reset(&world_thread()->cache);	/* it may have been a sample */
	world_thread()->ledger.random = 1;
	world_thread()->ledger.gap = gap;
}

static void sample_end(void)
{
	world_sample(0);
}

/* The sample is in the byte behind the gap. */
TEST("sampled")
{
	sample_begin(1 << 20, 250);
	world_new(3, MALLOC, 100, A);
	world_new(3, MALLOC, 150, B);
	EXPECT(.unsampled = 2);
	CU_ASSERT_EQUAL(world_thread()->ledger.gap, 0);
	world_new(3, CALLOC, 1, C);
	EXPECT(.allocs = 1, .alloc_bytes = 1, .unsampled = 2);
	CU_ASSERT_EQUAL(record_at(C).size, 1);
	CU_ASSERT(stack_total(CALLOC) > 900000);
	CU_ASSERT_EQUAL(stack_total(CALLOC), sample_share(1 << 20, 1, record_at(C).time).blocks);
	CU_ASSERT_EQUAL(stack_total(MALLOC), 0);
	world_free(3, FREE, A);
	world_free(3, FREE, C);
	world_free(3, FREE, 0);
	EXPECT(.allocs = 1, .alloc_bytes = 1, .frees = 1, .free_bytes = 1, .unsampled = 2,
	       .unsampled_frees = 1, .null_frees = 1);
	sample_end();
}

/* A block that is not recorded, and stays where it is. */
TEST("sampled, resize that fails")
{
	sample_begin(1 << 20, 1000);
	world_new(9, MALLOC, 10, A);
	world_begin(5, REALLOC, A, 30, 0);
	world_end(5, REALLOC, 0);
	EXPECT(.unsampled = 1, .failed = 1);
	world_threads(NULL);
	world_begin(5, REALLOC, A, 30, 0);
	world_end(5, REALLOC, 0);
	world_threads(world.threads);
	EXPECT(.unsampled = 1, .failed = 2);
	world_begin(5, REALLOC, A, 0, 0);
	world_end(5, REALLOC, 0);
	EXPECT(.unsampled = 1, .unsampled_frees = 1, .failed = 2);
	sample_end();
}

static void *free_a(void *unused)
{
	world_free(5, FREE, A);
	return unused;
}

static void free_elsewhere(void)
{
	pthread_t thread;

	CU_ASSERT_FALSE_FATAL(pthread_create(&thread, NULL, free_a, NULL));
	pthread_join(thread, NULL);
}

/*
 * Another thread has freed it, so that this one does not know; from further up the stack it gets it
 * again.
 */
TEST("sampled, freed elsewhere")
{
	sample_begin(1 << 20, 1000);
	world_new(9, MALLOC, 10, A);
	free_elsewhere();
	world_new(8, MALLOC, 10, A);
	free_elsewhere();
	world_new(7, CALLOC, 10, A);
	EXPECT(.unsampled = 3, .unsampled_frees = 2);
	free_elsewhere();
	world_begin(6, NEW, 10, 0, 0);
	world_end(6, NEW, A);
	free_elsewhere();
	world_begin(5, REALLOC, 0, 10, 0);
	world_end(5, REALLOC, A);
	EXPECT(.unsampled = 5, .unsampled_frees = 4);
	CU_ASSERT_EQUAL(world_thread()->ledger.gap, 950);
	world_thread()->ledger.gap = 5;
	free_elsewhere();
	world_new(4, MALLOC, 10, A);
	CU_ASSERT_EQUAL(record_at(A).size, 10);
	free_elsewhere();
	EXPECT(.allocs = 1, .alloc_bytes = 10, .frees = 1, .free_bytes = 10, .unsampled = 5,
	       .unsampled_frees = 5);
	sample_end();
}

/* In a signal handler, which finds its thread in the agent. */
TEST("sampled, busy")
{
	sample_begin(1 << 20, 1000);
	world_new(9, MALLOC, 10, A);
	world_thread()->ledger.busy = 1;
	world_new(9, MALLOC, 1, B);
	world_free(9, FREE, B);
	world_free(9, FREE, A);
	world_thread()->ledger.busy = 0;
	EXPECT(.unsampled = 2, .unsampled_frees = 2);
	CU_ASSERT_EQUAL(world_thread()->ledger.gap, 990);
	sample_end();
}

/* As mdbg sets up a log whose mean changes. */
static void rate_begin(uint8_t rate)
{
	sample_begin(sample_rate_mean(SAMPLE_RATE_FIRST), 0);
	world.log.header->sample_rate = rate;
}

static uint64_t share_at(uint64_t block, uint64_t mean)
{
	return sample_share(mean, record_at(block).size, record_at(block).time).blocks;
}

/* A thread takes over a rate when it draws, and each record has that of its own draw. */
TEST("rate")
{
	struct log_record old;

	rate_begin(SAMPLE_RATE_ALL);
	world_new(3, MALLOC, 100, A);
	CU_ASSERT_EQUAL(record_at(A).rate, SAMPLE_RATE_ALL);
	CU_ASSERT_EQUAL(stack_total(MALLOC), 1);
	log_set_rate(&world.log, SAMPLE_RATE_COARSEST);
	world_new(3, MALLOC, 100, B);
	CU_ASSERT_EQUAL(world_thread()->ledger.rate, SAMPLE_RATE_COARSEST);
	EXPECT(.allocs = 1, .alloc_bytes = 100, .unsampled = 1);
	world_thread()->ledger.gap = 10;
	world_new(3, CALLOC, 100, B);
	CU_ASSERT_EQUAL(record_at(B).rate, SAMPLE_RATE_COARSEST);
	CU_ASSERT_EQUAL(stack_total(CALLOC), share_at(B, 64 << 20));
	CU_ASSERT(stack_total(CALLOC) > 600000);
	/* Each leaves as it came. */
	log_set_rate(&world.log, SAMPLE_RATE_FINEST);
	CU_ASSERT(log_record_remove(&world.log, B, 0, &old) && old.rate == SAMPLE_RATE_COARSEST);
	CU_ASSERT(log_record_restore(&world.log, &old, 0));
	CU_ASSERT_EQUAL(record_at(B).rate, SAMPLE_RATE_COARSEST);
	world_free(3, FREE, A);
	world_free(3, FREE, B);
	EXPECT(.allocs = 2, .alloc_bytes = 200, .frees = 2, .free_bytes = 200, .unsampled = 1);
	sample_end();
}

/* They are in no countdown, and stand for themselves. */
TEST("rate, large blocks")
{
	rate_begin(SAMPLE_RATE_COARSEST);
	world_new(3, MALLOC, 1, C);
	world_thread()->ledger.gap = 1ull << 40;
	world_new(3, MALLOC, SAMPLE_LARGE - 1, B);
	world_new(3, MALLOC, SAMPLE_LARGE, A);
	EXPECT(.allocs = 1, .alloc_bytes = SAMPLE_LARGE, .unsampled = 2);
	CU_ASSERT_EQUAL(record_at(A).rate, SAMPLE_RATE_ALL);
	CU_ASSERT_EQUAL(stack_total(MALLOC), 1);
	CU_ASSERT_EQUAL(world_thread()->ledger.gap, (1ull << 40) - (SAMPLE_LARGE - 1));
	sample_end();
}

/*
 * An inner call's draw is taken back, and the rate has changed in between: the outer one is drawn for
 * with the new rate.
 */
TEST("rate, nested")
{
	rate_begin(SAMPLE_RATE_COARSEST);
	world_begin(5, NEW, 100, 0, 0);
	world_new(7, MALLOC, 100, A);
	log_set_rate(&world.log, SAMPLE_RATE_ALL);
	world_end(5, NEW, A);
	EXPECT(.allocs = 1, .alloc_bytes = 100, .nested = 1);
	CU_ASSERT_EQUAL(record_at(A).rate, SAMPLE_RATE_ALL);
	world_begin(5, NEW, 100, 0, 0);
	world_new(7, MALLOC, 100, B);
	log_set_rate(&world.log, SAMPLE_RATE_COARSEST);
	world_end(5, NEW, B);
	CU_ASSERT_EQUAL(reader_live(&world.log), 1);
	EXPECT(.allocs = 1, .alloc_bytes = 100, .unsampled = 1, .nested = 2);
	sample_end();
}

#define SEEDS	1000
#define EVENTS	2000

/* The share of a block of this size at a rate, and its square: what a sum is off by on average. */
static double variance(uint64_t size, uint8_t rate)
{
	uint64_t mean = sample_rate_mean(rate);
	double weight = mean && size < SAMPLE_LARGE ?
		(double)sample_weight(size, mean) / SAMPLE_ONE : 1;

	return (double)size * (double)size * (weight - 1);
}

/*
 * A stream of blocks of many sizes, while the rate changes at any moment, up and down: the sums of
 * bytes that the records stand for are those of all blocks that are held, within three standard
 * errors, as often as these are kept (997 of 1,000 times), and on average over all seeds. Half of the
 * blocks are freed again, at any rate.
 */
TEST("rate, in sum")
{
	unsigned beyond = 0;
	double off = 0, all = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		double truth = 0, square = 0, sum = 0;
		uint64_t random = seed;

		rate_begin(SAMPLE_RATE_FIRST);
		world_thread()->ledger.random = seed * 77;
		for (unsigned i = 0; i < EVENTS; i++) {
			uint64_t block = A + 0x1000 * i, dice = sample_random(&random);
			uint64_t size = 1 + (dice >> 8) % (16u << (dice & 7));

			if (dice >> 60 == 0)
				log_set_rate(&world.log, (uint8_t)(SAMPLE_RATE_FINEST - 1 +
								  (dice >> 32) % 40));
			world_new(3, MALLOC, size, block);
			if (dice >> 59 & 1) {
				world_free(3, FREE, block);
				continue;
			}
			truth += (double)size;
			square += variance(size, log_rate(&world.log));
		}
		for (unsigned i = 0; i < EVENTS; i++) {
			struct log_record record;

			if (log_record_lookup(&world.log, A + 0x1000 * i, &record))
				sum += (double)sample_share(sample_mean(1, record.rate), record.size,
							    record.time).bytes;
		}
		beyond += (sum - truth) * (sum - truth) > 9 * square;
		off += sum - truth;
		all += square;
		sample_end();
	}
	printf("%u of %u beyond three standard errors ", beyond, SEEDS);
	CU_ASSERT(beyond <= SEEDS / 100);
	CU_ASSERT(off * off <= 9 * all);
}

/* By millions of blocks: those that are recorded stand for all. */
TEST("sampled, in sum")
{
	uint64_t blocks = 0;

	sample_begin(4096, 0);
	for (unsigned i = 0; i < 1000000; i++) {
		world_new(3, MALLOC, 64, A);
		world_free(3, FREE, A);
	}
	blocks = stack_total(MALLOC);
	printf("%llu for 1000000 ", (unsigned long long)blocks);
	CU_ASSERT(blocks > 950000 && blocks < 1050000);		/* 6 sigma */
	sample_end();
}
