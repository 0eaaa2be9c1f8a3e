/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers the distinct ones among many 64-bit keys: 0, 1, 2 ... in order of first appearance. For
 * millions of look-ups.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct interner {
	uint64_t *key;
	uint32_t *number;	/* plus 1; 0: empty */
	uint32_t room, nr;
};

#define INTERNER_INIT	{ NULL, NULL, 0, 0 }
#define INTERNER_FIRST	1024u	/* room for the first keys; it doubles when half of it is taken */
#define INTERNER_BYTES	(sizeof(uint64_t) + sizeof(uint32_t))	/* of room for one */

/* The number of key; *ret is the old nr if it is new. */
struct err *interner_number(struct interner *map, uint64_t key, uint32_t *ret) MUST_CHECK;
/* The number of a key; UINT32_MAX if it is not there. */
uint32_t interner_find(const struct interner *map, uint64_t key);
void interner_free(struct interner *map);
