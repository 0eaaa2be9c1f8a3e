/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `malloc diff FILE`: the difference of the recorded sites of two models, of which at least one was
 * read from an export (sqlite_read.h). How sites are matched is in heap/site_match.h.
 */
#pragma once

#include "heap/site_match.h"

struct model;
struct model_site;
struct out;

/* One of the two that are compared. */
struct compare_end {
	const char *word;	/* as the user has written it: a file, or a moment */
	const struct model *model;
	bool file;
};

struct compare {
	struct compare_end from, to;
	uint64_t now_ns;	/* since the epoch */
	struct match match;
};

/* Compute compare->match from the two models. The caller frees it (match_free). */
struct err *compare_build(struct compare *compare) MUST_CHECK;
/*
 * Returns the site that shows the stack of a change, and its model: of the process that is being
 * watched, if it is there; else of the second export, if it is there.
 */
const struct model_site *compare_site(const struct compare *compare,
				      const struct match_change *change,
				      const struct model **ret);
/*
 * Print the two ends and a paragraph for each change. The lines at the end are printed by
 * compare_end_print.
 */
struct err *compare_print(const struct compare *compare, struct out *out) MUST_CHECK;
/* Print what a reader must know of the exports, how sites were matched, and the sums. */
void compare_end_print(const struct compare *compare, struct out *out);
