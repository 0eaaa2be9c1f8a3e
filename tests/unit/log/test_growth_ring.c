/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The growth ring: what is read is what was put in, whoever puts in meanwhile. */

#include <pthread.h>
#include <sys/mman.h>

#include "log/growth_ring.h"
#include "log/ring.h"
#include "region.h"
#include "unit.h"

#define SIZE	LOG_REGION_MIN
#define WRITERS	4u
#define EVENTS	60000u

static struct log log_;

/* All follows from one number. */
static struct growth_event event_of(uint64_t n)
{
	uint64_t mixed = n * 0x9e3779b97f4a7c15ull;
	struct growth_event event = {
		.entered = n, .left = mixed, .thread = (uint32_t)(mixed >> 40) % 100,
		.stack = (uint32_t)(mixed >> 20) % 100, .call = (uint32_t)(n % GROWTH_CALLS),
		.result = ~mixed,
	};

	for (unsigned i = 0; i < GROWTH_ARGS; i++)
		event.arg[i] = mixed + i;
	return event;
}

static bool is_whole(const struct growth_event *is)
{
	struct growth_event want = event_of(is->entered);
	bool same = is->left == want.left && is->thread == want.thread &&
		    is->stack == want.stack && is->call == want.call && is->result == want.result;

	for (unsigned i = 0; i < GROWTH_ARGS; i++)
		same &= is->arg[i] == want.arg[i];
	return same;
}

TEST("order")
{
	struct growth_event event;
	uint64_t room;

	region_open(SIZE, &log_);
	room = log_.nr_growth;
	CU_ASSERT(room >= 1024 && growth_ring_next(&log_) == 0);
	CU_ASSERT_EQUAL(growth_ring_get(&log_, 0, &event), GROWTH_NOT_YET);
	for (uint64_t i = 0; i < room + 3; i++) {
		event = event_of(i);
		growth_ring_put(&log_, &event);
	}
	CU_ASSERT_EQUAL(growth_ring_next(&log_), room + 3);
	for (uint64_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(growth_ring_get(&log_, i, &event), GROWTH_GONE);
	for (uint64_t i = 3; i < room + 3; i++) {
		CU_ASSERT_EQUAL_FATAL(growth_ring_get(&log_, i, &event), GROWTH_READ);
		CU_ASSERT(event.entered == i && is_whole(&event));
	}
	CU_ASSERT_EQUAL(growth_ring_get(&log_, room + 3, &event), GROWTH_NOT_YET);
	/* A writer that has begun and does not finish. */
	CU_ASSERT(ring_claim((uint64_t *)&log_.growth[3], room + 3));
	CU_ASSERT_EQUAL(growth_ring_get(&log_, room + 3, &event), GROWTH_NOT_YET);
	CU_ASSERT_EQUAL(growth_ring_get(&log_, 3, &event), GROWTH_GONE);
	munmap(log_.base, SIZE);
}

TEST("run")
{
	struct growth_event event = event_of(0);
	struct growth_run run, later;

	region_open(SIZE, &log_);
	CU_ASSERT(!growth_ring_run(&log_).kinds && !growth_ring_run(&log_).start);
	growth_ring_put(&log_, &event);
	growth_ring_begin(&log_, 2, 77);
	run = growth_ring_run(&log_);
	CU_ASSERT(run.kinds == 2 && run.first == 1 && run.start && !run.brk);
	/* One kind more is the same run. Where the heap ends counts from the moment that brk is seen. */
	growth_ring_begin(&log_, 2 | LOG_GROWTH_BRK, 78);
	later = growth_ring_run(&log_);
	CU_ASSERT(later.kinds == 3 && later.start == run.start && later.brk == 78);
	growth_ring_begin(&log_, 6 | LOG_GROWTH_BRK, 79);
	CU_ASSERT(growth_ring_run(&log_).kinds == 7 && growth_ring_run(&log_).brk == 78);
	growth_ring_begin(&log_, 0, 0);
	CU_ASSERT(!growth_ring_run(&log_).kinds && growth_ring_run(&log_).first == 1);
	munmap(log_.base, SIZE);
}

static void *write_events(void *arg)
{
	for (uint64_t i = 0; i < EVENTS; i++) {
		struct growth_event event = event_of((uintptr_t)arg * EVENTS + i);

		growth_ring_put(&log_, &event);
	}
	return NULL;
}

/* A reader that goes after four writers, which go round the ring many times. */
TEST("hammer")
{
	pthread_t writer[WRITERS];
	uint64_t next = 0, read = 0, gone = 0, broken = 0, end = WRITERS * EVENTS;
	struct growth_event event;
	unsigned waits = 0;

	region_open(SIZE, &log_);
	for (uintptr_t i = 0; i < WRITERS; i++)
		CU_ASSERT_FATAL(!pthread_create(&writer[i], NULL, write_events, (void *)i));
	/* A number whose writer gives up stays missing: it is waited for in vain only for a while. */
	while (next < end) {
		enum growth_read is = growth_ring_get(&log_, next, &event);

		if (is == GROWTH_NOT_YET && ++waits < 100000000)
			continue;
		waits = 0;
		next++;
		read += is == GROWTH_READ;
		gone += is != GROWTH_READ;
		broken += is == GROWTH_READ && !is_whole(&event);
	}
	for (unsigned i = 0; i < WRITERS; i++)
		pthread_join(writer[i], NULL);
	CU_ASSERT_EQUAL(broken, 0);
	CU_ASSERT_EQUAL(read + gone, end);
	CU_ASSERT(read > 0);
	CU_ASSERT_EQUAL(growth_ring_next(&log_), end);
	munmap(log_.base, SIZE);
}
