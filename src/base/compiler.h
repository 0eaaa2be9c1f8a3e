/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compiler attributes. Freestanding: the agent includes this file too. */
#pragma once

#define MUST_CHECK	__attribute__((warn_unused_result))
#define PRINTF(f, a)	__attribute__((format(printf, f, a)))
#define UNUSED		__attribute__((unused))
#define NOINLINE	__attribute__((noinline))
#define ALWAYS_INLINE	inline __attribute__((always_inline))
#define NORETURN	__attribute__((noreturn))
#define LIKELY(x)	__builtin_expect(!!(x), 1)
#define UNLIKELY(x)	__builtin_expect(!!(x), 0)

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)	({ __typeof__(a) min_a = (a); __typeof__(b) min_b = (b); \
			   min_a < min_b ? min_a : min_b; })
#define MAX(a, b)	({ __typeof__(a) max_a = (a); __typeof__(b) max_b = (b); \
			   max_a > max_b ? max_a : max_b; })
/* a must be a power of two. */
#define ALIGN_DOWN(x, a)	((x) & ~((__typeof__(x))(a) - 1))
#define ALIGN_UP(x, a)		ALIGN_DOWN((x) + ((__typeof__(x))(a) - 1), a)

/*
 * The first index i in [low, high) for which `below` is false, or high if there is none. After the
 * first index for which it is false, `below` must be false for all.
 */
#define LOWER_BOUND(i, low, high, below) \
	({ __typeof__((high) + 0) bound_low = (low), bound_high = (high); \
	   while (bound_low < bound_high) { \
		   const __typeof__(bound_low) i = bound_low + (bound_high - bound_low) / 2; \
		   if (below) \
			   bound_low = i + 1; \
		   else \
			   bound_high = i; \
	   } \
	   bound_low; })
