/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Address ranges that may overlap, each with a value, searched by address: modules, symbols,
 * compilation units, functions. Add them all, sort, then ask. As files are untrusted, a search
 * gives up after SPANS_STEPS ranges.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

#define SPANS_STEPS	8192

struct span {
	uint64_t start, end;
	uint64_t reach;		/* the furthest end of this and all before it */
	uint32_t value;
};

struct spans {
	VEC(struct span) vec;
	size_t sorted;		/* the first ones, which are in order */
};

/* An empty range is left out. */
struct err *spans_add(struct spans *spans, uint64_t start, uint64_t end,
		      uint32_t value) MUST_CHECK;
/* Sort those that were added since the last time, and merge them with the others. */
void spans_sort(struct spans *spans);
/*
 * The range that holds addr and starts last; of those that start together the one with the largest
 * value. With after, the next one in this order. NULL: none.
 */
const struct span *spans_find(const struct spans *spans, uint64_t addr, const struct span *after);
void spans_free(struct spans *spans);
