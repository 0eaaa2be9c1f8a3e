/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which stacks are suppressed: each is compared once. */
#pragma once

#include <stdint.h>

#include "base/vec.h"

struct block;
struct leaks;
struct out;
struct session;
struct suppressions;
struct symbols;

struct stack_suppress {
	struct session *session;
	const struct suppressions *suppressions;
	struct symbols *symbols;	/* NULL: not asked for yet */
	VEC(uint32_t) known;		/* by stack id: number of the suppression + 2; 1: none; 0: not asked yet */
};

/* For struct leak_spec (heap/leak.h); ctx is the struct stack_suppress. */
uint32_t stack_suppress_of(void *ctx, const struct block *block);
void stack_suppress_free(struct stack_suppress *suppress);

/* "leak:PATTERN", and whose it is. */
void suppression_print(const struct suppressions *suppressions, uint32_t i, struct out *out);
/* How much each has suppressed. Nothing if none has. */
void suppressed_print(const struct leaks *leaks, const struct suppressions *suppressions,
		      struct out *out);
