/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completion: commands, subcommands, attributes, function names, files. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"

struct shell;

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
