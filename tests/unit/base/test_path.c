/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths as text. */

#include "base/path.h"

#include "unit.h"

void suite_path(void);

static void test_base(void)
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

static void test_deleted(void)
{
	char gone[] = "/tmp/a (deleted)", there[] = "/tmp/a (deleted) b", word[] = " (deleted)";

	CU_ASSERT_TRUE(path_cut_deleted(gone));
	CU_ASSERT_STRING_EQUAL(gone, "/tmp/a");
	CU_ASSERT_FALSE(path_cut_deleted(gone));
	CU_ASSERT_FALSE(path_cut_deleted(there));
	CU_ASSERT_STRING_EQUAL(there, "/tmp/a (deleted) b");
	CU_ASSERT_FALSE(path_cut_deleted(word));
}

void suite_path(void)
{
	CU_pSuite suite = CU_add_suite("path", NULL, NULL);

	CU_add_test(suite, "base", test_base);
	CU_add_test(suite, "deleted", test_deleted);
}
