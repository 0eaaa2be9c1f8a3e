/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc leaks`: its loss records, and the words that alone hold their blocks. */
#pragma once

#include "answer/answer.h"
#include "base/str.h"
#include "heap/leak.h"

struct session;
struct leak_marks;
struct suppressions;

/* A word of a stack or register. What it does not have is 0. */
struct holder_row {
	const char *kind;	/* stack, register, vector */
	uint64_t block;		/* that it points to */
	uint64_t bytes, count;	/* of all that hangs on it */
	uint64_t place;		/* its address */
	uint64_t pc;		/* of the function whose frame has it */
	const char *reg;
	uint32_t thread;
	bool in_register, returns;
};

struct leak_row {
	struct leak leak;	/* first: rows are sorted as an array of these */
	const char *kind, *function, *suppressed;
	const char *type;	/* as leak_rows_type has it */
	const char *offsets;	/* numbers with blanks between them */
	struct answer held_by;
	uint64_t address;	/* of the first block */
	uint64_t through;	/* of the definite one through which that is lost; 0: it is none */
};

extern const struct relation leak_relation;

/* Add the type of a record's blocks, `TYPE, and others` if they differ; nothing: not known. */
struct err *leak_rows_type(const struct leak *leak, struct str *ret) MUST_CHECK;
/*
 * Put the loss records into an order, of columns of struct leak, and drop those beyond the limit;
 * leaks->listed is of what is left then.
 */
struct err *leaks_order(struct leaks *leaks, const struct answer_order *order) MUST_CHECK;
/*
 * The rows are copies and stay valid without the arguments. suppressions are those that the leaks
 * were built with.
 */
struct err *leak_rows(struct session *session, const struct leak_marks *found,
		      const struct leaks *leaks, const struct suppressions *suppressions,
		      struct answer *ret) MUST_CHECK;
