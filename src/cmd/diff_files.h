/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `malloc diff` and `mdbg::diff` where at least one of the words is the name of an export to
 * SQLite.
 *
 * A word is a moment or a file: `now`, `peak` and -10m are moments, and a word with a slash is a
 * file. The name of a mark is a moment, also that of one from before a reset. Any other word is a
 * file if it has a dot, or if a file of that name exists, so that a mistyped file's name is
 * reported as such, and a mistyped mark as a mark.
 */
#pragma once

#include <stdbool.h>
#include <tcl.h>

#include "base/err.h"

struct call;

/* Is one of the words a file? */
bool diff_has_file(const struct call *call);
/* Compare, and print the answer or give it to a script. */
struct err *diff_files_print(struct call *call) MUST_CHECK;
struct err *diff_files_value(struct call *call, Tcl_Obj **ret) MUST_CHECK;
