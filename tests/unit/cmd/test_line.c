/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which part of a line is Tcl and which a redirection. */

#include "cmd/shell/cmd.h"
#include "cmd/shell/line.h"
#include "cmd/shell/lines.h"
#include "harness.h"
#include "unit.h"

struct expected {
	const char *line;
	enum redirect_kind kind;
	const char *head, *rest;
};

static const struct expected expected[] = {
	{ "malloc", REDIRECT_NONE, "malloc", NULL },
	{ "malloc > dump.txt", REDIRECT_FILE, "malloc ", " dump.txt" },
	{ "malloc >dump.txt", REDIRECT_FILE, "malloc ", "dump.txt" },
	{ "malloc >> dump.txt", REDIRECT_APPEND, "malloc ", " dump.txt" },
	{ "malloc | head -1", REDIRECT_PIPE, "malloc ", " head -1" },
	{ "malloc |head -1 > x", REDIRECT_PIPE, "malloc ", "head -1 > x" },
	{ "malloc | awk '{print $1' \"", REDIRECT_PIPE, "malloc ", " awk '{print $1' \"" },
	/* relations */
	{ "malloc allocations size > 4K", REDIRECT_NONE, "malloc allocations size > 4K", NULL },
	{ "malloc allocations size > 4K and age > 5m > old.txt", REDIRECT_FILE,
	  "malloc allocations size > 4K and age > 5m ", " old.txt" },
	{ "malloc al size > 4K > x", REDIRECT_FILE, "malloc al size > 4K ", " x" },
	{ "m al size > 4K | wc", REDIRECT_PIPE, "m al size > 4K ", " wc" },
	{ "malloc allocations sort size > x", REDIRECT_FILE, "malloc allocations sort size ",
	  " x" },
	{ "malloc allocations sort size up > x", REDIRECT_FILE, "malloc allocations sort size up ",
	  " x" },
	{ "malloc sites by thread > x", REDIRECT_FILE, "malloc sites by thread ", " x" },
	{ "malloc sites by thread size > 4K", REDIRECT_NONE, "malloc sites by thread size > 4K",
	  NULL },
	{ "malloc allocations function == size > x", REDIRECT_FILE,
	  "malloc allocations function == size ", " x" },
	{ "malloc allocations size>4K > x", REDIRECT_FILE, "malloc allocations size>4K ", " x" },
	{ "malloc allocations function == '*a > b' > x", REDIRECT_FILE,
	  "malloc allocations function == '*a > b' ", " x" },
	{ "malloc allocations time > '2020-01-01 00:00' > x", REDIRECT_FILE,
	  "malloc allocations time > '2020-01-01 00:00' ", " x" },
	{ "mdbg::allocations size > 4K", REDIRECT_NONE, "mdbg::allocations size > 4K", NULL },
	{ "mdbg::leaks all size > 4K -each b {puts $b} > x", REDIRECT_FILE,
	  "mdbg::leaks all size > 4K -each b {puts $b} ", " x" },
	{ "mdbg::sites age > 5m | wc", REDIRECT_PIPE, "mdbg::sites age > 5m ", " wc" },
	{ "thread > x", REDIRECT_FILE, "thread ", " x" },
	{ "puts size > x", REDIRECT_FILE, "puts size ", " x" },
	/* Tcl */
	{ "if {$a > 5} {puts x}", REDIRECT_NONE, "if {$a > 5} {puts x}", NULL },
	{ "puts [expr 1 > 2]", REDIRECT_NONE, "puts [expr 1 > 2]", NULL },
	{ "puts \"a > b\"", REDIRECT_NONE, "puts \"a > b\"", NULL },
	{ "puts a\\ > b", REDIRECT_NONE, "puts a\\ > b", NULL },
	{ "puts ${a > b}", REDIRECT_NONE, "puts ${a > b}", NULL },
	{ "puts a \\\n > b", REDIRECT_FILE, "puts a \\\n ", " b" },
	{ "set op >; puts $op", REDIRECT_NONE, "set op >; puts $op", NULL },
	{ "set op >", REDIRECT_NONE, "set op >", NULL },
	{ "puts a; malloc allocations size > 3; puts b > x", REDIRECT_FILE,
	  "puts a; malloc allocations size > 3; puts b ", " x" },
	{ "# a > b", REDIRECT_NONE, "# a > b", NULL },
	{ "puts a || b", REDIRECT_NONE, "puts a || b", NULL },
	{ "puts [list {[} > x", REDIRECT_NONE, "puts [list {[} > x", NULL },
	{ "", REDIRECT_NONE, "", NULL },
};

TEST("splits lines")
{
	struct shell *shell = harness_shell();
	struct line line;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(expected); i++) {
		const struct expected *want = &expected[i];
		bool ok = !line_parse(shell, want->line, &line) && line.kind == want->kind &&
			  !line.raw && line.head_len == strlen(want->head) &&
			  !strncmp(want->line, want->head, line.head_len) &&
			  (!want->rest || (line.rest && !strcmp(line.rest, want->rest)));

		if (!ok)
			printf("line: %s\n", want->line);
		CU_ASSERT(ok);
	}
}

TEST("leaves raw lines alone")
{
	struct line line;

	CU_ASSERT_PTR_NULL(line_parse(harness_shell(), "  sh echo {a > b | c", &line));
	CU_ASSERT_PTR_NOT_NULL_FATAL(line.raw);
	CU_ASSERT_STRING_EQUAL(line.raw->name, "sh");
	CU_ASSERT_STRING_EQUAL(line.rest, " echo {a > b | c");
}

TEST("knows when a line is whole")
{
	struct shell *shell = harness_shell();

	CU_ASSERT_TRUE(shell_line_is_whole(shell, "malloc"));
	CU_ASSERT_TRUE(shell_line_is_whole(shell, "sh echo {"));
	CU_ASSERT_TRUE(shell_line_is_whole(shell, "malloc | awk '{print'"));
	CU_ASSERT_FALSE(shell_line_is_whole(shell, "proc f {} {"));
	CU_ASSERT_FALSE(shell_line_is_whole(shell, "puts \"a"));
	CU_ASSERT_FALSE(shell_line_is_whole(shell, "puts [list a"));
	CU_ASSERT_TRUE(shell_line_is_whole(shell, "proc f {} {\n}"));
}

/* Any text at all, put together from what matters to the scanner; the sanitizers look on. */
TEST("takes any text")
{
	static const char *const pieces[] = {
		"malloc", "allocations", "size", "sort", " ",  " ",  " ",  ">",    ">>",
		"|",      "{",           "}",    "[",    "]",  "\"", "\\", "$",    "${",
		";",      "\n",          "#",    "'",    "4K", "sh", "\t", "\377", "m",
	};
	struct shell *shell = harness_shell();
	unsigned seed = 1, i, j;

	for (i = 0; i < 50000; i++) {
		char text[128] = "";
		struct line line;
		size_t len;

		for (j = 0; j < 12; j++) {
			seed = seed * 1103515245 + 12345;
			strcat(text, pieces[(seed >> 16) % ARRAY_SIZE(pieces)]);
		}
		len = strlen(text);
		CU_ASSERT_FATAL(!line_parse(shell, text, &line));
		CU_ASSERT_FATAL(line.head_len <= len);
		CU_ASSERT_FATAL(!line.rest || (line.rest >= text && line.rest <= text + len));
		CU_ASSERT_FATAL((line.kind || line.raw) == (line.rest != NULL));
	}
}

