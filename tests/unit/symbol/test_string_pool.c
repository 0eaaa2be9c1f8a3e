/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strings kept once, and made fit for a terminal. */

#include "symbol/string_pool.h"

#include "unit.h"

TEST("each once")
{
	CLEANUP(string_pool_free) struct names names = NAMES_INIT;
	char text[] = "malloc_usable_size";
	const char *kept = string_pool_keep(&names, text, 6);

	CU_ASSERT_STRING_EQUAL(kept, "malloc");
	CU_ASSERT_PTR_EQUAL(string_pool_keep(&names, "malloc", SIZE_MAX), kept);
	CU_ASSERT_PTR_NOT_EQUAL(string_pool_keep(&names, "mallo", SIZE_MAX), kept);
	memset(text, 'x', sizeof(text) - 1);
	CU_ASSERT_STRING_EQUAL(kept, "malloc");
	CU_ASSERT_STRING_EQUAL(string_pool_keep(&names, "", SIZE_MAX), "");
}

TEST("no control characters")
{
	CLEANUP(string_pool_free) struct names names = NAMES_INIT;

	CU_ASSERT_STRING_EQUAL(string_pool_keep(&names, "a\033[2Jb\n\177", SIZE_MAX),
			       "a\\x1b[2Jb\\n\\x7f");
	/* C1 controls in UTF-8 go, letters stay. */
	CU_ASSERT_STRING_EQUAL(string_pool_keep(&names, "\xc2\x9b" "1mgr\xc3\xbc\xc3\x9f" "e",
						SIZE_MAX),
			       "\\u009b1mgr\xc3\xbc\xc3\x9f" "e");
	CU_ASSERT_STRING_EQUAL(string_pool_keep(&names, "\x9b" "1m", SIZE_MAX), "\\x9b1m");
}

TEST("long ones are cut")
{
	CLEANUP(string_pool_free) struct names names = NAMES_INIT;
	size_t len = NAME_MAX_LEN * 3;
	AUTO_FREE char *text = malloc(len + 1);

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	memset(text, 'a', len);
	text[len] = '\0';
	CU_ASSERT_EQUAL(strlen(string_pool_keep(&names, text, SIZE_MAX)), NAME_MAX_LEN);
}

TEST("readable and linkage")
{
	CLEANUP(string_pool_free) struct names names = NAMES_INIT;
	const char *linkage = "untouched";

	CU_ASSERT_STRING_EQUAL(string_pool_readable(&names, "_Znwm", SIZE_MAX, &linkage),
			       "operator new(unsigned long)");
	CU_ASSERT_STRING_EQUAL(linkage, "_Znwm");
	CU_ASSERT_STRING_EQUAL(string_pool_readable(&names, "malloc", SIZE_MAX, &linkage),
			       "malloc");
	CU_ASSERT_PTR_NULL(linkage);
	CU_ASSERT_STRING_EQUAL(string_pool_readable(&names, "_Znwm@@GLIBCXX_3.4", 5, NULL),
			       "operator new(unsigned long)");
}
