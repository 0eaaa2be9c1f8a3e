/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks of text of `malloc sites`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "answer/site_rows.h"
#include "base/err.h"
#include "report/moment_text.h"

struct out;
struct session;
struct stack_names;

/* Print the figures of one of these sites in a line, as `malloc stale` shows them. */
void site_print_stale(const struct sites *sites, const struct site *site, struct out *out);

/*
 * Print the line "    in load_history (history.c:42)", by stack_names_headline. If there is no such
 * frame, nothing is printed.
 */
struct err *sites_print_headline(struct stack_names *names, uint32_t stack,
				 struct out *out) MUST_CHECK;
/* The moments that an answer was asked for with `since` and `at`. */
struct sites_when {
	struct moment_name since, at;
	bool filtered;			/* not all blocks are in the answer */
	bool idle;			/* sites that hold nothing now were asked for */
	/* What blocks from before the attach hold, which are in no site; NULL: it was not asked for. */
	const struct older_look *older;
};

/*
 * Print a block of lines for each site, with its rank, then a line with the sums. names has given
 * the keys of the sites.
 */
struct err *sites_print(struct stack_names *names, enum site_by by, const struct sites *sites,
			const struct sites_when *when, struct out *out) MUST_CHECK;
/* Print only what must be known of the sites, and their sums. listed: and how many these are. */
struct err *sites_print_sums(struct stack_names *names, const struct sites *sites,
			     const struct sites_when *when, bool listed, struct out *out) MUST_CHECK;
/* The same with a line for each site. The sites are moved away and left empty. */
struct err *sites_print_brief(struct stack_names *names, enum site_by by, struct sites *sites,
			      const struct sites_when *when, struct out *out) MUST_CHECK;

/* If the log samples, print that the figures are estimates. */
void sites_print_sampling(struct session *session, struct out *out);
