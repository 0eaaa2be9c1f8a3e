/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rows of an answer, one after the other. There may be ten million, so who makes them may keep
 * them packed, or read them as they are asked for; a row lives until the next one is asked for.
 */
#pragma once

#include "answer/column.h"
#include "base/err.h"

struct answer {
	const struct relation *of;
	uint64_t nr;		/* how many there are, or at most */
	/* *ret gets the next row; NULL: there are no more. Without it, they are in an array. */
	struct err *(*next)(void *ctx, const void **ret);
	void (*free)(void *ctx);	/* by answer_free; may be NULL */
	void *ctx;
	const void *at;
	const void *const *each;	/* an array of pointers to the rows, in place of `at` */
	uint64_t done;		/* rows of the array that were given so far */
	/* Lines that must be known with the rows, where they are printed or written; or NULL. */
	char *notes;
};

/*
 * Add a copy of a row, with its texts, to an answer that is kept in memory: *answer begins as
 * ANSWER_KEPT(relation). An answer in the row (COLUMN_ROWS) belongs to it then, also after an
 * error. The caller calls answer_free, also after an error.
 */
#define ANSWER_KEPT(relation)	{ .of = (relation) }
struct err *answer_add(struct answer *answer, void *row) MUST_CHECK;
struct err *answer_next(struct answer *rows, const void **ret) MUST_CHECK;
/* It may be called on zeros. */
void answer_free(struct answer *rows);

/* What an answer is ordered by, and how many rows it has at most. */
struct answer_order {
	const struct column *by;	/* NULL: the answer's own order */
	bool up;			/* the smallest first; otherwise the largest */
	uint64_t limit;			/* UINT64_MAX: none */
};

/*
 * Parse `sort KEY ?up?` and `limit N`, in any order, each once at most, which begin at words[*at];
 * *at gets the first word behind them. ERR_USAGE: a key that the relation does not have, or no
 * number.
 */
struct err *answer_order_parse(const struct relation *relation, int nr, const char *const *words,
			     int *at, struct answer_order *ret) MUST_CHECK;
/*
 * Sort an array of nr elements, of `size` bytes, which begin as the rows of the order's relation
 * do; *left_ret is how many of them the limit leaves. Elements that are equal keep their order;
 * those whose value is not known come last.
 */
struct err *answer_sort(const struct answer_order *order, void *at, size_t nr, size_t size,
		      size_t *left_ret) MUST_CHECK;
