/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which pages of some memory are in memory: a bit each, from /proc/TID/pagemap. It is taken at the
 * moment of a look (a gigabyte is two megabytes of pagemap, and 32 KB here), and asked later, when
 * the process has gone on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct resident_part {
	uint64_t page, nr;	/* the number of the first one; how many */
	size_t bit;		/* of the first one */
};

struct resident {
	VEC(struct resident_part) parts;	/* in order of address */
	VEC(uint64_t) bits;
};

#define RESIDENT_INIT	{ .parts = VEC_INIT }

/*
 * Add the pages of [start, end), which begins behind all that was added before or in its last page.
 * fd: an open /proc/TID/pagemap. What is swapped out is not resident. ERR_NOMEM; ERR_GONE: pagemap
 * does not say.
 */
struct err *resident_read(int fd, uint64_t start, uint64_t end, struct resident *ret) MUST_CHECK;
/* The same from nr entries of pagemap, the first of which is that of the page at start. */
struct err *resident_add(struct resident *ret, uint64_t start, const uint64_t *entry,
			 size_t nr) MUST_CHECK;
void resident_free(struct resident *resident);

/* Is the page at address resident? One that was not added is not. */
bool resident_is(const struct resident *resident, uint64_t address);
/* How many of the pages that lie in [start, end) are resident? Both are the start of a page. */
uint64_t resident_pages(const struct resident *resident, uint64_t start, uint64_t end);
