/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The prompt: readline's callback interface inside of Tcl's event loop, so that the target's events
 * are shown and scripts run while it waits.
 */
#pragma once

#include "base/err.h"

struct shell;

/* Read lines and run them until the end of input (Ctrl-D, or Ctrl-C twice). */
struct err *prompt_run(struct shell *shell) MUST_CHECK;
/* Put the terminal back and write the history. Fine if there was no prompt. */
void prompt_end(struct shell *shell);
/* Around something that is printed while the prompt waits; nothing if it does not. They nest. */
void prompt_hide(struct shell *shell);
void prompt_show(struct shell *shell);
/* Ctrl-C while it waits: drop the line; twice on an empty one: quit. */
void prompt_interrupt(struct shell *shell);

/* Completion: commands, subcommands, attributes, function names, files. */

/* Tell readline. */
void complete_init(struct shell *shell);
/*
 * What the word that begins at `start` of `line` (its text is prefix) may be: a list that ends with
 * NULL, malloc'ed like its strings; NULL if there is nothing. *files is set if file names may stand
 * there.
 */
char **complete_words(struct shell *shell, const char *line, int start, const char *prefix,
		      int *files);

/* The history of its lines (theory in history.c). */

/*
 * Read what is there into readline's list. *file_ret: where history_save is to write, malloc'ed;
 * NULL, also with an error: nowhere. An error says why, and is no failure.
 */
struct err *history_load(char **file_ret) MUST_CHECK;
struct err *history_save(const char *file) MUST_CHECK;
