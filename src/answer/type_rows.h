/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc types`: blocks by what they are. */
#pragma once

#include "answer/answer.h"
#include "base/text_set.h"
#include "session/pool/session_contents.h"

struct filter;
struct filter_env;
struct stack_names;

/* How a type is known, in the order in which it is asked for. */
enum type_how { TYPE_VTABLE, TYPE_PYTHON, TYPE_FRAME, TYPE_FORM, TYPE_UNKNOWN, TYPE_HOWS };

/* All blocks of one type. */
struct type_row {
	uint64_t bytes, count;
	double share;		/* of the bytes of all rows, in percent */
	const char *type;	/* in full; "?" */
	const char *how;	/* "" for TYPE_UNKNOWN */
	uint64_t address;	/* of the first of them */
};

struct type_sums {
	VEC(struct type_row) vec;	/* most bytes first; texts are of `texts` */
	struct text_set texts;
	uint64_t bytes, count;		/* of all, before any limit */
	uint64_t known[TYPE_HOWS];	/* of them, bytes by how they are known */
};

extern const struct relation type_relation;

/* "vtable", "python", "frame", "form"; "". */
const char *type_rows_how(enum type_how how);
/*
 * Add up what was found. Of the filter only the conditions on names count here. The caller calls
 * type_rows_free, also after an error.
 */
struct err *type_rows_sum(struct stack_names *names, const struct session_contents *found,
			  const struct filter *filter, const struct filter_env *env,
			  struct type_sums *ret) MUST_CHECK;
void type_rows_free(struct type_sums *sums);
/* The rows are copies. */
struct err *type_rows(const struct type_sums *sums, struct answer *ret) MUST_CHECK;
