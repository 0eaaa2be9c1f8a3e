/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads memory of a range in pieces, through one buffer: the parts that are worth reading
 * (reach_source.next_present) and mapped. Memory that cannot be read is noted. Memory in no mapping
 * takes no system call, and a page that could not be read last is not tried again.
 */
#pragma once

#include "heap/reach/reach.h"

#define SCAN_BUFFER	(256u << 10)

/* [start, end) is in the buffer, from the whole word in which start lies on. */
typedef struct err *scan_fn(void *ctx, uint64_t start, uint64_t end);

struct scan {
	const struct reach_source *source;
	uint64_t *buffer;
	uint64_t start, end;		/* what is in it */
	struct reach_range hole;		/* the part of a page that could not be read last */
	void *ctx;			/* of each scan_fn */
};

/* ERR_NOMEM */
struct err *scan_init(struct scan *scan, const struct reach_source *source, void *ctx) MUST_CHECK;
void scan_free(struct scan *scan);

/* Call fn for each piece of [start, end) until it fails. ERR_CANCELLED. */
struct err *scan_range(struct scan *scan, uint64_t start, uint64_t end, struct reach_unread *unread,
		       scan_fn *fn) MUST_CHECK;
/*
 * Read from start on, a multiple of 8, at most SCAN_BUFFER bytes; *got_ret may be less than asked
 * for, and 0.
 */
struct err *scan_fill(struct scan *scan, uint64_t start, uint64_t end,
		      uint64_t *got_ret) MUST_CHECK;
/* Is it known that it cannot be read? */
bool scan_is_hole(const struct scan *scan, uint64_t address);
/* Calls reach_source.next_mapped. Without one, all memory counts as mapped. */
struct reach_range scan_next_mapped(const struct reach_source *source, uint64_t at);
/*
 * The whole words of [start, end), which are in the buffer; the first is at *at_ret.
 */
const uint64_t *scan_words(const struct scan *scan, uint64_t start, uint64_t end, uint64_t *at_ret,
			   size_t *nr_ret);
