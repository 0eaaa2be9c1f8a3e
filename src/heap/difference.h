/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The difference of two moments of one log (moment.h), stack by stack. */
#pragma once

#include "heap/moment.h"

struct change {
	uint32_t stack;
	int64_t bytes, count;		/* second moment less first; at least one is not 0 */
};

struct difference {
	/* The largest change of bytes first, up or down; ties by count, then by stack. */
	VEC(struct change) vec;
	/* The sums of all increases and of all decreases. */
	uint64_t grown, shrunk;
	struct sample_share from, to;	/* the totals of the two moments */
};

#define DIFFERENCE_INIT	{ .vec = VEC_INIT }

/*
 * Compute the changes from one moment to another; either may be the earlier one. A deferred stack
 * that is complete now counts as the complete one (log/deferred.h).
 */
struct err *difference_build(const struct log *log, const struct moment *from,
			     const struct moment *to, struct difference *ret) MUST_CHECK;
void difference_free(struct difference *difference);
