/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files inside of mdbg, as Tcl sees them. Its own library is the machine's. */

#include "cmd/shell/embedded.h"

#include "harness.h"
#include "unit.h"

static const char hello[] = "set said hello";
static const char empty[] = "";

#define FILE_OF(name, text)	{ name, text, text + sizeof(text) - 1 }

const struct embedded_file embedded_files[] = {
	FILE_OF("a.tcl", hello),
	FILE_OF("folder/b.tcl", hello),
	FILE_OF("folder/inner/c.tcl", empty),
	FILE_OF("folder2/d.tcl", empty),
	{ NULL, NULL, NULL },
};

static bool gives(const char *script, const char *want)
{
	const char *got = harness_value(script);
	bool same = !strcmp(got, want);

	if (!same)
		printf("[%s: %s] ", script, got);
	return same;
}

TEST("files are read")
{
	harness_shell();
	CU_ASSERT_TRUE(gives("source mdbg:/a.tcl", "hello"));
	CU_ASSERT_TRUE(gives("source mdbg:/folder2/../folder/./b.tcl", "hello"));
	CU_ASSERT_TRUE(gives("set c [open mdbg:/folder/inner/c.tcl]; list [read $c][close $c]", "{}"));
	CU_ASSERT_TRUE(gives("set c [open mdbg:/a.tcl]; seek $c 4; list [read $c][close $c]",
			     "{said hello}"));
	CU_ASSERT_TRUE(gives("file size mdbg:/a.tcl", "14"));
}

TEST("folders are listed")
{
	CU_ASSERT_TRUE(gives("glob -directory mdbg:/ *",
			     "mdbg:/a.tcl mdbg:/folder mdbg:/folder2"));
	CU_ASSERT_TRUE(gives("glob -directory mdbg:/ -types d *", "mdbg:/folder mdbg:/folder2"));
	CU_ASSERT_TRUE(gives("glob -directory mdbg:/folder -types f *", "mdbg:/folder/b.tcl"));
	CU_ASSERT_TRUE(gives("glob mdbg:/*/*.tcl", "mdbg:/folder/b.tcl mdbg:/folder2/d.tcl"));
	CU_ASSERT_TRUE(gives("glob -nocomplain mdbg:/fold/*", ""));
	CU_ASSERT_TRUE(gives("file isdirectory mdbg:/folder/inner", "1"));
	CU_ASSERT_TRUE(gives("file exists mdbg:/fold", "0"));
	CU_ASSERT_TRUE(gives("file normalize mdbg:/folder/../a.tcl", "mdbg:/a.tcl"));
}

TEST("nothing can be changed")
{
	CU_ASSERT_TRUE(gives("catch {open mdbg:/a.tcl w} why; set why",
			     "couldn't open \"mdbg:/a.tcl\": read-only file system"));
	CU_ASSERT_TRUE(gives("catch {open mdbg:/folder} why; set why",
			     "couldn't open \"mdbg:/folder\": illegal operation on a directory"));
	CU_ASSERT_TRUE(gives("catch {source mdbg:/none} why; set why",
			     "couldn't read file \"mdbg:/none\": no such file or directory"));
	CU_ASSERT_TRUE(gives("file writable mdbg:/a.tcl", "0"));
	CU_ASSERT_TRUE(gives("catch {file delete mdbg:/a.tcl}; file exists mdbg:/a.tcl", "1"));
}

TEST("the rest is as it was")
{
	/* What is inside has no init.tcl: Tcl's library is the machine's. */
	CU_ASSERT_TRUE(gives("string match mdbg:* [info library]", "0"));
	CU_ASSERT_TRUE(gives("file isdirectory /proc/self", "1"));
}

