/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How an export to SQLite is recognised, and its tables. A change that an older reader would take for
 * something else gets a new version; a column more is none. Readers of exports (malloc diff FILE)
 * refuse a version that is newer than theirs.
 */
#pragma once

#define SCHEMA_APPLICATION	0x6d646267	/* PRAGMA application_id: "mdbg" */
#define SCHEMA_VERSION		1		/* PRAGMA user_version, and in the table meta */

/*
 * Times are seconds since the epoch, ages are seconds, and addresses are integers. What is not known
 * is NULL.
 *
 *	meta		facts about the export: schema_version, pid, command, options, time, since ...
 *			sites, site_bytes and site_count are the sums of the table sites
 *	modules		files that were mapped
 *	frames		functions at addresses; `offset` is the address as its file counts. Of an address
 *			with inlined functions there are as many frames, with `inlined` in all but the last.
 *			function_offset is the address less that of the function, 0 if inlined.
 *			`full` is the function's name in full, whatever `set names` says
 *	stacks		a stack's frames, depth 0 the innermost; stack is what the log calls it
 *	sites		as `malloc sites`: one row a stack, with the columns of mdbg::sites
 *	allocations	as `malloc allocations`: one row a block; preattach is 1 for those in no record.
 *			Its columns are those of block_relation (answer/block_rows.h)
 *	samples, marks	what was held at other times
 */
#define SCHEMA_META \
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
/* What stacks need. */
#define SCHEMA_STACKS \
	"CREATE TABLE modules(id INTEGER PRIMARY KEY, path TEXT, build_id TEXT, start INTEGER," \
	" \"end\" INTEGER, bias INTEGER);" \
	"CREATE TABLE frames(id INTEGER PRIMARY KEY, pc INTEGER, function TEXT, module INTEGER" \
	" REFERENCES modules(id), \"offset\" INTEGER, file TEXT, line INTEGER, inlined INTEGER," \
	" function_offset INTEGER, \"full\" TEXT);" \
	"CREATE TABLE stacks(stack INTEGER, depth INTEGER, frame INTEGER REFERENCES frames(id)," \
	" PRIMARY KEY(stack, depth)) WITHOUT ROWID;"
#define SCHEMA_HISTORY \
	"CREATE TABLE samples(time REAL, bytes INTEGER, count INTEGER, rss INTEGER, gap INTEGER);" \
	"CREATE TABLE marks(name TEXT PRIMARY KEY, time REAL, bytes INTEGER, count INTEGER)" \
	" WITHOUT ROWID;"
