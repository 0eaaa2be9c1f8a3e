/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file inside of mdbg. Tables of them are made by scripts/dev/embed-files, sorted by name; the
 * last one has none.
 */
#pragma once

struct embedded_file {
	const char *name;		/* "tcl8.6/init.tcl" */
	const char *start, *end;
};
