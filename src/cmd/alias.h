/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Aliases: a word that stands for some words. Kept here (not by Tcl's own `interp alias`) so that
 * they can be listed and looked through.
 */
#pragma once

#include "cmd/cmd.h"

struct alias {
	struct shell *shell;
	char *name;
	Tcl_Obj *words;		/* a list */
};

/* Make the aliases that everybody has: c, q, t, … */
struct err *alias_defaults(struct shell *shell) MUST_CHECK;
/*
 * words with words[0] replaced if it is an alias; at most room of them go to full (the strings are
 * the alias's or words'). Their number.
 */
int alias_expand(const struct shell *shell, int nr, const char *const *words, int room,
		 const char **full);
