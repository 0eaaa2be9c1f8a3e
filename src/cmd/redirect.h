/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `> FILE`, `>> FILE`, `| SHELL COMMAND` at the end of a command.
 *
 * While a redirection is open, descriptor 1 is the file or pipe, so that everything goes there: our
 * own output, what the script `puts`, what programs write. They nest.
 *
 * One rule finds a redirection in the words of a Tcl command and in the text of a line: the first word
 * that begins with `>` or is (or begins with) `|`, unless it is a relation, that is, stands behind
 * an attribute in a command that takes a FILTER. In a line the shell command is all the rest, as it
 * is; in a script it is the rest of the words, joined by blanks.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct shell;

enum redirect_kind { REDIRECT_NONE, REDIRECT_FILE, REDIRECT_APPEND, REDIRECT_PIPE };

/*
 * Does word, with the words before it (nearest last), begin a redirection? filter: the command
 * takes a FILTER.
 */
enum redirect_kind redirect_kind(const char *word, int before, const char *const *words,
				 bool filter);
/* The first of words that begins one: its index, or nr; *kind_ret. */
int redirect_find(int nr, const char *const *words, bool filter, enum redirect_kind *kind_ret);

/* Send standard output there. rest is the name of the file, or the shell command. */
struct err *redirect_open(struct shell *shell, enum redirect_kind kind,
			  const char *rest) MUST_CHECK;
/* From words[0] (`>`, `>file`, `|` …) on. */
struct err *redirect_open_words(struct shell *shell, enum redirect_kind kind, int nr,
				const char *const *words) MUST_CHECK;
/*
 * End the innermost one: flush, put standard output back, wait for the shell command. The first
 * error of these.
 */
struct err *redirect_close(struct shell *shell) MUST_CHECK;
/* Is standard output a pipe whose reader may leave when it likes? */
bool redirect_is_pipe(const struct shell *shell);
/* The name of standard output as it is now: "standard output", or the file's name. */
const char *redirect_name(const struct shell *shell);
