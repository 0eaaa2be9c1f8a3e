/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completion at the prompt: commands, subcommands, attributes, function names, files. */
#ifndef CMD_COMPLETE_H
#define CMD_COMPLETE_H

struct shell;

/* Tell readline. */
void complete_init(struct shell *shell);
/*
 * What the word that begins at `start` of `line` (its text is prefix) may be: a list that ends with
 * NULL, malloc'ed like its strings; NULL if there is nothing. *files is set if file names may stand
 * there.
 */
char **complete_words(struct shell *shell, const char *line, int start, const char *prefix,
		      int *files);

#endif
