/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Address ranges that may overlap, each with a value, searched by address: modules, symbols,
 * compilation units, functions. The caller adds all, sorts, then searches. As files are untrusted,
 * a search gives up after SPANS_STEPS ranges.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

#define SPANS_STEPS	8192

struct span {
	uint64_t start, end;
	uint64_t reach;		/* the highest end of this and all ranges before it */
	uint32_t value;
};

struct spans {
	VEC(struct span) vec;
	size_t sorted;		/* number of ranges at the start that are in order */
};

/* An empty range is not added. */
struct err *spans_add(struct spans *spans, uint64_t start, uint64_t end,
		      uint32_t value) MUST_CHECK;
/* Sort the ranges that were added since the last sort, and merge them with the others. */
void spans_sort(struct spans *spans);
/*
 * Returns the range that holds addr and starts last; if several start together, the one with the
 * largest value. With after, the one that follows after in this order. NULL: none.
 */
const struct span *spans_find(const struct spans *spans, uint64_t addr, const struct span *after);
void spans_free(struct spans *spans);
