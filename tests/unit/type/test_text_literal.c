/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strings of a target as text. */

#include "type/text_literal.h"

#include <string.h>

#include "unit.h"

static const char *of(const char *bytes, size_t len, bool more)
{
	static struct str text = STR_INIT;

	str_clear(&text);
	CU_ASSERT_PTR_NULL(text_literal_string((const uint8_t *)bytes, len, more, &text));
	return str_text(&text);
}

TEST("what a terminal obeys is escaped, and long runs are counted")
{
	CU_ASSERT_STRING_EQUAL(of("", 0, false), "\"\"");
	CU_ASSERT_STRING_EQUAL(of("a\"b\\\n", 5, false), "\"a\\\"b\\\\\\n\"");
	CU_ASSERT_STRING_EQUAL(of("\033[2J\177", 5, false), "\"\\033[2J\\177\"");
	CU_ASSERT_STRING_EQUAL(of("\303\251\303", 3, false), "\"\303\251\\303\"");
	CU_ASSERT_STRING_EQUAL(of("\342\200\256x", 4, true), "\"\\342\\200\\256x\"...");
	CU_ASSERT_STRING_EQUAL(of("aaaaaaaaaa", 10, false), "\"aaaaaaaaaa\"");
	CU_ASSERT_STRING_EQUAL(of("aaaaaaaaaaa", 11, false), "'a' <repeats 11 times>");
	CU_ASSERT_STRING_EQUAL(of("xaaaaaaaaaaab", 13, false), "\"x\", 'a' <repeats 11 times>, \"b\"");
}

TEST("a run of one byte is shown as a whole, wherever the limit lies in it")
{
	uint8_t bytes[400];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)('a' + i % 26);
	CU_ASSERT_EQUAL(text_literal_len(bytes, sizeof(bytes)), LITERAL_MOST);
	CU_ASSERT_EQUAL(text_literal_len(bytes, 150), 150);
	memset(bytes + 190, 'x', 100);
	CU_ASSERT_EQUAL(text_literal_len(bytes, sizeof(bytes)), 290);
	CU_ASSERT_EQUAL(text_literal_len(bytes, 250), 250);
	CU_ASSERT_EQUAL(text_literal_len(bytes, 0), 0);
}
