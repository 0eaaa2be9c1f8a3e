/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output, tables, numbers. */

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "report/out.h"
#include "report/text_table.h"
#include "text_out.h"
#include "unit.h"

TEST("collects text")
{
	AUTO_STR struct str text = STR_INIT;
	char big[1000];
	struct out out;
	size_t i;

	text_out_init(&out);
	memset(big, 'x', sizeof(big));
	for (i = 0; i < 1000; i++)
		out_bytes(&out, big, sizeof(big));
	out_f(&out, "%0700d|", 7);
	out_blanks(&out, 150);
	CU_ASSERT_FALSE(out_done(&out));
	text_out_finish(&out, &text);
	CU_ASSERT_EQUAL(text.len, 1000 * sizeof(big) + 701 + 150);
	CU_ASSERT_EQUAL(strspn(text.at, "x"), 1000 * sizeof(big));
	CU_ASSERT_EQUAL(text.at[text.len - 151], '|');
}

TEST("breaks lines for a terminal")
{
	AUTO_STR struct str text = STR_INIT;
	struct out out;

	text_out_init(&out);
	out.columns = 20;
	out.color = true;
	out_text(&out, "twenty letters here.\n");
	out_text(&out, "one more makes two li");
	out_text(&out, "nes, three lines\n");
	out_text(&out, "    a_word_longer_than_a_line is left\n");
	out_bold(&out, true);
	out_text(&out, "colour counts nothin");
	out_bold(&out, false);
	out_text(&out, "\n\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244 is UTF-8\n");
	out_text(&out, "blanks at the end   \nno newline");
	text_out_finish(&out, &text);
	CU_ASSERT_STRING_EQUAL(text.at,
			       "twenty letters here.\n"
			       "one more makes two\n    lines, three\n    lines\n"
			       "    a_word_longer_than_a_line\n        is left\n"
			       "\033[1mcolour counts nothin\033[0m\n"
			       "\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244 is UTF-8\n"
			       "blanks at the end\nno newline");
}

TEST("prints units")
{
	struct out out = { .units = false };

	CU_ASSERT_STRING_EQUAL(number_text_size(&out, 1536).at, "1536");
	CU_ASSERT_STRING_EQUAL(number_text_size(&out, UINT64_MAX).at, "18446744073709551615");
	out.units = true;
	CU_ASSERT_STRING_EQUAL(number_text_size(&out, 0).at, "0");
	CU_ASSERT_STRING_EQUAL(number_text_size(&out, 1023).at, "1023");
	CU_ASSERT_STRING_EQUAL(number_text_size(&out, 1024).at, "1.0K");
	CU_ASSERT_STRING_EQUAL(number_text_size(&out, 1536).at, "1.5K");
	CU_ASSERT_STRING_EQUAL(number_text_size(&out, 300ull << 20).at, "300.0M");
	/* 1023.94 and 1023.96 */
	CU_ASSERT_STRING_EQUAL(number_text_size(&out, 1048515).at, "1023.9K");
	CU_ASSERT_STRING_EQUAL(number_text_size(&out, 1048535).at, "1.0M");
	CU_ASSERT_STRING_EQUAL(number_text_size(&out, (1 << 20) - 1).at, "1.0M");
	CU_ASSERT_STRING_EQUAL(number_text_size(&out, (1ull << 60) - 1).at, "1.0E");
	CU_ASSERT_STRING_EQUAL(number_text_size(&out, UINT64_MAX).at, "16.0E");
}

TEST("writes more than its buffer")
{
	AUTO_STR struct str text = STR_INIT;
	AUTO_FREE char *big = calloc(1, OUT_ROOM + 5);
	struct out out;

	text_out_init(&out);
	CU_ASSERT_PTR_NOT_NULL_FATAL(big);
	memset(big, 'y', OUT_ROOM + 4);
	out_text(&out, "a");
	out_text(&out, big);
	out_text(&out, "b");
	text_out_finish(&out, &text);
	CU_ASSERT_EQUAL(text.len, OUT_ROOM + 6);
	CU_ASSERT_EQUAL(text.at[0], 'a');
	CU_ASSERT_EQUAL(text.at[text.len - 1], 'b');
}

TEST("keeps the first error")
{
	AUTO_CLOSE int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct err *err;
	struct out out;

	CU_ASSERT_PTR_NULL_FATAL(out_init_fd(&out, fd, "the disk"));
	out_text(&out, "x");
	out_flush(&out);
	CU_ASSERT_TRUE(out_done(&out));
	out_text(&out, "y");
	err = out_finish(&out);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_STRING_EQUAL(err->msg, "write to the disk: No space left on device");
}

TEST("knows a reader that left")
{
	struct out out;
	struct err *err;
	int ends[2], pass;

	signal(SIGPIPE, SIG_IGN);
	for (pass = 0; pass < 2; pass++) {
		CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
		close(ends[0]);
		CU_ASSERT_PTR_NULL_FATAL(out_init_fd(&out, ends[1], "pipe"));
		out.reader_may_leave = pass;
		out_text(&out, "x");
		out_flush(&out);
		CU_ASSERT_TRUE(out_done(&out));
		err = out_finish(&out);
		CU_ASSERT_EQUAL(err == NULL, pass);
		close(ends[1]);
	}
	signal(SIGPIPE, SIG_DFL);
}

static unsigned pages;

static void page(struct out *out)
{
	pages++;
	CU_ASSERT_PTR_EQUAL(out->page_ctx, &pages);
	out->fd = STDERR_FILENO;
}

/* The signal came before the wait: nothing else will end it. (A hang ends by SIGALRM.) */
TEST("does not wait for a reader when asked to end")
{
	static const char big[OUT_ROOM];
	int ends[2], held = 0;
	struct err *err;
	struct out out;

	CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
	CU_ASSERT_PTR_NULL_FATAL(out_init_fd(&out, ends[1], "cat"));
	alarm(20);
	cancel_request();
	out_bytes(&out, big, sizeof(big));
	err = out_finish(&out);
	cancel_clear();
	alarm(0);
	CU_ASSERT_FATAL(err && err->code == ERR_CANCELLED);
	CU_ASSERT_EQUAL(ioctl(ends[0], FIONREAD, &held), 0);
	CU_ASSERT_EQUAL(held, fcntl(ends[1], F_GETPIPE_SZ));
	close(ends[0]);
	close(ends[1]);
}

TEST("pages what is long")
{
	AUTO_CLOSE int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct out out;

	CU_ASSERT_PTR_NULL_FATAL(out_init_fd(&out, fd, "null"));
	out.page = page;
	out.page_ctx = &pages;
	out.page_lines = 3;
	out_text(&out, "1\n2\n");
	out_text(&out, "3\n");
	CU_ASSERT_EQUAL(pages, 0);
	out_text(&out, "4\n");
	CU_ASSERT_EQUAL(pages, 1);
	out.fd = fd;
	out_text(&out, "5\n6\n7\n8\n9\n");
	CU_ASSERT_EQUAL(pages, 1);
	CU_ASSERT_PTR_NULL(out_finish(&out));
}

TEST("formats numbers")
{
	static const uint64_t values[] = { 0, 9, 10, 4294967296, INT64_MAX, UINT64_MAX };
	char text[64], want[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		snprintf(want, sizeof(want), "%llu", (unsigned long long)values[i]);
		CU_ASSERT_EQUAL(number_text_u64(text, values[i]), strlen(want));
		CU_ASSERT_STRING_EQUAL(text, want);
		snprintf(want, sizeof(want), "%016llx", (unsigned long long)values[i]);
		number_text_hex16(text, values[i]);
		text[16] = '\0';
		CU_ASSERT_STRING_EQUAL(text, want);
	}
	number_text_duration(text, sizeof(text), 1500000);
	CU_ASSERT_STRING_EQUAL(text, "1.5 ms");
	number_text_duration(text, sizeof(text), 12300000000);
	CU_ASSERT_STRING_EQUAL(text, "12.3 s");
	number_text_duration(text, sizeof(text), 312000000000);
	CU_ASSERT_STRING_EQUAL(text, "5 m 12 s");
	number_text_duration(text, sizeof(text), 3 * 3600000000000 + 240000000000);
	CU_ASSERT_STRING_EQUAL(text, "3 h 4 m");
	number_text_duration(text, sizeof(text), 51 * 3600000000000);
	CU_ASSERT_STRING_EQUAL(text, "2 d 3 h");
	CU_ASSERT_EQUAL(number_text_width("\303\244b\342\202\254"), 3);
	CU_ASSERT_EQUAL(number_text_width("\377"), 1);
}

TEST("aligns tables")
{
	static const char *const titles[] = { "NAME", ">SIZE", "" };
	AUTO_STR struct str text = STR_INIT;
	struct table table;
	struct out out;

	text_out_init(&out);
	text_table_init(&table, 3, titles);
	text_table_cell(&table, "long name");
	text_table_cell(&table, "%d", 1);
	text_table_cell(&table, "note");
	text_table_cell(&table, "\303\244");
	text_table_cell(&table, "%d", 12345);
	text_table_cell(&table, "%s", "");
	CU_ASSERT_PTR_NULL(text_table_print(&table, &out));
	text_out_finish(&out, &text);
	CU_ASSERT_STRING_EQUAL(str_text(&text), "NAME        SIZE\n"
						"long name      1  note\n"
						"\303\244          12345\n");
}

/* The widest column gives way, and what does not fit in it stands alone. */
TEST("fits tables to a terminal")
{
	static const char *const titles[] = { "FUNCTION", "ENGINE", "WHY" };
	AUTO_STR struct str text = STR_INIT;
	struct table table;
	struct out out;

	text_out_init(&out);
	out.columns = 50;
	text_table_init(&table, 3, titles);
	text_table_cell(&table, "malloc");
	text_table_cell(&table, "jump");
	text_table_cell(&table, "%s", "");
	text_table_cell(&table, "operator delete(void*, unsigned long)");
	text_table_cell(&table, "breakpoint");
	text_table_cell(&table, "its first instruction is a jump");
	CU_ASSERT_PTR_NULL(text_table_print(&table, &out));
	text_out_finish(&out, &text);
	CU_ASSERT_STRING_EQUAL(str_text(&text), "FUNCTION          ENGINE      WHY\n"
						"malloc            jump\n"
						"operator delete(void*, unsigned long)\n"
						"                  breakpoint  its first\n"
						"                      instruction is a jump\n");
}

/* Only as many as need be, from the right; and not in a file. */
TEST("leaves columns out")
{
	static const char *const titles[] = { "KIND", ">SIZE", "?>DIRTY", "?THREAD", "PATH" };
	static const char *const cells[] = {
		"heap", "12345", "7", "main", "/lib",
		"heap", "1", "2", "other", "",
	};
	static const struct {
		unsigned columns;
		const char *want;
	} cases[] = {
		{ 0, "KIND   SIZE  DIRTY  THREAD  PATH\n"
		     "heap  12345      7  main    /lib\n"
		     "heap      1      2  other\n" },
		{ 32, "KIND   SIZE  DIRTY  THREAD  PATH\n"
		      "heap  12345      7  main    /lib\n"
		      "heap      1      2  other\n" },
		{ 31, "KIND   SIZE  DIRTY  PATH\n"
		      "heap  12345      7  /lib\n"
		      "heap      1      2\n"
		      "Left out on a terminal of this\n    width, but not in a file:\n    THREAD\n" },
		{ 23, "KIND   SIZE  PATH\n"
		      "heap  12345  /lib\n"
		      "heap      1\n"
		      "Left out on a terminal\n    of this width, but\n    not in a file:\n"
		      "    DIRTY, THREAD\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_STR struct str text = STR_INIT;
		struct table table;
		struct out out;

		text_out_init(&out);
		out.columns = cases[i].columns;
		text_table_init(&table, ARRAY_SIZE(titles), titles);
		for (size_t j = 0; j < ARRAY_SIZE(cells); j++)
			text_table_cell(&table, "%s", cells[j]);
		CU_ASSERT_PTR_NULL(text_table_print(&table, &out));
		text_out_finish(&out, &text);
		if (strcmp(str_text(&text), cases[i].want)) {
			printf("%s\n", str_text(&text));
			CU_FAIL("columns");
		}
	}
}

