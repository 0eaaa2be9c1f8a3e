/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc types`: blocks by what they are. */
#pragma once

#include "answer/answer.h"
#include "answer/typed_blocks.h"

struct filter;
struct filter_env;

/* All blocks of one type. */
struct type_row {
	uint64_t bytes, count;
	double share;		/* of the bytes of all rows, in percent */
	const char *type;	/* in full; "?" */
	const char *how;	/* "" for KNOWN_UNKNOWN */
	uint64_t address;	/* of the first of them */
	/* Of KNOWN_LIKE: how many of the site's blocks its rules were tried on; percent of them that
	 * they name rightly. */
	uint64_t tried;
	double right;
};

struct type_sums {
	VEC(struct type_row) vec;	/* most bytes first; texts are those of the typed blocks */
	uint64_t bytes, count;		/* of all, before any limit */
	uint64_t known[KNOWN_HOWS];	/* of them, bytes by how they are known */
};

extern const struct relation type_relation;

/* Add up the blocks that the filter keeps. The caller calls type_rows_free, also after an error. */
struct err *type_rows_sum(const struct typed_blocks *typed, const struct filter *filter,
			  const struct filter_env *env, struct type_sums *ret) MUST_CHECK;
void type_rows_free(struct type_sums *sums);
/* The rows are copies. */
struct err *type_rows(const struct type_sums *sums, struct answer *ret) MUST_CHECK;
