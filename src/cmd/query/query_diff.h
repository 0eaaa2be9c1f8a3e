/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What `malloc diff` is asked, and its answer, for the command, for scripts and for exports.
 *
 * A word is a moment or a file: `now`, `peak` and -10m are moments, and a word with a slash is a
 * file. The name of a mark is a moment, also that of one from before a reset. Any other word is a
 * file if it has a dot and is no time, or if a file of that name exists, so that a mistyped file's
 * name is reported as such, and a mistyped mark as a mark. A file that is a folder, or a folder with
 * @TIME, is a recording at that time, or at its end: it is opened in a session of its own.
 *
 * Two moments of the log are compared as they are. If one of the two is a file, both become models.
 * So do two moments of a recording in which a module was built anew: its code has other places in
 * the log then.
 */
#pragma once

#include "cmd/query/query.h"
#include "export/compare.h"
#include "export/model.h"

struct call;
struct relation;

/* What an end was asked for that is no file with an export. */
struct query_diff_end {
	struct session *session;	/* of a recording; NULL: it is that of the call */
	bool asked;			/* there is a query */
	struct query query;
};

struct query_diff {
	bool files;			/* both were made models: at least one is a file */
	bool live;			/* at least one is not */
	bool filtered;			/* not all sites are in the difference */
	struct compare compare;		/* its difference also if none is a file */
	bool all_time;			/* `allocated` is known: of marks */
	struct difference allocated;	/* by stack, of what was allocated in all; ordered alike */
	struct model from, to;		/* if `files` */
	struct query words;		/* the words, where 'quoted text' is one */
	struct query_diff_end ends[2];	/* from, to */
};

/*
 * Parse the two words, FILTER, sort and limit, and compare. `of` has the keys for sort; its rows
 * begin with a struct change. The caller has set *ret to zeros, and frees it also after an error.
 */
struct err *query_diff(const struct call *call, const struct relation *of,
		       struct query_diff *ret) MUST_CHECK;
void query_diff_free(struct query_diff *diff);
