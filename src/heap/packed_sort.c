/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sorting of lists of blocks (packed.h).
 *
 * A list that is too long for the caches is divided in place by an American flag sort (McIlroy,
 * Bostic, McIlroy: Engineering Radix Sort, 1993): by the most significant digit in which addresses
 * differ, each into its own part of the list, by exchange; and again, until parts are short. These
 * are sorted from the least significant digit on, to a spare place and back, which stays in the
 * cache. So there is no need for the memory of a second list, and each item moves two or three
 * times through memory.
 *
 * An exchange is a cache miss for each line of each part that is being filled, so the next lines
 * are prefetched.
 */

#include <string.h>

#include "base/cleanup.h"
#include "heap/packed.h"

#define DIGIT_BITS	8u
#define DIGITS		(1u << DIGIT_BITS)
#define SHORT		16384u	/* items: twice as many fit into a cache of a megabyte */
#define AHEAD		4u	/* items: a line of the cache */

static uint64_t key_of(const struct packed_block *held)
{
	return held->address | (uint64_t)held->user << 48;
}

/* The bits in which keys differ: from the lowest one to behind the highest one. */
struct span {
	unsigned low, high;
};

static struct span span_of(uint64_t all, uint64_t any)
{
	uint64_t differ = all ^ any;

	return differ ? (struct span){ (unsigned)__builtin_ctzll(differ),
				       64 - (unsigned)__builtin_clzll(differ) } :
			(struct span){ 0, 0 };
}

static unsigned digit(uint64_t key, unsigned shift)
{
	return key >> shift & (DIGITS - 1);
}

/* Turn the number of items with each digit into the start of each part. */
static void add_up(size_t count[DIGITS])
{
	size_t sum = 0;

	for (unsigned i = 0; i < DIGITS; i++) {
		size_t here = count[i];

		count[i] = sum;
		sum += here;
	}
}

/*
 * This is for both kinds of items, so that the compiler knows the size of all moves; nr is not 0.
 */
#define SORT(name, type, key_of_item) \
static struct span name##_span(const type *item, size_t nr) \
{ \
	uint64_t all = UINT64_MAX, any = 0; \
	\
	for (size_t i = 0; i < nr; i++) { \
		all &= key_of_item(&item[i]); \
		any |= key_of_item(&item[i]); \
	} \
	return span_of(all, any); \
} \
\
static void name##_short(type *item, size_t nr, struct span span, type *spare) \
{ \
	type *from = item, *to = spare, *swap; \
	\
	for (unsigned shift = span.low; shift < span.high; shift += DIGIT_BITS) { \
		size_t next[DIGITS] = { 0 }; \
		\
		for (size_t i = 0; i < nr; i++) \
			next[digit(key_of_item(&from[i]), shift)]++; \
		add_up(next); \
		for (size_t i = 0; i < nr; i++) \
			to[next[digit(key_of_item(&from[i]), shift)]++] = from[i]; \
		swap = from; \
		from = to; \
		to = swap; \
	} \
	if (from != item) \
		memcpy(item, from, nr * sizeof(*item)); \
} \
\
static void name##_divide(type *item, size_t nr, unsigned shift, size_t end[DIGITS]) \
{ \
	size_t next[DIGITS] = { 0 }; \
	\
	for (size_t i = 0; i < nr; i++) \
		next[digit(key_of_item(&item[i]), shift)]++; \
	add_up(next); \
	memcpy(end, next + 1, (DIGITS - 1) * sizeof(*end)); \
	end[DIGITS - 1] = nr; \
	for (unsigned i = 0; i < DIGITS; i++) { \
		while (next[i] < end[i]) { \
			type moved = item[next[i]]; \
			unsigned to; \
			\
			while ((to = digit(key_of_item(&moved), shift)) != i) { \
				type other = item[next[to]]; \
				\
				__builtin_prefetch(&item[next[to] + AHEAD], 1); \
				item[next[to]++] = moved; \
				moved = other; \
			} \
			item[next[i]++] = moved; \
		} \
	} \
} \
\
static void name(type *item, size_t nr, type *spare) \
{ \
	struct span span = name##_span(item, nr); \
	unsigned shift = span.high > DIGIT_BITS ? span.high - DIGIT_BITS : 0; \
	size_t end[DIGITS], start = 0; \
	\
	if (nr <= SHORT) { \
		name##_short(item, nr, span, spare); \
		return; \
	} \
	name##_divide(item, nr, shift, end); \
	for (unsigned i = 0; shift && i < DIGITS; start = end[i++]) \
		if (end[i] - start > 1) \
			name(item + start, end[i] - start, spare); \
}

static uint64_t key_of_timed(const struct packed_timed *timed)
{
	return key_of(&timed->held);
}

SORT(sort_packed, struct packed_block, key_of)
SORT(sort_timed, struct packed_timed, key_of_timed)

/* Returns how many were left out. */
static size_t drop_doubles(struct packed_list *list)
{
	size_t stride = packed_stride(list), nr = 0, had = list->nr;

	for (size_t i = 0; i < had; i++) {
		bool same = nr && key_of(packed_at(list, nr - 1)) == key_of(packed_at(list, i));

		if (same && (!list->timed || packed_timed_at(list, i)->time <=
					     packed_timed_at(list, nr - 1)->time))
			continue;
		if (!same)
			nr++;
		if (nr - 1 != i)
			memcpy(packed_at(list, nr - 1), packed_at(list, i), stride);
	}
	list->nr = nr;
	return had - nr;
}

struct err *packed_sort(struct packed_list *list, size_t *doubles_ret)
{
	AUTO_FREE void *spare = malloc(MIN(list->nr, (size_t)SHORT) * packed_stride(list) + 1);
	size_t doubles;

	if (!spare)
		return err_nomem;
	if (list->nr && list->timed)
		sort_timed((struct packed_timed *)(void *)list->at, list->nr, spare);
	else if (list->nr)
		sort_packed((struct packed_block *)(void *)list->at, list->nr, spare);
	doubles = drop_doubles(list);
	if (doubles_ret)
		*doubles_ret = doubles;
	list->nr_outer = LOWER_BOUND(i, 0, list->nr, !packed_at(list, i)->user);
	return NULL;
}
