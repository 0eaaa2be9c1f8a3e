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

void suite_path(void)
{
	CU_pSuite suite = CU_add_suite("path", NULL, NULL);

	CU_add_test(suite, "base", test_base);
}
