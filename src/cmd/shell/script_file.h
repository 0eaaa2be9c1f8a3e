/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which file a script's name means, for -x and `source`. A name without a slash is, in this order:
 *
 *	1. mdbg's own script of that name. These are in the folder `scripts` beside the program (a
 *	   build folder has it) if they belong to its owner or are trusted (os/trust.h), or where
 *	   they are installed. An mdbg with files inside of it (embedded.h) has them there, and takes
 *	   none from the machine.
 *	2. A file of that name in the current folder, if it is trusted. The current folder may be
 *	   anybody's, and a script does what mdbg's user may do.
 *
 * A name with a slash is what the user means, whoever it belongs to. What may be waited for (a
 * FIFO, the pipe of a shell's <(COMMAND)) is read by os/input.h, into a file in memory.
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

struct call;
struct shell;

struct script {
	struct str path;	/* that Tcl is to read */
	int fd;			/* of a file in memory, which path names; -1: it is none */
};

#define SCRIPT_INIT	{ STR_INIT, -1 }

/*
 * ret->path is `name` as it is if there is no such file anywhere. ERR_PERM: somebody else could have
 * written it. A note says that a file in the current folder has the name of one of mdbg's own.
 */
struct err *script_file_find(struct shell *shell, const char *name, struct script *ret) MUST_CHECK;
/* Add the path of a file of mdbg's own to ret, as 1. above; nothing is added if there is none. */
struct err *script_file_own(const char *name, struct str *ret) MUST_CHECK;
/* Run a script that was found inside of a command, which gets the code that the script ends with. */
struct err *script_file_call(struct call *call, const struct script *script) MUST_CHECK;
void script_file_free(struct script *script);
/*
 * Find a script and run it; `-` is standard input. Returns true if nothing failed, and has reported
 * all that did.
 */
bool script_file_run(struct shell *shell, const char *name);
