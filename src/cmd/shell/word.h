/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The word at the end of a line, and how a name becomes one: for completion.
 *
 * The line is Tcl, and Tcl runs it. So a name that is put into it must be a word that means this
 * very name, whatever it has: `[`, `$`, `;`, blanks, quotes, braces, backslashes, control
 * characters. word_quote is the only place that makes Tcl, or shell, of a name. The rest of a line
 * behind `sh` or `|` is a shell's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct shell;

enum word_kind {
	WORD_BARE,	/* of Tcl */
	WORD_QUOTED,	/* of Tcl, behind an opening quote */
	WORD_SHELL,	/* of a shell */
	WORD_UNKNOWN,	/* what it means is not known before it runs; or it is a comment */
};

#define WORDS_MAX	64

struct word {
	enum word_kind kind;
	size_t start;			/* in the line; behind the quote */
	struct str text;		/* as it is meant */
	int nr;
	char *before[WORDS_MAX];	/* the words of the innermost command, as they are meant */
};

#define WORD_INIT	{ .text = STR_INIT }

/* Find the word that ends with the line. What an open brace has is taken for a script. */
struct err *word_find(const struct shell *shell, const char *line, struct word *ret) MUST_CHECK;
void word_free(struct word *word);
/*
 * Append the part of a word of this kind that means text. False, and *to is as it was: there is
 * none, since the text has bytes that are no UTF-8, or control characters for a shell.
 */
bool word_quote(struct str *to, enum word_kind kind, const char *text);
