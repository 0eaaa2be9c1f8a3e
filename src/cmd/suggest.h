/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hints for what was mistyped: names near an unknown one, what mdbg calls a command of another
 * debugger's, and why a file cannot be read.
 *
 * `set stack_depth 8`: a setting is meant, and a variable is made. To Tcl a name that nobody knows
 * is a new variable, and scripts live by that; gdb's and dbx's users expect to be told. So lines
 * that somebody typed are looked at (at the prompt, -c, ~/.mdbginit, a pipe), scripts are not; and
 * it is a warning, after which `set` does what it always does. It is for names that nobody would
 * give to a variable beside the setting: the same letters (stack_depth, stackdepth, StackDepth), or
 * some near them with a `-`, which variables do not have, as $a-b is not theirs. A name that is a
 * variable already is one that is meant.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct shell;
struct str;

/* Is word a slip of the keyboard from name, or name in other letters or only begun? */
bool suggest_is_near(const char *word, const char *name);
/* Warn of such commands in a line, of which none has run yet. */
void suggest_settings(struct shell *shell, const char *text, size_t len);
/*
 * Add the hint for a message to ret; nothing: there is none. info is its errorInfo. The message is
 * Tcl's and quotes an unknown command or setting, or the name of a file that could not be read; or
 * the command, which errorInfo has, is one of another debugger's.
 */
struct err *suggest_for(const char *message, const char *info, struct str *ret) MUST_CHECK;
/* What mdbg has for a command line of gdb's, dbx's, mdb's or a shell's; NULL: nothing is known. */
const char *suggest_foreign(const char *command);
/* Does the message of Tcl's name the file that could not be read? */
bool suggest_is_unread(const char *message);
/*
 * Add what the file system has to say of path as it is now; nothing if it may be read. Names near a
 * missing one are looked for in its folder.
 */
struct err *suggest_file(const char *path, struct str *ret) MUST_CHECK;
/* The hint of err, if it has none, is what suggest_file says. */
struct err *suggest_file_hint(struct err *err, const char *path) MUST_CHECK;
