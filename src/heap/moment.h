/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Moments: sums of the live blocks of each stack, at times when mdbg has read the log. Growth is
 * the difference of two moments.
 *
 * A moment has all stacks with live blocks. Stacks keep their ids as long as the log exists, so
 * that the sums of two moments can be compared by them. Moments are valid only for their log, and
 * only while all allocations and frees are recorded: a caller that resets the log, or takes the
 * probes out, clears the moments.
 */
#pragma once

#include "base/vec.h"
#include "heap/block.h"

struct moment_sum {
	uint32_t stack;
	uint64_t bytes, count;		/* the sums that its blocks stand for (block_share) */
};

struct moment {
	uint64_t time_ns;		/* since the epoch, by the log's clock */
	VEC(struct moment_sum) vec;	/* by stack; none is 0 */
};

#define MOMENT_INIT	{ 0, VEC_INIT }

/* The sums of the live blocks at a time. */
struct err *moment_take(const struct live_counts *live, uint64_t time_ns,
			struct moment *ret) MUST_CHECK;
void moment_free(struct moment *moment);

/*
 * A few moments of one log, oldest first: as many as it takes to have one that is MOMENT_AGE_NS old
 * or a little older whenever somebody asks, however often moments are added.
 */
#define MOMENT_AGE_NS	2000000000ull	/* growth over less says little */
#define MOMENT_STEP_NS	1000000000ull	/* a moment that is closer to the last one is not kept */
#define MOMENTS_MOST	3u		/* one that is old enough, and those of the steps since */

struct moments {
	struct moment at[MOMENTS_MOST];
	uint32_t nr;
};

/* Returns the latest moment that is MOMENT_AGE_NS old at now_ns; NULL: there is none. */
const struct moment *moments_before(const struct moments *moments, uint64_t now_ns);
/* Add a moment, or free it; moments that are not needed any more are freed. */
void moments_add(struct moments *moments, struct moment *moment);
void moments_clear(struct moments *moments);
