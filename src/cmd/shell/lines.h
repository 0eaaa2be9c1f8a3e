/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lines (from the prompt, -c, standard input, ~/.mdbginit): Tcl with a redirection at the end. Each
 * of these that evaluates returns true if nothing failed, and has reported all that did.
 */
#pragma once

#include <stdbool.h>
#include <tcl.h>

struct shell;

bool shell_line(struct shell *shell, const char *line);
/* Is text a whole line? It is not if a brace, a quote or a backslash at the end is still open. */
bool shell_line_is_whole(const struct shell *shell, const char *text);
/*
 * Run the lines of a channel to its end (standard input, ~/.mdbginit). After a line that fails the
 * others still run. Events are served while it waits for a line.
 */
bool shell_lines(struct shell *shell, Tcl_Channel channel, const char *name);
