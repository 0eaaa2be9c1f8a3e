/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stacks that are suppressed. Each stack is compared once. */
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
	VEC(uint32_t) known;		/* by stack id: suppression + 2; 1: none; 0: not asked */
};

/* This is for struct leak_spec (heap/leak.h); ctx is the struct stack_suppress. */
uint32_t suppressed_stack_of(void *ctx, const struct block *block);
void suppressed_stack_free(struct stack_suppress *suppress);

/* Print "leak:PATTERN", and say if it is built in. */
void suppressed_print_one(const struct suppressions *suppressions, uint32_t i, struct out *out);
/* Print how much each suppression has suppressed; nothing if none has. */
void suppressed_print(const struct leaks *leaks, const struct suppressions *suppressions,
		      struct out *out);
