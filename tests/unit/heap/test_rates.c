/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rates, against what a program does between readings that is known. */

#include "fixture.h"
#include "heap/rates.h"

#define STACKS	8u

static struct log log_;
static uint32_t ids[STACKS];
static struct log_totals totals_;
static uint64_t seq;

static int setup(void)
{
	fixture_open(&log_);
	for (uint64_t i = 0; i < STACKS; i++) {
		uint64_t pcs[2] = { i + 1, 2 };

		ids[i] = stack_table_insert(&log_, pcs, 2, 0, 0);
	}
	return !ids[STACKS - 1];
}

static int teardown(void)
{
	fixture_close(&log_);
	return 0;
}

FIXTURE(setup, teardown);

/* An address for each block; the size says which stack it is of. */
static void allocate(unsigned stack, uint64_t address, uint64_t size)
{
	struct log_record record = { .address = address, .size = size, .time = ++seq,
				     .stack = ids[stack] };

	CU_ASSERT_TRUE_FATAL(log_record_insert(&log_, &record, NULL));
	stack_table_count(&log_, ids[stack], 1, size);
}

static void release(uint64_t address)
{
	struct log_record record;

	CU_ASSERT_TRUE_FATAL(log_record_remove(&log_, address, 0, &record));
}

static void take_totals(void)
{
	CU_ASSERT_PTR_NULL_FATAL(log_totals_init(&log_, &totals_));
	log_totals_begin(&log_, &totals_);
	log_totals_end(&totals_);
}

/* With the totals that were taken last. */
static void read_late(struct rates *rates, uint64_t seconds)
{
	const struct in_hand none = { VEC_INIT };

	CU_ASSERT_PTR_NULL_FATAL(rates_read(rates, &log_, &none, &totals_,
					    EPOCH + seconds * SECOND));
	log_totals_free(&totals_);
}

static void read_now(struct rates *rates, uint64_t seconds)
{
	take_totals();
	read_late(rates, seconds);
}

static void check(const struct rate *rate, uint64_t bytes, uint64_t count, int64_t growth,
		  uint64_t allocs, uint64_t frees)
{
	CU_ASSERT_EQUAL(rate->bytes, bytes);
	CU_ASSERT_EQUAL(rate->count, count);
	CU_ASSERT_EQUAL(rate->growth, growth);
	CU_ASSERT_EQUAL(rate->new_allocs, allocs);
	CU_ASSERT_EQUAL(rate->new_frees, frees);
	CU_ASSERT_EQUAL(rate->allocs - rate->frees, rate->count);
}

TEST("differs from the last reading")
{
	CLEANUP(rates_free) struct rates rates = RATES_INIT;

	log_reset(&log_);
	for (uint64_t i = 1; i <= 100; i++)
		allocate(0, i * 16, 10);
	for (uint64_t i = 1; i <= 60; i++)
		release(i * 16);
	allocate(1, 0x10000, 500);
	release(0x10000);
	read_now(&rates, 100);
	CU_ASSERT_EQUAL(rates.over_ns, 0);
	check(rates_of(&rates, ids[0]), 400, 40, 0, 0, 0);
	check(&rates.all, 400, 40, 0, 0, 0);
	/* A site that held nothing at the reading before has not allocated all of it since. */
	allocate(1, 0x10000, 500);
	release(61 * 16);
	allocate(0, 0x20000, 10);
	release(0x20000);
	read_now(&rates, 103);
	CU_ASSERT_EQUAL(rates.over_ns, 3 * SECOND);
	check(rates_of(&rates, ids[0]), 390, 39, -10, 1, 2);
	check(rates_of(&rates, ids[1]), 500, 1, 500, 1, 0);
	check(&rates.all, 890, 40, 490, 2, 2);
	read_now(&rates, 104);
	check(rates_of(&rates, ids[0]), 390, 39, 0, 0, 0);
	check(&rates.all, 890, 40, 0, 0, 0);
	CU_ASSERT_PTR_NULL(rates_of(&rates, 1000));
	/* A log that forgot all begins anew. */
	log_reset(&log_);
	allocate(0, 16, 7);
	read_now(&rates, 105);
	CU_ASSERT(rates.over_ns == 0 && rates.nr == 1);
	check(rates_of(&rates, ids[0]), 7, 1, 0, 0, 0);
}

/* Totals that are older than the scan: counts never go back, and held and freed are all-time. */
TEST("never goes back")
{
	CLEANUP(rates_free) struct rates rates = RATES_INIT;

	log_reset(&log_);
	for (uint64_t i = 1; i <= 10; i++)
		allocate(2, i * 16, 8);
	for (uint64_t i = 1; i <= 5; i++)
		release(i * 16);
	read_now(&rates, 1);
	CU_ASSERT_EQUAL(rates_of(&rates, ids[2])->frees, 5);
	take_totals();
	for (uint64_t i = 11; i <= 20; i++)
		allocate(2, i * 16, 8);
	read_late(&rates, 2);
	/* 10 were counted when the scan found 15: with the 5 that were freed these are 20. */
	check(rates_of(&rates, ids[2]), 120, 15, 80, 10, 0);
	CU_ASSERT_EQUAL(rates_of(&rates, ids[2])->frees, 5);
	read_now(&rates, 3);
	check(rates_of(&rates, ids[2]), 120, 15, 0, 0, 0);
}

TEST("sorts and limits")
{
	static const uint32_t want[RATES_SORTS][3] = {
		[RATES_BYTES] = { 3, 4, 5 }, [RATES_GROWTH] = { 4, 3, 5 },
		[RATES_ALLOCS] = { 5, 4, 3 }, [RATES_FREES] = { 5, 3, 4 },
	};
	CLEANUP(rates_free) struct rates rates = RATES_INIT;
	struct rates_top top = { VEC_INIT };

	log_reset(&log_);
	allocate(3, 0x100000, 9000);
	read_now(&rates, 1);
	allocate(4, 0x200000, 100);
	allocate(4, 0x200100, 100);
	for (uint64_t i = 0; i < 5; i++) {
		allocate(5, 0x300000, 50);
		release(0x300000);
	}
	read_now(&rates, 2);
	for (enum rates_sort sort = 0; sort < RATES_SORTS; sort++) {
		CU_ASSERT_PTR_NULL(rates_top(&rates, sort, 10, &top));
		/* The stacks that neither hold nor do anything are left out. */
		CU_ASSERT_EQUAL_FATAL(top.vec.nr, 3);
		for (unsigned i = 0; i < 3; i++)
			CU_ASSERT_EQUAL(top.vec.at[i], ids[want[sort][i]]);
		CU_ASSERT_PTR_NULL(rates_top(&rates, sort, 1, &top));
		CU_ASSERT(top.vec.nr == 1 && top.vec.at[0] == ids[want[sort][0]]);
	}
	/* Nothing was done since: what holds nothing is gone. */
	read_now(&rates, 3);
	CU_ASSERT_PTR_NULL(rates_top(&rates, RATES_FREES, 10, &top));
	CU_ASSERT(top.vec.nr == 2 && top.vec.at[0] == ids[3]);
	vec_free(&top.vec);
}

TEST("remembers the last readings")
{
	CLEANUP(rates_free) struct rates rates = RATES_INIT;
	float past[RATES_PAST];

	log_reset(&log_);
	for (uint64_t i = 1; i <= RATES_PAST + 4; i++) {
		allocate(6, i * 16, 100);
		read_now(&rates, i);
		CU_ASSERT_EQUAL(rates_past(&rates, rates_of(&rates, ids[6]), past),
				MIN(i, (uint64_t)RATES_PAST));
	}
	for (unsigned i = 0; i < RATES_PAST; i++)
		CU_ASSERT_EQUAL(past[i], 100 * (i + 5));
	/* One that has come since held nothing. */
	allocate(7, 0x10000, 70);
	read_now(&rates, 100);
	CU_ASSERT_EQUAL(rates_past(&rates, rates_of(&rates, ids[7]), past), RATES_PAST);
	CU_ASSERT(past[RATES_PAST - 2] == 0 && past[RATES_PAST - 1] == 70);
	CU_ASSERT_EQUAL(rates_past(&rates, &rates.all, past), RATES_PAST);
	CU_ASSERT_EQUAL(past[RATES_PAST - 1], 100 * (RATES_PAST + 4) + 70);
}
