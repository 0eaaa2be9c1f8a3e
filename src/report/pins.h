/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks of text of `malloc pins`. */
#pragma once

#include "heap/pins.h"

struct heaps;
struct out;
struct stack_names;
struct typed_blocks;

struct pins_text {
	struct stack_names *names;	/* which has given the keys of the pins */
	const struct typed_blocks *typed;	/* of PIN_TYPE */
	enum pin_by by;
	const struct pins *pins;
	const struct heaps *heap;	/* that was walked */
	/* what would be without the blocks of the first one, and of all that are listed */
	struct free_space without_first, without_all;
};

/* Print a block of lines for each, with its rank, then why free memory is resident. */
struct err *pins_print(const struct pins_text *text, struct out *out) MUST_CHECK;
/* The same with a line for each. */
struct err *pins_print_brief(const struct pins_text *text, struct out *out) MUST_CHECK;
/*
 * Print the line on the one that keeps most, in a few words; nothing if nothing is kept. It needs
 * the names, the pins and by.
 */
struct err *pins_print_largest(const struct pins_text *text, struct out *out) MUST_CHECK;
