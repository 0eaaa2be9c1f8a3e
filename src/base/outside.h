/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text that came from outside: names of threads and files, command lines, what a core file says.
 * Whoever made it may have put in control sequences, which a terminal obeys, or a line that looks
 * like one of mdbg's own.
 *
 * Such text has its own type, so that it cannot be given to %s by mistake. It reaches a terminal
 * only through outside_add (which out_outside, text_table_cell, notes and errors call). That
 * function shows
 *
 *	\n \t		as these two characters, unless they are part of mdbg's own layout
 *	\x1b		for other control characters and DEL, and bytes that are no UTF-8
 *	\u202e		for C1 controls, characters that change the direction of text, and line
 *			and paragraph separators
 *
 * and leaves all other UTF-8 as it is. Values that scripts get (mdbg::threads ...) are the
 * unchanged text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct outside {
	const char *bytes;
};

/* Text from outside in an array of its own, for names that the kernel keeps short. */
struct outside_name {
	char bytes[64];
};

static inline struct outside outside_of(const struct outside_name *name)
{
	return (struct outside){ name->bytes };
}

enum outside_lines {
	OUTSIDE_ONE_LINE,	/* newline and tab are escaped */
	OUTSIDE_LINES,		/* newline and tab are mdbg's own and stay */
};

#define OUTSIDE_ESCAPED	8	/* room for the characters that stand for one that is not printed */

/* Returns how many bytes at the start can be printed as they are. */
size_t outside_plain(const char *text, size_t len, enum outside_lines lines);
/*
 * The next piece of a text as it is to be shown: a part of the text, or the contents of `escaped`.
 * len must not be 0. text and len are moved behind the piece.
 */
struct outside_piece {
	const char *at;
	size_t len;
};

struct outside_piece outside_next(const char **text, size_t *len, enum outside_lines lines,
				  char escaped[OUTSIDE_ESCAPED]);
/* Append text as it is to be shown. */
struct err *outside_add(struct str *to, const char *text, size_t len,
			enum outside_lines lines) MUST_CHECK;
