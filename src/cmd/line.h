/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line as it is typed: which part is Tcl, and which a redirection. */
#pragma once

#include <stddef.h>

#include "cmd/redirect.h"

struct cmd;
struct shell;

struct line {
	const struct cmd *raw;		/* the command takes the rest as it is; else NULL */
	enum redirect_kind kind;
	size_t head_len;		/* of the Tcl part; of a raw command, its name */
	const char *rest;		/* what follows `>`, `>>`, `|`; the rest of a raw command */
};

/* Lack of memory is the only error. ret points into text. */
struct err *line_parse(const struct shell *shell, const char *text, struct line *ret) MUST_CHECK;
