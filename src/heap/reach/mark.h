/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Marks: moments of one log to which the user has given names. They are packed (moment.h): with
 * 10,000 sites a mark takes some 120 KB, half of it for what was allocated up to then. A mark needs
 * no work while it exists.
 *
 * `malloc reset` makes the sums of all marks invalid. Their names are remembered, so that the error
 * for such a name can give the reason.
 */
#pragma once

#include "heap/moment.h"

#define MARK_NAME_MAX	64u		/* bytes */
#define MARKS_MAX	1024u		/* and as many names from before a reset */
#define MARKS_BYTES	(64u << 20)	/* of packed moments */

struct mark {
	char name[MARK_NAME_MAX + 1];
	bool stale;			/* it is from before a reset: only the name is valid */
	uint64_t time_ns;		/* since the epoch, by the log's clock */
	uint64_t bytes, count;		/* sums over all stacks */
	struct packed_moment moment;
	struct packed_moment totals;	/* what each stack has had in all, as a moment of that */
};

struct marks {
	VEC(struct mark) vec;		/* oldest first */
	uint64_t bytes;			/* of packed moments and totals */
};

#define MARKS_INIT	{ VEC_INIT, 0 }

/*
 * Check whether a mark of this name can be added. ERR_USAGE: the name is not valid; ERR_STATE:
 * there is such a mark already, or there are too many marks. A name has no blank, no slash and no
 * control character, does not begin with a minus, and is not `now` or `peak`.
 */
struct err *marks_check(const struct marks *marks, const char *name) MUST_CHECK;
/* Returns the number of marks that are not stale. */
size_t marks_count(const struct marks *marks);
/* Make a name that no mark has, nor had before a reset: "m1". */
void marks_make_name(const struct marks *marks, char ret[MARK_NAME_MAX + 1]);
/* Add a moment by a name that marks_check has accepted. The next marks_add invalidates *ret. */
struct err *marks_add(struct marks *marks, const char *name, const struct moment *moment,
		      const struct moment *totals, const struct mark **ret) MUST_CHECK;
/* Forget a mark; errors as of marks_find. */
struct err *marks_remove(struct marks *marks, const char *name) MUST_CHECK;
/* ERR_NOTFOUND: there is no such mark; the hint names the last ones. ERR_STATE: it is stale. */
struct err *marks_find(const struct marks *marks, const char *name,
		       const struct mark **ret) MUST_CHECK;
/* The log was reset: all marks become stale. */
void marks_reset(struct marks *marks);
void marks_free(struct marks *marks);
