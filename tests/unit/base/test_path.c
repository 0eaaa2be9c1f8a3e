/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths as text. */

#include "base/path.h"

#include "unit.h"

TEST("base")
{
	static const char path[] = "/usr/lib/libc.so.6";

	CU_ASSERT_STRING_EQUAL(path_base(path), "libc.so.6");
	CU_ASSERT_PTR_EQUAL(path_base(path), path + 9);
	CU_ASSERT_STRING_EQUAL(path_base("exact"), "exact");
	CU_ASSERT_STRING_EQUAL(path_base("/exact"), "exact");
	CU_ASSERT_STRING_EQUAL(path_base("../a/b.c"), "b.c");
	CU_ASSERT_STRING_EQUAL(path_base("dir/"), "");
	CU_ASSERT_STRING_EQUAL(path_base(""), "");
}

TEST("deleted")
{
	char gone[] = "/tmp/a (deleted)", there[] = "/tmp/a (deleted) b", word[] = " (deleted)";

	CU_ASSERT_TRUE(path_cut_deleted(gone));
	CU_ASSERT_STRING_EQUAL(gone, "/tmp/a");
	CU_ASSERT_FALSE(path_cut_deleted(gone));
	CU_ASSERT_FALSE(path_cut_deleted(there));
	CU_ASSERT_STRING_EQUAL(there, "/tmp/a (deleted) b");
	CU_ASSERT_FALSE(path_cut_deleted(word));
}

TEST("source")
{
	CU_ASSERT_STRING_EQUAL(path_source("/src/history.c"), "history.c");
	CU_ASSERT_STRING_EQUAL(path_source("/rustc/90b3/library/alloc/src/vec/mod.rs"), "vec/mod.rs");
	CU_ASSERT_STRING_EQUAL(path_source("/c/hashbrown-0.14/src/lib.rs"), "hashbrown-0.14/src/lib.rs");
	CU_ASSERT_STRING_EQUAL(path_source("src/main.rs"), "src/main.rs");
	CU_ASSERT_STRING_EQUAL(path_source("/src/main.rs"), "src/main.rs");
	CU_ASSERT_STRING_EQUAL(path_source("/main.rs"), "main.rs");
	CU_ASSERT_STRING_EQUAL(path_source("mod.rs"), "mod.rs");
	CU_ASSERT_STRING_EQUAL(path_source("/a/b/raw_mod.rs"), "raw_mod.rs");
	CU_ASSERT_STRING_EQUAL(path_source(""), "");
}
