/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the sites of an export to SQLite back, which may be of another day, run or machine.
 *
 * The file is untrusted: it may have been cut off, changed or made by somebody else. mdbg opens it
 * for reading only, without journal or lock, and asks for the rows of our own tables; views,
 * triggers, functions and virtual tables are refused. Numbers of rows and lengths are bounded, and
 * rows that do not go together, or whose sums are not those that the writer has noted, are an
 * error. Ctrl-C ends the reading.
 */
#pragma once

#include "base/err.h"

struct model;

/*
 * Make a model of the recorded sites of the export: bytes, count and stack of each, the frames with
 * their names, modules with build-ids, and the time, pid, command, options and sampling of the
 * process. Other figures are 0. After an error *ret is empty.
 *
 * ERR_SYS, ERR_PERM: the file cannot be read; ERR_FORMAT: it is no export, or it is
 * damaged; ERR_UNSUPPORTED: it is an export of a newer mdbg, or this one was built without SQLite;
 * ERR_RANGE: it has more rows than mdbg reads.
 */
struct err *sqlite_read(const char *name, struct model *ret) MUST_CHECK;
