/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The next block that the log knows. */

#include "heap/known.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "heap/block.h"

static int by_value(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

static void keep_first(struct known *known)
{
	if (known->address.nr)
		qsort(known->address.at, known->address.nr, sizeof(*known->address.at), by_value);
	if (known->address.nr > KNOWN_MOST) {
		known->address.nr = KNOWN_MOST;
		known->all = false;
	}
}

static bool take_record(const struct log_record *record, uint64_t slot UNUSED, void *ctx)
{
	struct known *known = ctx;
	uint64_t address = record->address - ((uint64_t)known->process << LOG_PROCESS_SHIFT);

	/* Those of other processes, or of the user's allocators, are beyond all addresses, or wrap. */
	if (address >> LOG_PROCESS_SHIFT || address < known->from)
		return false;
	if (!known->all && address > known->address.at[KNOWN_MOST - 1])
		return false;
	if (known->address.nr == 2 * KNOWN_MOST)
		keep_first(known);
	known->address.at[known->address.nr++] = address;
	return false;
}

/* The index of the first address not below; all of them are: nr. */
static size_t first_from(const struct known *known, uint64_t address)
{
	return LOWER_BOUND(i, 0, known->address.nr, known->address.at[i] < address);
}

uint64_t known_from(void *ctx, uint64_t address)
{
	struct known *known = ctx;
	size_t at = first_from(known, address);

	if (!known->log)
		return UINT64_MAX;
	if (!known->scanned || address < known->from || (at == known->address.nr && !known->all)) {
		vec_clear(&known->address);
		/* Without memory nothing is known. */
		if (vec_reserve(&known->address, 2 * KNOWN_MOST))
			return UINT64_MAX;
		known->from = address;
		known->all = true;
		log_each(known->log, take_record, known);
		keep_first(known);
		known->scanned = true;
		at = 0;
	}
	return at < known->address.nr ? known->address.at[at] : UINT64_MAX;
}

void known_free(struct known *known)
{
	vec_free(&known->address);
	known->scanned = false;
}
