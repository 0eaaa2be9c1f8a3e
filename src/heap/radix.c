/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Radix sort of (key, index); see radix.h. */

#include "heap/radix.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

#define BITS	11
#define DIGITS	(1u << BITS)

static unsigned digit(uint64_t key, unsigned shift)
{
	return key >> shift & (DIGITS - 1);
}

/* Make one pass. False: all keys have the same digit, and nothing was moved. */
static bool pass(const struct radix_item *from, struct radix_item *to, size_t nr, unsigned shift)
{
	size_t start[DIGITS] = { 0 };
	size_t sum = 0;

	for (size_t i = 0; i < nr; i++)
		start[digit(from[i].key, shift)]++;
	if (start[digit(from[0].key, shift)] == nr)
		return false;
	for (unsigned i = 0; i < DIGITS; i++) {
		size_t count = start[i];

		start[i] = sum;
		sum += count;
	}
	for (size_t i = 0; i < nr; i++)
		to[start[digit(from[i].key, shift)]++] = from[i];
	return true;
}

struct err *radix_sort(struct radix_item *item, size_t nr)
{
	AUTO_FREE struct radix_item *spare = NULL;
	struct radix_item *from = item, *to;

	if (nr < 2)
		return NULL;
	spare = calloc(nr, sizeof(*spare));
	if (!spare)
		return err_nomem;
	to = spare;
	for (unsigned shift = 0; shift < 64; shift += BITS) {
		if (pass(from, to, nr, shift)) {
			struct radix_item *swap = from;

			from = to;
			to = swap;
		}
	}
	if (from != item)
		memcpy(item, from, nr * sizeof(*item));
	return NULL;
}
