/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ring of references: what is read is what was put in, and what is gone is said. */

#include <sys/mman.h>

#include "log/ref_ring.h"
#include "region.h"
#include "unit.h"

#define SIZE	LOG_REGION_MIN

static struct log log_;

static struct ref_event event_of(uint64_t n)
{
	return (struct ref_event){
		.object = n * 16 + (n % LOG_PROCESSES << LOG_PROCESS_SHIFT), .time = ~n,
		.thread = 0, .stack = 0, .gives = n % 3 == 0,
	};
}

TEST("order, and what a newer one has replaced")
{
	struct ref_event event, want;
	uint64_t room;

	region_open(SIZE, &log_);
	room = log_.nr_refs;
	CU_ASSERT(room >= 256 && ref_ring_next(&log_) == 0);
	CU_ASSERT_EQUAL(ref_ring_get(&log_, 0, &event), REF_NOT_YET);
	for (uint64_t i = 0; i < room + 3; i++) {
		event = event_of(i);
		ref_ring_put(&log_, &event);
	}
	CU_ASSERT_EQUAL(ref_ring_next(&log_), room + 3);
	for (uint64_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(ref_ring_get(&log_, i, &event), REF_GONE);
	for (uint64_t i = 3; i < room + 3; i++) {
		want = event_of(i);
		CU_ASSERT_EQUAL_FATAL(ref_ring_get(&log_, i, &event), REF_READ);
		CU_ASSERT(event.object == want.object && event.time == want.time &&
			  event.gives == want.gives);
	}
	munmap(log_.base, SIZE);
}

/* The target can write anything there. */
TEST("ids that the log does not have")
{
	struct ref_event event = {
		.object = 16, .thread = UINT32_MAX, .stack = UINT32_MAX,
	};

	region_open(SIZE, &log_);
	ref_ring_put(&log_, &event);
	CU_ASSERT_EQUAL_FATAL(ref_ring_get(&log_, 0, &event), REF_READ);
	CU_ASSERT(event.thread == 0 && event.stack == LOG_STACK_DAMAGED);
	munmap(log_.base, SIZE);
}
