/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An untrusted database for SQLite to read: a file that is open already.
 *
 * SQLite opens files by name, and follows symbolic links itself, those of /proc/self/fd too. By
 * then the name may be that of another file than the one that was looked at. So SQLite gets a file
 * system of one file, whose bytes come from the descriptor. It has no journal and no lock, and
 * nothing is written. Only columns of tables may be read.
 */
#pragma once

#include <sqlite3.h>

#include "base/compiler.h"

struct sqlite_source {
	sqlite3 *sql;		/* NULL: it was not opened, for lack of memory */
	sqlite3_vfs vfs;
	sqlite3_vfs *usual;	/* for SQLite's temporary files */
	int fd;
};

/*
 * Open the database of a regular file. length_most: bytes of the longest text. The source must
 * stay where it is, and fd open, until sqlite_source_close, which also follows if this fails.
 * Returns one of SQLite's codes.
 */
int sqlite_source_open(struct sqlite_source *source, int fd, int length_most) MUST_CHECK;
void sqlite_source_close(struct sqlite_source *source);
