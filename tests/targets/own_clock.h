/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For how long a process stands still, as one of its threads sees it. */
#pragma once

#include <fcntl.h>

#include "../bench/schedstat.h"
#include "target.h"

#define GAP_NS		100000

static _Atomic uint64_t longest;	/* ns, since it was asked last */

/*
 * A thread that does nothing but read the clock. Time in which it could have run, and others had the
 * processor, does not count.
 */
static void *watch(void *arg UNUSED)
{
	int schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	uint64_t last = clock_ns(CLOCK_MONOTONIC), queued = waited(schedstat);

	for (;;) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC), gap = now - last;

		if (gap > GAP_NS) {
			uint64_t wait = waited(schedstat) - queued;

			gap -= gap < wait ? gap : wait;
			if (gap > longest)
				longest = gap;
			queued += wait;
			now = clock_ns(CLOCK_MONOTONIC);
		}
		last = now;
	}
	return NULL;
}
