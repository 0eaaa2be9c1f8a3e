/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The prompt: it runs readline's callback interface inside of Tcl's event loop, so that the
 * target's events are shown and scripts run while it waits.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"

struct shell;

/* Read lines and run them until the end of input (Ctrl-D, or Ctrl-C twice). */
struct err *prompt_run(struct shell *shell) MUST_CHECK;
/* Put the terminal back and write the history. This may be called if there was no prompt. */
void prompt_end(struct shell *shell);
/*
 * Call these before and after something is printed: a prompt that waits, and the screen that a
 * command draws on, are hidden meanwhile. If there is neither they do nothing. They nest.
 */
void prompt_hide(struct shell *shell);
void prompt_show(struct shell *shell);
/* Ctrl-C has come while it waits: drop the line; twice on an empty line: quit. */
void prompt_interrupt(struct shell *shell);

/* Completion: commands, subcommands, attributes, function names, files. */

/* Set up completion in readline. */
void complete_line_init(struct shell *shell);
struct completion {
	char *line;		/* as it is then; NULL: nothing can stand there */
	bool ends_word;		/* nothing can be added to its last word */
	VEC(char *) names;	/* that can stand there, for the terminal */
};

/*
 * Complete the last word of line. The word that is made means the name, whatever that has
 * (cmd/shell/word.h). The caller has set *ret to zeros, and frees it also after an error.
 */
struct err *complete_line(struct shell *shell, const char *line, struct completion *ret) MUST_CHECK;
void complete_line_free(struct completion *completion);

/* The history of its lines (theory in history.c). */

/*
 * Read the history file into readline's list. *file_ret is the file that history_save writes,
 * malloc'ed; NULL, which may also come with an error: it writes none. An error says why, and is no
 * failure.
 */
struct err *history_load(char **file_ret) MUST_CHECK;
struct err *history_save(const char *file) MUST_CHECK;
