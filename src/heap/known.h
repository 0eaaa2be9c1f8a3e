/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the next block is that the log knows: asked for where a heap is damaged, so seldom, but then
 * perhaps a thousand times, at addresses that go up. A scan of the log keeps the first KNOWN_MOST
 * from the address on, in order, which do for many such questions.
 */
#ifndef HEAP_KNOWN_H
#define HEAP_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define KNOWN_MOST	32768u

struct log;

struct known {
	const struct log *log;		/* NULL: nothing is known */
	uint8_t process;
	/* All from `from` on, or the first of them: */
	VEC(uint64_t) address;		/* in order */
	uint64_t from;
	bool scanned, all;
};

#define KNOWN_INIT(l, p)	{ .log = (l), .process = (p) }

/* The first block of malloc's of that process from address on; UINT64_MAX: none. ctx: struct known. */
uint64_t known_from(void *ctx, uint64_t address);
void known_free(struct known *known);

#endif
