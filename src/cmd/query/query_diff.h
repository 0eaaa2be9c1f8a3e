/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What `malloc diff` is asked, and its answer, for the command, for scripts and for exports.
 *
 * A word is a moment or a file: `now`, `peak` and -10m are moments, and a word with a slash is a
 * file. The name of a mark is a moment, also that of one from before a reset. Any other word is a
 * file if it has a dot and is no time, or if a file of that name exists, so that a mistyped file's
 * name is reported as such, and a mistyped mark as a mark.
 *
 * Two moments of the log are compared as they are. If one of the two is a file, both become models.
 */
#pragma once

#include "cmd/query/query.h"
#include "export/compare.h"
#include "export/model.h"

struct call;
struct relation;

struct query_diff {
	bool files;			/* at least one of the two is a file */
	bool live;			/* at least one is not */
	bool filtered;			/* not all sites are in the difference */
	struct compare compare;		/* its difference also if none is a file */
	bool all_time;			/* `allocated` is known: of marks */
	struct difference allocated;	/* by stack, of what was allocated in all; ordered alike */
	struct model from, to;		/* if `files` */
	struct query words;		/* the words, where 'quoted text' is one */
	bool asked;			/* there is a query, of the one that is not a file */
	struct query query;
};

/*
 * Parse the two words, FILTER, sort and limit, and compare. `of` has the keys for sort; its rows
 * begin with a struct change. The caller has set *ret to zeros, and frees it also after an error.
 */
struct err *query_diff(const struct call *call, const struct relation *of,
		       struct query_diff *ret) MUST_CHECK;
void query_diff_free(struct query_diff *diff);
