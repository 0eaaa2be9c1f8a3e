/* SPDX-License-Identifier: GPL-3.0-or-later */
/* struct str: always terminated, any bytes, any length. */

#include "base/str.h"

#include "unit.h"

TEST("empty")
{
	struct str str = STR_INIT;

	CU_ASSERT_STRING_EQUAL(str_text(&str), "");
	str_clear(&str);
	CU_ASSERT_STRING_EQUAL(str_text(&str), "");
	CU_ASSERT_PTR_NULL(str_add(&str, ""));
	CU_ASSERT_PTR_NOT_NULL_FATAL(str.at);
	CU_ASSERT_STRING_EQUAL(str.at, "");
	str_free(&str);
	CU_ASSERT_PTR_NULL(str.at);
}

TEST("add")
{
	struct str str = STR_INIT;

	CU_ASSERT_PTR_NULL(str_add(&str, "size"));
	CU_ASSERT_PTR_NULL(str_addf(&str, " %s %d", ">=", 4096));
	CU_ASSERT_PTR_NULL(str_addf(&str, "%s", ""));
	CU_ASSERT_STRING_EQUAL(str_text(&str), "size >= 4096");
	CU_ASSERT_EQUAL(str.len, 12);
	str_clear(&str);
	CU_ASSERT_EQUAL(str.len, 0);
	CU_ASSERT_STRING_EQUAL(str_text(&str), "");
	CU_ASSERT_PTR_NULL(str_add(&str, "again"));
	CU_ASSERT_STRING_EQUAL(str_text(&str), "again");
	str_free(&str);
}

TEST("bytes with zeroes")
{
	struct str str = STR_INIT;

	CU_ASSERT_PTR_NULL(str_add_bytes(&str, "a\0b", 3));
	CU_ASSERT_PTR_NULL(str_add_bytes(&str, "\0", 1));
	CU_ASSERT_EQUAL(str.len, 4);
	CU_ASSERT_EQUAL(memcmp(str.at, "a\0b\0\0", 5), 0);
	str_free(&str);
}

/* Each length once, so that every edge of the room is met: text and terminator must fit. */
TEST("every length")
{
	char text[301];
	size_t len;

	memset(text, 'x', sizeof(text));
	for (len = 0; len <= 300; len++) {
		struct str str = STR_INIT;

		CU_ASSERT_PTR_NULL(str_addf(&str, "%.*s", (int)len, text));
		CU_ASSERT_EQUAL(strlen(str_text(&str)), len);
		CU_ASSERT_PTR_NULL(str_addf(&str, "%.*s", (int)(300 - len), text));
		CU_ASSERT_EQUAL(strlen(str_text(&str)), 300);
		CU_ASSERT(str.room > str.len);
		str_free(&str);
	}
}

TEST("grows")
{
	struct str str = STR_INIT;
	int i;

	for (i = 0; i < 100000; i++)
		if (str_addf(&str, "%d,", i % 10))
			break;
	CU_ASSERT_EQUAL(i, 100000);
	CU_ASSERT_EQUAL(str.len, 200000);
	CU_ASSERT_EQUAL(strncmp(str.at + 199980, "0,1,2,3,4,5,6,7,8,9,", 21), 0);
	str_free(&str);
}
