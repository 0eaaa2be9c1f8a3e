/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the answer of `malloc diff`. */
#pragma once

#include <sys/types.h>

#include "answer/difference.h"
#include "report/moment_text.h"

#define DIFF_INDENT	8	/* of the traceback */

struct out;
struct session;

/* One of the two that are compared. */
struct diff_end {
	struct moment_name name;
	/*
	 * For an export: its process and command line, which may be "". command is NULL if this is
	 * no export.
	 */
	pid_t pid;
	const char *command;
};

struct diff_view {
	const char *heading;
	struct diff_end from, to;
	const struct difference *difference;
	/* Print the line with the site's name and its traceback. */
	struct err *(*print_stack)(void *ctx, const struct change *change, struct out *out);
	void *ctx;
};

/* Print the two ends, and a paragraph for each change, with its rank. */
struct err *diff_print(const struct diff_view *view, struct out *out) MUST_CHECK;
/* The same for two moments of the session's log. */
struct err *diff_moments_print(struct session *session, const struct moment_name *from,
			       const struct moment_name *to, const struct difference *difference,
			       struct out *out) MUST_CHECK;
/*
 * Print "2 sites changed; grown 500 bytes, shrunk 0 bytes". all: all sites are in it, so that what
 * was freed of older blocks can be set off.
 */
void diff_sums_print(const struct difference *difference, bool all, struct out *out);
