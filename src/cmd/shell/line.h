/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line as it is typed: which part is Tcl, and which a redirection. */
#pragma once

#include <stddef.h>

#include "cmd/terminal/redirect.h"

struct cmd;
struct shell;

struct line {
	const struct cmd *raw;		/* the command takes the rest as it is; else NULL */
	enum redirect_kind kind;
	size_t head_len;		/* of the Tcl part, or of the name of a raw command */
	const char *rest;		/* the text after `>`, `>>`, `|` or a raw command's name */
};

/* The only error is lack of memory. ret points into text. */
struct err *line_parse(const struct shell *shell, const char *text, struct line *ret) MUST_CHECK;
