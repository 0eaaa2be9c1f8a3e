/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text that came from outside: names of threads and files, command lines, what a core file says.
 * Whoever made it may have put in what a terminal obeys, or a line that looks like one of mdbg's
 * own.
 *
 * Such text has a type of its own, so that it cannot be given to %s by mistake. It reaches a
 * terminal by outside_add alone (out_outside, table_cell, notes and errors call it), which shows
 *
 *	\n \t		as these two characters, where they are no lines of mdbg's own
 *	\x1b		other control characters and DEL, and bytes that are no UTF-8
 *	\u202e		C1 controls, what changes the direction of text, line and paragraph separators
 *
 * and leaves all other UTF-8 as it is. Values that scripts get (mdbg::threads ...) are the text
 * itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct outside {
	const char *bytes;
};

/* Text from outside with room of its own, for names that the kernel keeps short. */
struct outside_name {
	char bytes[64];
};

static inline struct outside outside_of(const struct outside_name *name)
{
	return (struct outside){ name->bytes };
}

enum outside_lines {
	OUTSIDE_ONE_LINE,	/* newline and tab are shown */
	OUTSIDE_LINES,		/* they are mdbg's own, and stay */
};

#define OUTSIDE_ESCAPED	8	/* room for a character that is shown by others */

/* How many bytes from the start on can be printed as they are. */
size_t outside_plain(const char *text, size_t len, enum outside_lines lines);
/*
 * The next piece of a text as it is to be shown, a part of the text or of `escaped`. text and len,
 * which is not 0, go behind it.
 */
struct outside_piece {
	const char *at;
	size_t len;
};

struct outside_piece outside_next(const char **text, size_t *len, enum outside_lines lines,
				  char escaped[OUTSIDE_ESCAPED]);
/* Add text as it is to be shown. */
struct err *outside_add(struct str *to, const char *text, size_t len,
			enum outside_lines lines) MUST_CHECK;
