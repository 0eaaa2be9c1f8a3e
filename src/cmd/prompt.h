/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The prompt: it runs readline's callback interface inside of Tcl's event loop, so that the
 * target's events are shown and scripts run while it waits.
 */
#pragma once

#include "base/err.h"

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
void complete_init(struct shell *shell);
/*
 * Complete the word that begins at `start` of `line`; prefix is its text. Returns a list that ends
 * with NULL, malloc'ed like its strings; NULL if there is no match. *files is set if a file name
 * may stand there.
 */
char **complete_words(struct shell *shell, const char *line, int start, const char *prefix,
		      int *files);

/* The history of its lines (theory in history.c). */

/*
 * Read the history file into readline's list. *file_ret is the file that history_save writes,
 * malloc'ed; NULL, which may also come with an error: it writes none. An error says why, and is no
 * failure.
 */
struct err *history_load(char **file_ret) MUST_CHECK;
struct err *history_save(const char *file) MUST_CHECK;
