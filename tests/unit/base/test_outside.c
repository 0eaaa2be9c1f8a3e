/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a terminal would obey is shown, all else stays as it is. */

#include "base/outside.h"

#include "unit.h"

static void check(const char *text, const char *want)
{
	AUTO_STR struct str got = STR_INIT;

	CU_ASSERT_PTR_NULL(outside_add(&got, text, strlen(text), OUTSIDE_ONE_LINE));
	CU_ASSERT_STRING_EQUAL(str_text(&got), want);
}

TEST("leaves text")
{
	check("", "");
	check("nginx: worker \\ ~", "nginx: worker \\ ~");
	check("gr\xc3\xbc\xc3\x9f" "e \xe2\x82\xac \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f" "e \xe2\x82\xac \xf0\x9f\x98\x80");
}

TEST("shows controls")
{
	check("\x1b]0;title\a", "\\x1b]0;title\\x07");
	check("a\nmdbg: b\tc\r\x7f", "a\\nmdbg: b\\tc\\x0d\\x7f");
	check("\xc2\x9b" "2J", "\\u009b2J");
	check("\xe2\x80\xaetxt\xe2\x81\xa6 \xe2\x80\xa8", "\\u202etxt\\u2066 \\u2028");
}

TEST("shows what is no UTF-8")
{
	check("\x9b" "2J", "\\x9b2J");
	check("\xc3", "\\xc3");
	check("\xc3(", "\\xc3(");
	check("\xc0\x9b", "\\xc0\\x9b");		/* two bytes for 0x1b */
	check("\xe0\x82\x9b", "\\xe0\\x82\\x9b");	/* three for 0x9b */
	check("\xed\xa0\x80", "\\xed\\xa0\\x80");	/* a surrogate */
	check("\xf4\x90\x80\x80\xff", "\\xf4\\x90\\x80\\x80\\xff");
}

TEST("keeps own lines")
{
	AUTO_STR struct str got = STR_INIT;

	CU_ASSERT_PTR_NULL(outside_add(&got, "a\n\tb\x1b\n", 6, OUTSIDE_LINES));
	CU_ASSERT_STRING_EQUAL(str_text(&got), "a\n\tb\\x1b\n");
}

/* Whatever the bytes are: what comes out is plain, and all of it was looked at. */
TEST("any bytes")
{
	uint64_t random = 88172645463325252;

	for (unsigned round = 0; round < 20000; round++) {
		AUTO_STR struct str got = STR_INIT;
		char text[12];

		for (size_t i = 0; i < sizeof(text); i++) {
			unit_random(&random);
			text[i] = (char)(random >> 20);
		}
		CU_ASSERT_PTR_NULL(outside_add(&got, text, sizeof(text), OUTSIDE_ONE_LINE));
		CU_ASSERT_EQUAL(outside_plain(str_text(&got), got.len, OUTSIDE_ONE_LINE), got.len);
	}
}
