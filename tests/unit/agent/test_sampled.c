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
