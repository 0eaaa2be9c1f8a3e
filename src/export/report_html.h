/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A report: one HTML file to send to a colleague, who needs a browser and nothing else. It has a
 * verdict, memory over time, a flame graph, who keeps the memory, the types of blocks, the sites, leaks
 * by kind and differences.
 *
 *	report_html.c	the page: what can be read without a script
 *	report_data.c	the data of tables and of the chart, as JSON in the page
 *	report.js	makes tables and chart of them
 *
 * The page's Content-Security-Policy forbids it to load anything, and to run or obey anything but
 * what has the nonce of this very file. So even a name that got through the quoting (markup.h)
 * would be no more than text.
 *
 * It stays under 5 MB: names are cut, of the flame graph the widest frames are drawn, the tables
 * have the first rows, and tracebacks end where there is no more room for them. The page says what
 * is left out.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "answer/difference.h"
#include "base/err.h"
#include "base/vec.h"

struct export_file;
struct leaks;
struct model;
struct owners;
struct session;
struct leak_marks;
struct memory_verdict;
struct session_account;
struct stack_names;
struct type_sums;

/* A difference of two moments. */
struct report_difference {
	char *title;		/* "from the mark before to now" */
	char *note;		/* what it lacks; NULL: nothing */
	struct difference found;
};

struct report {
	struct session *session;
	struct stack_names *names;
	const struct model *model;	/* with the part `freed` or without */
	/* The leak search: all kinds are listed. NULL: there was none, and no_leaks says why. */
	const struct leaks *leaks;
	const struct leak_marks *found;
	const char *no_leaks;
	/*
	 * Its account, and the judge's words; NULL: there is none, as the process has ended. That of
	 * a recording is the session's.
	 */
	const struct session_account *account;
	const struct memory_verdict *judged;
	/* Who keeps what, and what it is; NULL: not known, and no_owners or no_types says why. */
	const struct owners *owners;
	const struct type_sums *types;
	const char *no_owners, *no_types;
	VEC(struct report_difference) differences;
	const char *no_differences;	/* why there is none, or NULL */
};

/*
 * Write it under that name, whole or not at all (export_file.h). *stream_ret: to a FIFO or a
 * device.
 */
struct err *report_html_write(const struct report *report, const char *name,
			      bool *stream_ret) MUST_CHECK;
/* Frees the differences. */
void report_html_free(struct report *report);

/* For report_html.c: everything between <script type="application/json"> and </script>. */
struct err *report_data_write(const struct report *report, struct export_file *file) MUST_CHECK;
