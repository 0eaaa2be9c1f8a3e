/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The log's clock, with clocks of our own: a counter of 3 ticks a nanosecond, and one that is set.
 */

#include "log/log_clock.h"

#include <time.h>

#include "region.h"

#define TICKS	3
#define SECOND	1000000000ull
#define EPOCH	(1760000000 * SECOND)

static struct log log_;

/* A log that has seen one moment, stamp 1000, and knows the rate. */
static void begin(void)
{
	region_open(LOG_REGION_MIN, &log_);
	log_.header->anchors = 1;
	log_.header->anchor[0] = (struct log_anchor){ 1000, EPOCH, EPOCH };
	log_.header->rate_stamp = 1000;
	log_.header->rate_ns = EPOCH;
	log_.header->rate = (1ull << 48) / TICKS;
	log_.header->ahead = 0;
}

static void close_log(void)
{
	region_close(&log_);
}

EACH(begin, close_log);

static uint64_t stamp_at(uint64_t ns)
{
	return 1000 + ns * TICKS;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void check_monotone(uint64_t until_ns)
{
	uint64_t last = 0;

	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t now = log_clock_realtime(&log_, stamp_at(until_ns / 100000 * i));

		CU_ASSERT_TRUE_FATAL(now >= last);
		last = now;
	}
}

TEST("straight")
{
	for (uint64_t i = 1; i <= 1000; i++)
		log_clock_note(&log_, stamp_at(i * SECOND * 10), EPOCH + i * SECOND * 10);
	for (uint64_t ns = 0; ns < 10100 * SECOND; ns += SECOND / 3 * 10)
		CU_ASSERT_TRUE_FATAL(distance(log_clock_realtime(&log_, stamp_at(ns)),
					      EPOCH + ns) <= 2);
	CU_ASSERT_EQUAL(log_clock_realtime(&log_, 1000), EPOCH);
	CU_ASSERT_TRUE(distance(log_clock_realtime(&log_, 1000 - 300), EPOCH - 100) <= 1);
	CU_ASSERT_TRUE(log_.header->anchors <= LOG_ANCHORS);
	check_monotone(10100 * SECOND);
}

/* The clock is slewed by 300 parts in a million: followed, and what was converted once stays. */
TEST("slewed")
{
	uint64_t early[1000], ns = 0;

	for (uint64_t i = 1; i <= 1000; i++) {
		ns = i * SECOND * 10;
		log_clock_note(&log_, stamp_at(ns),
			       EPOCH + ns + (i < 500 ? 0 : (i - 500) * 10 * 300000));
		early[i - 1] = log_clock_realtime(&log_, stamp_at(ns - SECOND));
		CU_ASSERT_TRUE_FATAL(distance(log_clock_realtime(&log_, stamp_at(ns)),
					      EPOCH + ns + (i < 500 ? 0
							    : (i - 500) * 10 * 300000)) <= 2);
	}
	for (uint64_t i = 1; i <= 1000; i++)
		if (i < 490 || i > 510)
			CU_ASSERT_TRUE_FATAL(distance(log_clock_realtime(&log_,
				stamp_at(i * SECOND * 10 - SECOND)),
						      early[i - 1]) < 1000);
	check_monotone(ns);
}

TEST("set forward")
{
	uint64_t hour = 3600 * SECOND, before;

	log_clock_note(&log_, stamp_at(10 * SECOND), EPOCH + 10 * SECOND);
	before = log_clock_realtime(&log_, stamp_at(15 * SECOND));
	log_clock_note(&log_, stamp_at(20 * SECOND), EPOCH + 20 * SECOND + hour);
	log_clock_note(&log_, stamp_at(30 * SECOND), EPOCH + 30 * SECOND + hour);
	CU_ASSERT_TRUE(distance(log_clock_realtime(&log_, stamp_at(15 * SECOND)), before) < 1000);
	CU_ASSERT_TRUE(distance(before, EPOCH + 15 * SECOND) < 1000);
	CU_ASSERT_TRUE(distance(log_clock_realtime(&log_, stamp_at(25 * SECOND)),
				EPOCH + 25 * SECOND + hour) < 1000);
	CU_ASSERT_TRUE(distance(log_clock_realtime(&log_, stamp_at(50 * SECOND)),
				EPOCH + 50 * SECOND + hour) < 1000);
	check_monotone(60 * SECOND);
}

TEST("set back")
{
	uint64_t hour = 3600 * SECOND;

	log_clock_note(&log_, stamp_at(10 * SECOND), EPOCH + 10 * SECOND);
	for (uint64_t s = 20; s <= 100; s += 10)
		log_clock_note(&log_, stamp_at(s * SECOND), EPOCH + s * SECOND - hour);
	CU_ASSERT_TRUE(distance(log_clock_realtime(&log_, stamp_at(55 * SECOND)),
				EPOCH + 55 * SECOND) < 1000);
	/* Set right again: the log was right all the time. */
	for (uint64_t s = 110; s <= 200; s += 10)
		log_clock_note(&log_, stamp_at(s * SECOND), EPOCH + s * SECOND);
	CU_ASSERT_EQUAL(log_.header->ahead, 0);
	for (uint64_t s = 1; s < 220; s++)
		CU_ASSERT_TRUE(distance(log_clock_realtime(&log_, stamp_at(s * SECOND)),
					EPOCH + s * SECOND) < 10000);
	check_monotone(220 * SECOND);
}

TEST("odd readings")
{
	log_clock_note(&log_, 1000, EPOCH + 5);
	log_clock_note(&log_, 500, EPOCH + 5);
	CU_ASSERT_EQUAL(log_.header->anchors, 1);
	log_clock_note(&log_, 1003, EPOCH);
	CU_ASSERT_EQUAL(log_.header->anchors, 1);
	check_monotone(SECOND);
}

TEST("the real clocks")
{
	struct timespec now;
	uint64_t before, after, ns, stamp;

	close_log();
	region_open(LOG_REGION_MIN, &log_);
	clock_gettime(CLOCK_REALTIME, &now);
	before = (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
	stamp = log_now();
	clock_gettime(CLOCK_REALTIME, &now);
	after = (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
	log_clock_update(&log_);
	ns = log_clock_realtime(&log_, stamp);
	CU_ASSERT_TRUE(ns + 20000 >= before && ns <= after + 20000);
	CU_ASSERT_TRUE(log_clock_begin(&log_) <= stamp);
	CU_ASSERT_EQUAL(log_clock_seq(&log_, log_clock_begin(&log_)), 1);
	CU_ASSERT_EQUAL(log_clock_seq(&log_, log_clock_begin(&log_) + 41), 42);
	CU_ASSERT_EQUAL(log_clock_seq(&log_, 0), 1);
}

/* Whatever stands in the header: an answer, no crash. */
TEST("garbage")
{
	uint64_t x = 88172645463325252, sum = 0;

	for (unsigned round = 0; round < 200; round++) {
		for (uint64_t *at = (uint64_t *)&log_.header->anchors; at < (uint64_t *)(log_.header + 1); at++)
			*at = unit_random(&x);
		for (unsigned i = 0; i < 100; i++)
			sum += log_clock_realtime(&log_, x * i);
		log_clock_note(&log_, x, x >> 3);
		log_clock_update(&log_);
	}
	CU_ASSERT_NOT_EQUAL(sum, 0);
	log_.header->anchors = 0;
	CU_ASSERT_EQUAL(log_clock_realtime(&log_, 5), 0);
}
