/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The malloc commands and those that look at the target, as text. */

#include <signal.h>

#include "cmd/shell/cmd.h"
#include "harness.h"
#include "session/history.h"
#include "unit.h"
#include "unwind/walk.h"

static unsigned count(const char *text, const char *what)
{
	unsigned nr = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		nr++;
	return nr;
}

static const char *line_of(const char *text, unsigned nr)
{
	static char line[512];

	while (nr-- && text)
		text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL;
	snprintf(line, sizeof(line), "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
	return line;
}

TEST("prints the figures")
{
	struct outcome outcome;

	harness_attached();
	outcome = harness_line("malloc");
	CU_ASSERT_TRUE(outcome.ok);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(outcome.out, "    Implementation Algorithm........ fake 1.0\n"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(outcome.out, "    Probes.......................... 0 jump, 1 breakpoint\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "        Stack Depth................. 32\n"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(outcome.out, "        bytes held by the user........... 5124\n"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(outcome.out, "        allocations currently active..... 3\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(
		outcome.out,
		"\nLog: 3 records, 0 not recorded (table full), 0 frees of unknown blocks\n"));
	outcome = harness_line("malloc -v");
	CU_ASSERT_PTR_NOT_NULL(
		strstr(outcome.out,
		       "cfree     libc.so.6  0x0000000000000000  none        alias of free\n"));
	CU_ASSERT_FALSE(harness_line("malloc -x").ok);
}

/* What is lacking stands in each answer, above the line with the totals; for scripts it is a list. */
TEST("says what is lacking")
{
	static const char *const commands[][2] = {
		{ "malloc", "\nLog: " },
		{ "malloc allocations", "\n3 allocations, " },
		{ "malloc sites", "\n2 sites listed; " },
		{ "malloc watch 1 1", "\n\n" },
		{ "malloc check", "" },
		{ "malloc find 0x10", "" },
	};
	static const char lines[] = "\nIncomplete: malloc is not watched: somebody is there\n"
				    "Incomplete: the log is full";

	harness_attached();
	CU_ASSERT_STRING_EQUAL(harness_value("mdbg::lacks"), "");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		CU_ASSERT_PTR_NULL(strstr(harness_line(commands[i][0]).out, "Incomplete"));
	fake_miss(fake_session(), "malloc", "somebody is there");
	fake_miss(fake_session(), "", "the log is full");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		struct outcome outcome = harness_line(commands[i][0]);
		const char *at = strstr(outcome.out, lines);

		CU_ASSERT_TRUE(outcome.ok);
		if (!at)
			printf("[%s: %s] ", commands[i][0], outcome.out);
		CU_ASSERT_PTR_NOT_NULL(at);
		CU_ASSERT_PTR_NOT_NULL(at ? strstr(at, commands[i][1]) : NULL);
	}
	CU_ASSERT_STRING_EQUAL(harness_value("mdbg::lacks"),
			       "{function malloc why {somebody is there}} {function {} why {the log is full}}");
}

/* A block that a realloc has in hand is held like any other, and its site has had it. */
TEST("counts what is in hand")
{
	struct session *session = harness_attached()->session;
	struct log_record held = { .address = 0x5000, .size = 1000, .time = log_now(),
				   .stack = fake_stack(session, WALK_COMPLETE) };
	struct outcome outcome;

	fake_hold(session, &held);
	outcome = harness_line("malloc");
	CU_ASSERT_PTR_NOT_NULL(
		strstr(outcome.out, "        bytes held by the user........... 6124\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\nLog: 4 records,"));
	CU_ASSERT_EQUAL(count(harness_line("malloc allocations size == 1000").out, "\n0x"), 1);
	outcome = harness_line("puts [lmap s [mdbg::sites size == 1000] {dict get $s total}]");
	CU_ASSERT_STRING_EQUAL(outcome.out, "3\n");
	fake_hold(session, NULL);
	CU_ASSERT_EQUAL(count(harness_line("malloc allocations size == 1000").out, "\n0x"), 0);
}

TEST("lists allocations")
{
	static const char head[] = "ADDRESS            SIZE       HEAP  PID     THREAD  PTHREAD_T  "
				   "        CLOCKTIME   SEQ        STACK TRACEBACK";
	struct outcome outcome;
	char start[128];
	size_t indent = strstr(head, "STACK") - head;

	harness_attached();
	outcome = harness_line("malloc allocations");
	CU_ASSERT_TRUE(outcome.ok);
	CU_ASSERT_STRING_EQUAL(line_of(outcome.out, 0), "Allocations Held by the Process:");
	CU_ASSERT_STRING_EQUAL(line_of(outcome.out, 1), "");
	CU_ASSERT_STRING_EQUAL(line_of(outcome.out, 2), head);
	snprintf(start, sizeof(start),
		 "0x0000000000001000 100        -     %-8d%-8d0x00007f0000001000 ", FAKE_PID,
		 FAKE_PID);
	CU_ASSERT_EQUAL(strncmp(line_of(outcome.out, 3), start, strlen(start)), 0);
	CU_ASSERT_STRING_EQUAL(line_of(outcome.out, 3) + indent, "0x0000000000010000 malloc");
	CU_ASSERT_EQUAL(strspn(line_of(outcome.out, 4), " "), indent);
	CU_ASSERT_PTR_NOT_NULL(strstr(line_of(outcome.out, 4), " fake_load+0x2 (fake_session.c:"));
	CU_ASSERT_PTR_NOT_NULL(strstr(line_of(outcome.out, 5), " fake_main+0x2 (fake_session.c:"));
	CU_ASSERT_EQUAL(count(outcome.out, "\n0x"), 3);
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, " (no stack)\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(
		outcome.out,
		"\n3 allocations, 5124 bytes; 0 allocations, 0 bytes from before the attach\n"));
}

TEST("says why a stack ends")
{
	struct shell *shell = harness_attached();

	fake_block(shell->session, 0x4000, 9, fake_stack(shell->session, WALK_NO_ROW));
	CU_ASSERT_EQUAL(count(harness_line("malloc allocations").out, "(stack ends here: "), 1);
}

TEST("filters")
{
	harness_attached();
	CU_ASSERT_EQUAL(count(harness_line("malloc allocations size > 4K").out, "\n0x"), 1);
	CU_ASSERT_EQUAL(count(harness_line("malloc allocations function == fake_l*").out, "\n0x"),
			2);
	CU_ASSERT_EQUAL(
		count(harness_line("malloc allocations function == malloc and size < 1K").out,
		      "\n0x"),
		1);
	CU_ASSERT_EQUAL(count(harness_line("malloc allocations module == fake").out, "\n0x"), 2);
	CU_ASSERT_EQUAL(count(harness_line("malloc allocation limit 1").out, "\n0x"), 1);
	CU_ASSERT_EQUAL(strncmp(line_of(harness_line("malloc alloc sort size").out, 3),
				"0x0000000000002000", 18),
			0);
	CU_ASSERT_EQUAL(strncmp(line_of(harness_line("malloc alloc sort size up").out, 3),
				"0x0000000000003000", 18),
			0);
	CU_ASSERT_EQUAL(
		count(harness_line("malloc allocations time > '2020-01-01 00:00:00'").out, "\n0x"),
		3);
	CU_ASSERT_EQUAL(
		count(harness_line("malloc allocations time > {2020-01-01 00:00:00}").out, "\n0x"),
		3);
	CU_ASSERT_EQUAL(
		count(harness_line("malloc allocations time < '2020-01-01 00:00:00'").out, "\n0x"),
		0);
	CU_ASSERT_EQUAL(
		count(harness_line("malloc allocations function == 'fake_load'").out, "\n0x"), 2);
	CU_ASSERT_FALSE(harness_line("malloc allocations time > '2020-01-01 00:00:00").ok);
	CU_ASSERT_FALSE(harness_line("malloc allocations function == {}'").ok);
	CU_ASSERT_FALSE(harness_line("malloc allocations size").ok);
	CU_ASSERT_FALSE(harness_line("malloc allocations colour == red").ok);
}

/* A line for which there is no answer of before, however long the tests have taken. */
static struct outcome first_look(const char *line)
{
	session_history_reset(fake_session());
	return harness_line(line);
}

TEST("adds up sites")
{
	struct outcome outcome;

	harness_attached();
	outcome = harness_line("malloc sites");
	CU_ASSERT_TRUE(outcome.ok);
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "#1  5100 bytes in 2 blocks (99.5 %)\n    "
						   "all-time 2 blocks, 5100 bytes; 0 freed (0 bytes)\n"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(outcome.out, "\n2 sites listed; 3 allocations, 5124 bytes in all sites\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\n    in fake_load ("));
	CU_ASSERT_PTR_NULL(strstr(harness_line("malloc sites by function").out, "\n    in "));
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("malloc sites by function").out,
				      "(99.5 %): function fake_load\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("malloc sites by line").out,
				      "(99.5 %): line fake_session.c:"));
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("malloc sites by line").out,
				      ": line (unknown)\n"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(harness_line("malloc sites by module").out, "(99.5 %): module fake\n"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(harness_line("malloc sites by size").out, ": blocks of 5000 bytes\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("malloc sites by thread").out,
				      "#1  5124 bytes in 3 blocks (100.0 %): thread "));
	CU_ASSERT_EQUAL(
		count(harness_line("malloc sites by size size < 1K sort count limit 1").out, "#"),
		1);
	CU_ASSERT_FALSE(harness_line("malloc sites by colour").ok);
	CU_ASSERT_FALSE(harness_line("malloc sites by").ok);
	CU_ASSERT_TRUE(harness_line("malloc sites sort growth").ok);
	CU_ASSERT_PTR_NOT_NULL(strstr(first_look("malloc sites").out, "; growth -\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(first_look("malloc sites").out,
				      "\nGrowth (-) needs a sample of 2 s ago or earlier"));
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("malloc sites by size").out,
				      "\nGrowth (-) is known by stack, function, line and module only\n"));
	CU_ASSERT_STRING_EQUAL(first_look("set s [lindex [mdbg::sites] 0]; puts [list [dict get $s growth] "
					  "[dict get $s rate] [dict get $s over]]").out, "- - -\n");
	CU_ASSERT_FALSE(harness_line("malloc sites sort colour").ok);
	CU_ASSERT_FALSE(harness_line("malloc sites limit").ok);
	CU_ASSERT_FALSE(harness_line("malloc sites limit 1 2").ok);
}

/* In a file: a block for each reading, and no escapes. What is typed wrongly reads nothing. */
TEST("watches sites")
{
	static const char *const wrong[] = {
		"0", "-1", "1e99", "x", "0.01", "2d", "{}", "1 0", "1 -1", "1 1e99", "1 x", "1 1.5", "1 {}",
	};
	struct outcome outcome;
	char line[64];

	harness_attached();
	outcome = harness_line("malloc watch 0.1 2");
	CU_ASSERT_TRUE(outcome.ok);
	CU_ASSERT_EQUAL(count(outcome.out, "  5124 bytes in 3 blocks, growth "), 2);
	CU_ASSERT_EQUAL(count(outcome.out, "\n#1  5100 bytes in 2 blocks, growth "), 2);
	CU_ASSERT_EQUAL(count(outcome.out, ", growth - bytes, - allocations/s, - frees/s"), 3);
	CU_ASSERT_EQUAL(count(outcome.out, ", growth +0 bytes, 0.0 allocations/s, 0.0 frees/s"), 2);
	CU_ASSERT_EQUAL(count(outcome.out, "\n    in fake_load ("), 2);
	CU_ASSERT_EQUAL(count(outcome.out, "\033"), 0);
	CU_ASSERT_EQUAL(count(harness_line("malloc watch 1d 1").out, "\n#1 "), 1);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		snprintf(line, sizeof(line), "malloc watch %s", wrong[i]);
		outcome = harness_line(line);
		CU_ASSERT_FALSE(outcome.ok || *outcome.out);
		CU_ASSERT_PTR_NOT_NULL(strstr(outcome.err, "\nhint: usage: malloc watch ?SECONDS ?COUNT?? ?sort "));
	}
	CU_ASSERT_FALSE(harness_line("malloc watch 1 1 1").ok);
	CU_ASSERT_TRUE(harness_line("detach").ok);
	outcome = harness_line("malloc watch 1 1");
	CU_ASSERT(!outcome.ok && strstr(outcome.err, "no process"));
}

TEST("finds leaks")
{
	struct outcome outcome;

	harness_attached();
	outcome = harness_line("malloc leaks");
	CU_ASSERT_TRUE(outcome.ok);
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "    definitely lost...... 5124 bytes in 3 blocks\n"
						   "    indirectly lost...... 0 bytes in 0 blocks\n"
						   "    possibly lost........ 0 bytes in 0 blocks\n"
						   "    still reachable...... 0 bytes in 0 blocks\n"
						   "    all of them.......... 5124 bytes in 3 blocks\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\n    the fake session has no heap: leaks are"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "#1  5100 bytes in 2 blocks are definitely lost\n"
						   "    in fake_load ("));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, ")\n        0x0000000000010000 malloc\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\n2 loss records listed; 5124 bytes in 3 blocks\n"));
	outcome = harness_line("malloc leaks reachable possible -stop");
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\n0 loss records listed; 0 bytes in 0 blocks\n"));
	/* All are added up, and some listed. */
	outcome = harness_line("malloc leaks -stop all size > 1K and function == fake_*");
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "all of them.......... 5124 bytes in 3 blocks\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "#1  5000 bytes in 1 blocks are definitely lost\n"));
	CU_ASSERT_FALSE(harness_line("malloc leaks lost").ok);
	outcome = harness_line("malloc leaks -stop all sort count up limit 1");
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "#1  24 bytes in 1 blocks are definitely lost\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\n1 more loss records are left out by limit\n"
						   "1 loss records listed; 24 bytes in 1 blocks\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("malloc leaks -stop all -brief limit 1").out,
				      "\ndefinite   5100      2         0  fake_load ("));
	CU_ASSERT_FALSE(harness_line("malloc leaks all sort kind").ok);
	CU_ASSERT_FALSE(harness_line("malloc leaks all limit 1 limit 2").ok);
	CU_ASSERT_FALSE(harness_line("malloc leaks all limit").ok);
	CU_ASSERT_TRUE(harness_line("malloc leaks all -snapshot").ok);
	CU_ASSERT_FALSE(harness_line("malloc leaks all -snapshots").ok);
}

TEST("suppresses leaks")
{
	char path[64], line[128];
	struct outcome outcome;
	FILE *file;

	harness_attached();
	snprintf(path, sizeof(path), "/tmp/mdbg-suppressions-%d", (int)getpid());
	file = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs("# by function\nleak:^fake_load$\n", file);
	fclose(file);
	snprintf(line, sizeof(line), "set suppressions %s", path);
	CU_ASSERT_TRUE(harness_line(line).ok);
	outcome = harness_line("malloc leaks");
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "    suppressed........... 5100 bytes in 2 blocks\n"
						   "    all of them.......... 5124 bytes in 3 blocks\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\nSuppressions used:\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "             2           5100  leak:^fake_load$\n"));
	outcome = harness_line("malloc leaks suppressed");
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "#1  5100 bytes in 2 blocks are definitely lost, "
						   "suppressed by leak:^fake_load$\n"));
	outcome = harness_line("puts [dict get [lindex [mdbg::leaks suppressed] 0] suppressed]");
	CU_ASSERT_STRING_EQUAL(outcome.out, "^fake_load$\n");
	/* What is no such file leaves all as it is. */
	CU_ASSERT_FALSE(harness_line("set suppressions /no/such/file").ok);
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("malloc leaks").out, "suppressed....."));
	CU_ASSERT_TRUE(harness_line("set suppressions {}").ok);
	CU_ASSERT_PTR_NULL(strstr(harness_line("malloc leaks").out, "suppressed....."));
	unlink(path);
}

TEST("controls probes and target")
{
	struct shell *shell = harness_attached();
	struct fake_asked *asked = fake_asked(shell->session);

	CU_ASSERT_TRUE(harness_line("malloc off").ok && asked->disarmed == 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("malloc").out, "breakpoint (off)\n"));
	CU_ASSERT_TRUE(harness_line("malloc on").ok && asked->armed == 1);
	CU_ASSERT_TRUE(harness_line("malloc reset").ok && asked->reset == 1);
	CU_ASSERT_TRUE(harness_line("interrupt").ok && asked->interrupted == 1);
	CU_ASSERT_TRUE(harness_line("cont usr1").ok && asked->cont_signal == SIGUSR1);
	CU_ASSERT_TRUE(harness_line("cont").ok && asked->cont_signal == 0);
	CU_ASSERT_FALSE(harness_line("cont SIGNOTHING").ok);
	CU_ASSERT_TRUE(harness_line("detach").ok && asked->detached == 1);
	CU_ASSERT_FALSE(harness_line("detach").ok);
	CU_ASSERT_TRUE(harness_line("malloc sites").ok);
	CU_ASSERT_FALSE(harness_line("interrupt").ok);
}

TEST("looks at threads and stacks")
{
	struct outcome outcome;
	char text[64];

	harness_attached();
	outcome = harness_line("where");
	CU_ASSERT_TRUE(outcome.ok);
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, " (fake):\n#0    0x"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, " fake_load ("));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\n#1    0x"));
	CU_ASSERT_EQUAL(count(harness_line("where all").out, "Thread "), 2);
	CU_ASSERT_EQUAL(count(harness_line("where all 1").out, "(stack ends here: "), 0);
	CU_ASSERT_EQUAL(count(harness_line("where all 1").out, "(more frames follow)"), 2);
	CU_ASSERT_EQUAL(count(harness_line("where 1").out, "#"), 1);
	snprintf(text, sizeof(text), "where %d 1", FAKE_PID + 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line(text).out, " (worker):\n"));
	CU_ASSERT_FALSE(harness_line("where none").ok);
	outcome = harness_line("where 99999999");
	CU_ASSERT_FALSE(outcome.ok);
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.err, "no thread 99999999"));
	outcome = harness_line("thread");
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "*  "));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "worker  blocks SIGTRAP\n"));
	CU_ASSERT_FALSE(harness_line("thread 1").ok);
	snprintf(text, sizeof(text), "thread %d", FAKE_PID + 1);
	CU_ASSERT_TRUE(harness_line(text).ok);
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("where").out, "(worker)"));
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("registers").out, "fake_load"));
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("map").out, "[stack]"));
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("proc").out, "command line"));
	CU_ASSERT_PTR_NULL(strstr(harness_line("proc").out, " \n"));
	outcome = harness_line("status");
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "Threads that block SIGTRAP"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, " worker\n"));
}

/* The figures of two looks, and `-` for what there is none of. */
TEST("prints memory")
{
	struct outcome outcome;

	harness_attached();
	outcome = harness_line("memory");
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "KIND        VSIZE  RSIZE  VGROW  RGROW  PSS"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\nall         16384  16384      -      -    -"
				      "     -       -      17       -\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\nPSS is - with more than 2 GB"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\nVerdict: what grows is not known from one "
				      "look; a later one is compared with it. Ask "
				      "`memory`.\n"));
	outcome = harness_line("memory -v");
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\nheap        16384  12288      0  -4096    -"));
	CU_ASSERT_PTR_NULL(strstr(outcome.out, "PSS is -"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\nVerdict: nothing grows. Ask `memory system`"));
	outcome = harness_line("memory maps");
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\n0x0000000000001000-0x0000000000005000  16384"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "  -  heap  -       [heap]\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("memory maps").out, "  -5  heap"));
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("memory -x").err, "'-x'"));
	CU_ASSERT_FALSE(harness_line("memory maps 1").ok);
	CU_ASSERT_FALSE(harness_line("memory nonsense").ok);
}

TEST("needs a target")
{
	static const char *const lines[] = {
		"malloc",         "malloc allocations",
		"malloc sites",   "malloc on",
		"malloc off",     "malloc reset",
		"where",          "thread",
		"registers",      "map",
		"proc",           "interrupt",
		"cont",           "kill",
		"detach",         "wait exit",
		"mdbg::threads",  "mdbg::malloc",
		"mdbg::where",    "mdbg::maps",
		"mdbg::read 0 1", "mdbg::symbol 1",
		"mdbg::frames 1", "mdbg::allocations",
		"mdbg::sites",    "mdbg::detach",
		"malloc leaks",   "mdbg::leaks",
		"malloc stale 1s", "mdbg::stale 1s",
		"memory",         "memory maps",
		"mdbg::memory",   "mdbg::memory_maps",
	};
	size_t i;

	harness_shell();
	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		struct outcome outcome = harness_line(lines[i]);

		CU_ASSERT_FALSE(outcome.ok);
		CU_ASSERT_PTR_NOT_NULL(strstr(outcome.err, ": no process"));
		CU_ASSERT_EQUAL(count(outcome.err, "\n"), 2);
	}
}

static size_t widest_line(const char *text)
{
	size_t widest = 0;

	for (; *text; text += *text == '\n') {
		widest = MAX(widest, strcspn(text, "\n"));
		text += strcspn(text, "\n");
	}
	return widest;
}

/* The most lines one after the other that no empty and no indented line parts. */
static unsigned longest_paragraph(const char *text)
{
	unsigned longest = 0, lines = 0;

	for (; *text; text += strcspn(text, "\n") + 1) {
		lines = *text == ' ' || *text == '\n' ? 0 : lines + 1;
		longest = MAX(longest, lines);
	}
	return longest;
}

TEST("help is written in paragraphs, and its examples are of the command")
{
	unsigned examples = 0;

	for (unsigned i = 0; cmd_table[i]; i++) {
		const struct cmd *cmd = cmd_table[i];
		const char *help = cmd->help ? cmd->help : "", *example = cmd->example;

		if (widest_line(help) > 79 || longest_paragraph(help) > 8 ||
		    (example && (!strstr(example, cmd->name) || widest_line(example) > 74 ||
				 example[strlen(example) - 1] != '\n'))) {
			printf(" %s: %u lines, %zu columns", cmd->name, longest_paragraph(help),
			       widest_line(help));
			CU_FAIL("help");
		}
		examples += !!example;
	}
	CU_ASSERT_TRUE(examples > 20);
}

TEST("help does not explain a word by itself")
{
	for (unsigned i = 0; cmd_table[i]; i++) {
		char line[80], key[32], said[32];

		snprintf(line, sizeof(line), "help %s", cmd_table[i]->name);
		for (const char *at = harness_line(line).out; *at; at += strcspn(at, "\n") + 1)
			if (sscanf(at, " %31[a-z] %31[^\n]", key, said) == 2)
				CU_ASSERT_STRING_NOT_EQUAL(key, said);
	}
}

TEST("explains every command")
{
	struct outcome outcome;

	harness_shell();
	outcome = harness_line("help");
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\n    malloc leaks  "));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\nmalloc allocations  list the blocks"));
	CU_ASSERT_PTR_NULL(strstr(outcome.out, "\nmdbg::"));
	CU_ASSERT_TRUE(widest_line(outcome.out) <= 80);
	outcome = harness_line("help mdbg");
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "mdbg::allocations     list of dicts"));
	CU_ASSERT_TRUE(widest_line(outcome.out) <= 80);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(harness_line("help malloc alloc").out, "4K and age > 5m > old.txt"));
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("help t").out, "where ?all|THREAD? ?N?\n"));
	CU_ASSERT_FALSE(harness_line("help nonsense").ok);
	CU_ASSERT_FALSE(harness_line("help malloc nonsense").ok);
}

