/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `set stack_depth 8`: a setting is meant, and a variable is made.
 *
 * To Tcl a name that nobody knows is a new variable, and scripts live by that; gdb's and dbx's users
 * expect to be told. So lines that somebody typed are looked at (at the prompt, -c, ~/.mdbginit, a
 * pipe), scripts are not; and it is a warning, after which `set` does what it always does. It is for
 * names that nobody would give to a variable beside the setting: the same letters (stack_depth,
 * stackdepth, StackDepth), or some near them with a `-`, which variables do not have, as $a-b is not
 * theirs. A name that is a variable already is one that is meant.
 */
#ifndef CMD_SLIP_H
#define CMD_SLIP_H

#include <stddef.h>

struct shell;

/* Warn of such commands in a line, of which none has run yet. */
void slip_warn(struct shell *shell, const char *text, size_t len);

#endif
