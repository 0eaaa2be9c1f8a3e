/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two hundred and fifty-six distinct call paths, eight functions deep, to one leaf.
 *
 * Define `static uint64_t leaf(uint64_t arg)` before the inclusion; path(n, arg) calls it through the functions that
 * the eight bits of n choose. Every level has a frame of its own (no tail calls, no frame pointers).
 */
#pragma once

#include "target.h"

#define PATHS	256

#define PATH_FUNCTION(name, next_a, next_b)				\
	static NOINLINE uint64_t name(unsigned bits, uint64_t arg)	\
	{								\
		uint64_t ret;						\
									\
		if (bits & 1)						\
			ret = next_a(bits >> 1, arg);			\
		else							\
			ret = next_b(bits >> 1, arg);			\
		KEEP(ret);						\
		return ret + 1;						\
	}

#define PATH_LEVEL(n, m)				\
	PATH_FUNCTION(a##n, a##m, b##m)			\
	PATH_FUNCTION(b##n, b##m, a##m)

static NOINLINE uint64_t a0(unsigned bits, uint64_t arg)
{
	uint64_t ret = leaf(arg + bits);

	KEEP(ret);
	return ret + 1;
}

static NOINLINE uint64_t b0(unsigned bits, uint64_t arg)
{
	uint64_t ret = leaf(arg + bits);

	KEEP(ret);
	return ret + 2;
}

PATH_LEVEL(1, 0)
PATH_LEVEL(2, 1)
PATH_LEVEL(3, 2)
PATH_LEVEL(4, 3)
PATH_LEVEL(5, 4)
PATH_LEVEL(6, 5)
PATH_LEVEL(7, 6)

/* Eight functions, a7 or b7 down to a0 or b0, chosen by the bits of n. */
static inline uint64_t path(unsigned n, uint64_t arg)
{
	return (n & 128) ? a7(n & 127, arg) : b7(n & 127, arg);
}
