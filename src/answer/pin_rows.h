/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc pins`: whose blocks keep free memory resident (heap/pins.h). */
#pragma once

#include "answer/answer.h"
#include "base/str.h"
#include "heap/pins.h"

struct stack_names;
struct typed_blocks;

struct pin_row {
	struct pin pin;		/* first: rows are sorted as an array of these */
	const char *label, *function;
};

extern const struct relation pin_relation;

/* Put the pins into an order, of columns of struct pin, and drop those beyond the limit. */
struct err *pin_rows_order(struct pins *pins, const struct answer_order *order) MUST_CHECK;
/*
 * What a pin is called: "function load", "thread 17", "heap 3", "type Node", "blocks of 40 bytes". It
 * is empty by stack, unless its blocks are in no record. typed: of PIN_TYPE.
 */
struct err *pin_rows_label(const struct stack_names *names, const struct typed_blocks *typed,
			   enum pin_by by, const struct pin *pin, struct str *ret) MUST_CHECK;
/*
 * The rows are copies, and need neither the pins nor the session. brief: a row of a stack has the
 * line of its function, too, and others have their label in its place.
 */
struct err *pin_rows(struct stack_names *names, const struct typed_blocks *typed, enum pin_by by,
		     bool brief, const struct pins *pins, struct answer *ret) MUST_CHECK;
