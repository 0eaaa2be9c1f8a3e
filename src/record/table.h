/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of samples: rows of numbers in order of their keys. */
#pragma once

#include "base/err.h"
#include "base/vec.h"
#include "record/record.h"

struct record_table {
	uint64_t time_ns;	/* when it was taken, which may be before the sample; 0: not at all */
	size_t nr;
	unsigned columns;	/* numbers of a row */
	uint64_t *keys;
	uint64_t *values;	/* nr * columns */
	size_t room;		/* rows */
};

/* The rows of a table are those of its kind, with RECORD_COLUMNS_MOST columns at most. */
void record_table_init(struct record_table *table, enum record_table_kind kind);
void record_table_free(struct record_table *table);
void record_table_clear(struct record_table *table);
/* Add a row; rows may come in any order. ERR_RANGE: there are too many. */
struct err *record_table_add(struct record_table *table, uint64_t key,
			     const uint64_t *values) MUST_CHECK;
/*
 * Must be called before a table is used whose rows were added. Of rows with one key the first one
 * stays. Rows of zeros are dropped, unless they say what is gone (`changes`).
 */
struct err *record_table_sort(struct record_table *table, bool changes) MUST_CHECK;
/* Make a copy of a table. */
struct err *record_table_copy(const struct record_table *from, struct record_table *to) MUST_CHECK;
/* Put the rows of `changed` in place of those of these keys; those of zeros are dropped. */
struct err *record_table_merge(struct record_table *table,
			       const struct record_table *changed) MUST_CHECK;
/* The rows that are not the same in both, as they are in `now`; those that are gone are zeros. */
struct err *record_table_changes(const struct record_table *before, const struct record_table *now,
				 struct record_table *ret) MUST_CHECK;
/* The row of a key; NULL: there is none, so its numbers are 0. */
const uint64_t *record_table_row(const struct record_table *table, uint64_t key);
