/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where in a memory some bytes are, at any alignment. Places may overlap. */
#pragma once

#include "base/memory.h"
#include "base/vec.h"

#define MEMORY_SEARCH_MOST	4096u	/* bytes that are looked for */

struct memory_search {
	const uint8_t *bytes;		/* what is looked for: 1 to MEMORY_SEARCH_MOST */
	size_t len;
	uint64_t limit;			/* so many places are kept */
	VEC(uint64_t) places;		/* in the order in which they were met */
	uint64_t nr;			/* all that were met */
	uint64_t searched;		/* bytes; what cannot be read is passed over */
};

/*
 * Look in [start, end), whole places only, and add what is found. It may be called for one range
 * after the other. ERR_CANCELLED, and errors of the memory as a whole. The caller frees places.
 */
struct err *memory_search_range(struct memory_search *search, struct memory *memory, uint64_t start,
				uint64_t end) MUST_CHECK;
