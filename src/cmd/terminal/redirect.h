/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `> FILE`, `>> FILE`, `| SHELL COMMAND` at the end of a command.
 *
 * While a redirection is open, descriptor 1 is the file or pipe, so that everything goes there:
 * mdbg's own output, the text that the script writes by `puts`, and the output of programs.
 * Redirections nest.
 *
 * One rule finds a redirection in the words of a Tcl command and in the text of a line. It begins
 * at the first word that begins with `>` or `|`, unless that is a relation: a `>` after an
 * attribute in a command that takes a FILTER. In a line the shell command is all the rest of the
 * text, unchanged; in a script it is the rest of the words, joined by blanks.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct terminal;

enum redirect_kind { REDIRECT_NONE, REDIRECT_FILE, REDIRECT_APPEND, REDIRECT_PIPE };

/* Send standard output there. rest is the name of the file, or the shell command. */
struct err *redirect_open(struct terminal *terminal, enum redirect_kind kind,
			  const char *rest) MUST_CHECK;
/* Open a redirection from its words; words[0] is `>`, `>file`, `|` …. */
struct err *redirect_open_words(struct terminal *terminal, enum redirect_kind kind, int nr,
				const char *const *words) MUST_CHECK;
/*
 * End the innermost redirection: flush, put standard output back, and wait for the shell command.
 * Returns the first error of these.
 */
struct err *redirect_close(struct terminal *terminal) MUST_CHECK;
/* Does the line go to a pipe of its own (`malloc | head`)? */
bool redirect_is_pipe(const struct terminal *terminal);
/*
 * Is EPIPE the wish of a reader that has what it wants, and no failure? It is for a pipe of the
 * line's own, and for mdbg's standard output (`mdbg ... | head`).
 */
bool redirect_reader_may_leave(const struct terminal *terminal);
/*
 * The name of standard output as it is now: "standard output", the file's name, or the shell
 * command.
 */
const char *redirect_name(const struct terminal *terminal);

/* Flush the output of `puts`; the error says why that failed. */
struct err *redirect_flush(struct terminal *terminal) MUST_CHECK;
/* Returns the error of Tcl's last write to standard output. */
struct err *redirect_write_err(const struct terminal *terminal) MUST_CHECK;
