/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sites of `malloc watch` as text: a block of lines for a reading, a table, or one site. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "heap/rates.h"

struct out;
struct session;
struct stack_names;

struct watch_view {
	struct session *session;
	struct stack_names *names;
	const struct rates *rates;
	const struct rates_top *top;
	enum rates_sort sort;
	uint64_t every_ns;
	const char *note;	/* about the last mark, for the table's first line; or "" */
	bool utf8;		/* the locale's letters are UTF-8 and not only ASCII */
};

/* The word for each enum rates_sort. */
extern const char *const watch_sort_words[];

/* Print the sums, and two lines for each of the first sites; then an empty line. */
struct err *watch_print_block(const struct watch_view *view, struct out *out) MUST_CHECK;
/*
 * Print the same as a table for a terminal of so many columns, with a mark at row `selected`, which
 * counts from 0.
 */
struct err *watch_print_table(const struct watch_view *view, size_t selected, size_t columns,
			      struct out *out) MUST_CHECK;
/* Print one site with its traceback. */
struct err *watch_print_site(const struct watch_view *view, uint32_t stack,
			     struct out *out) MUST_CHECK;
/* The lines of a table above those of the sites, if nothing is missing in the answer. */
#define WATCH_TABLE_LINES	6u
