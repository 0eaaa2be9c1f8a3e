/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of `malloc leaks`. */
#pragma once

#include "base/err.h"

struct leaks;
struct out;
struct search_unread;
struct session;
struct leak_marks;
struct sites;
struct suppressions;

/*
 * Print a summary of all kinds, what is uncertain about it, a block of lines for each loss record,
 * and how much each of suppressions has suppressed.
 */
struct err *leak_text_print(struct session *session, const struct leak_marks *found,
			    const struct leaks *leaks, const struct suppressions *suppressions,
			    struct out *out) MUST_CHECK;

/* The same with a line for each loss record, which has its function. */
struct err *leak_text_print_brief(struct session *session, const struct leak_marks *found,
				  const struct leaks *leaks,
				  const struct suppressions *suppressions,
				  struct out *out) MUST_CHECK;

/* Print what was not read, in a line, if anything was; `may` is what follows from it. */
void leak_text_print_unread(const struct search_unread *unread, const char *may, struct out *out);

/* Print how much was searched, and what is uncertain about it. */
void leak_text_print_doubts(const struct leak_marks *found, struct out *out);

/* Print nothing but the summary, and what is uncertain about it. */
void leak_text_print_summary(struct session *session, const struct leak_marks *found,
			     const struct leaks *leaks, struct out *out);

/*
 * Print the sites by stack of blocks that are old and reachable, with the share of all blocks of a
 * site that were freed.
 */
struct err *leak_text_print_stale(struct session *session, const struct leak_marks *found,
				  const struct sites *sites, struct out *out) MUST_CHECK;
