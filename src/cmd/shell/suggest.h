/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hints for mistyped words: names near an unknown one, mdbg's words for a command of another
 * debugger's, and why a file cannot be read.
 *
 * `set stack_depth 8` means a setting, but it makes a variable. For Tcl an unknown name is a new
 * variable, and scripts depend on that; but users of gdb and dbx expect a message. So lines that
 * somebody typed are checked (at the prompt, -c, ~/.mdbginit, a pipe), and scripts are not. The
 * message is a warning, after which `set` does what it always does. It is given only for names that
 * nobody would choose for a variable: a setting's letters in another form (stack_depth, stackdepth,
 * StackDepth), or a name that has a `-` and is near a setting's. Variables have no `-` in their
 * names, since Tcl reads $a-b as $a and then -b. There is no warning if a variable of that name
 * exists already.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct shell;
struct str;

/* Is word a mistyped name, or name in another form, or its beginning? */
bool suggest_is_near(const char *word, const char *name);
/* Warn of such commands in a line before any of them runs. */
void suggest_settings(struct shell *shell, const char *text, size_t len);
/*
 * Add the hint for a message to ret, or nothing if there is none. info is the message's errorInfo.
 * There is a hint for a message of Tcl's that quotes an unknown command or setting, or the name of
 * a file that could not be read; and for a command of another debugger's, which is taken from
 * errorInfo.
 */
struct err *suggest_for(const char *message, const char *info, struct str *ret) MUST_CHECK;
/* mdbg's command for a command line of gdb's, dbx's, mdb's or a shell's; NULL: it is not known. */
const char *suggest_foreign(const char *command);
/* Does Tcl's message name the file that could not be read? */
bool suggest_is_unread(const char *message);
/*
 * Add the reason why path cannot be read now; add nothing if it can be. Names near a missing one
 * are looked up in its folder.
 */
struct err *suggest_file(const char *path, struct str *ret) MUST_CHECK;
/* If err has no hint, give it the text of suggest_file. */
struct err *suggest_file_hint(struct err *err, const char *path) MUST_CHECK;
