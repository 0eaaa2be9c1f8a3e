/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Suppressions: files, good and bad, and what a pattern matches. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "heap/suppression.h"

TEST("patterns")
{
	static const struct {
		const char *pattern, *name;
		bool want;
	} cases[] = {
		{ "load", "load_history", true }, { "load", "preload", true },
		{ "load", "lode", false }, { "load", "", false }, { "load", NULL, false },
		{ "^load", "load_history", true }, { "^load", "preload", false },
		{ "load$", "preload", true }, { "load$", "loads", false },
		{ "load$", "loadload", true }, { "^load$", "load", true },
		{ "^load$", "loadload", false }, { "^load$", "loads", false },
		{ "*", "x", true }, { "*", "", false }, { "^*$", "x", true }, { "$", "x", true },
		{ "a*c", "xabcx", true }, { "a*c", "xcbax", false }, { "^a*c$", "abcbc", true },
		{ "^a*c$", "abcb", false }, { "^a*b*c", "a-b-c-d", true },
		{ "^a*b*c", "a-c-b", false }, { "a**b", "a-b", true }, { "^*b", "ab", true },
		{ "ab*$", "xabx", true }, { "^a*a$", "a", false }, { "^a*a$", "aa", true },
		{ "^$", "x", false }, { "a^", "a^", true }, { "a^", "a", false },
		{ "operator new(unsigned long)", "operator new(unsigned long)", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (suppression_matches(cases[i].pattern, cases[i].name) != cases[i].want)
			CU_FAIL(cases[i].pattern);
}

static void write_file(const char *path, const void *text, size_t len)
{
	FILE *file = fopen(path, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_EQUAL_FATAL(fwrite(text, 1, len, file), len);
	CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

static struct err *read_text(struct suppressions *suppressions, const char *text, size_t len)
{
	char path[64];
	struct err *err;

	snprintf(path, sizeof(path), "/tmp/mdbg-suppress-%d", (int)getpid());
	write_file(path, text, len);
	err = suppressions_read(suppressions, path);
	unlink(path);
	return err;
}

TEST("files")
{
	static const char text[] = "# comment\n\n  leak:one  \r\nleak: two three\n\t# more\n"
				   "leak:a#b\nleak:^last$";
	static const char *const want[] = { "one", " two three", "a#b", "^last$" };
	CLEANUP(suppressions_free) struct suppressions suppressions;
	size_t built_in;

	CU_ASSERT_PTR_NULL_FATAL(suppressions_init(&suppressions));
	built_in = suppressions.vec.nr;
	CU_ASSERT_TRUE(built_in > 0);
	for (size_t i = 0; i < built_in; i++)
		CU_ASSERT_TRUE(suppressions.vec.at[i].built_in);
	CU_ASSERT_PTR_NULL(read_text(&suppressions, text, strlen(text)));
	CU_ASSERT_PTR_NULL(read_text(&suppressions, "", 0));
	CU_ASSERT_EQUAL_FATAL(suppressions.vec.nr, built_in + ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		CU_ASSERT_STRING_EQUAL(suppressions.vec.at[built_in + i].pattern, want[i]);
		CU_ASSERT_FALSE(suppressions.vec.at[built_in + i].built_in);
	}
}

TEST("bad files")
{
	static const struct {
		const char *text;
		size_t len;
		const char *what, *hint;
	} cases[] = {
		{ "leak:a\n\nleak:\n", 14, "line 3: a pattern is missing", "leak:*" },
		{ "race:foo\n", 9, "line 1: 'race' is nothing to suppress", "leak:PATTERN" },
		{ "{\n   name\n", 10, "line 1: '{' is no suppression", "valgrind" },
		{ "   Memcheck:Leak x\n", 19, "line 1: 'Memcheck:Leak x' is no suppression", "valgrind" },
		{ "malloc\n", 7, "line 1: 'malloc' is no suppression", "leak:PATTERN" },
		{ "leak:a\0b\n", 9, "line 1: a zero byte", "no text file" },
	};
	CLEANUP(suppressions_free) struct suppressions suppressions = { VEC_INIT };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err *err = read_text(&suppressions, cases[i].text, cases[i].len);

		CU_ASSERT_FATAL(err && err->code == ERR_USAGE);
		if (!strstr(err->msg, cases[i].what) || !strstr(err->hint, cases[i].hint))
			CU_FAIL(cases[i].what);
		CU_ASSERT_EQUAL(suppressions.vec.nr, 0);
	}
	CU_ASSERT_PTR_NOT_NULL(suppressions_read(&suppressions, "/no/such/file"));
	CU_ASSERT_PTR_NOT_NULL(suppressions_read(&suppressions, "/"));
}
