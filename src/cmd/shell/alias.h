/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An alias is a word that stands for some other words. Aliases are kept here, not by Tcl's own
 * `interp alias`, so that mdbg can list them and can see which command one of them stands for.
 */
#pragma once

#include "cmd/shell/cmd.h"

struct alias {
	struct shell *shell;
	char *name;
	Tcl_Obj *words;		/* a list */
};

/* Make the aliases that everybody has: c, q, t, … */
struct err *alias_defaults(struct shell *shell) MUST_CHECK;
/*
 * Copy words to full, with the words of the alias in the place of words[0] if that is an alias. At
 * most `room` words are copied; their strings stay the alias's or the caller's. Returns how many
 * there are.
 */
int alias_expand(const struct shell *shell, int nr, const char *const *words, int room,
		 const char **full);
