/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines and scripts: output, redirection, errors, ways out. */

#include <fcntl.h>

#include "harness.h"
#include "unit.h"

static char folder[] = "/tmp/mdbg-test-XXXXXX";

static int make_folder(void)
{
	harness_shell();
	return !mkdtemp(folder) || chdir(folder);
}

static int remove_folder(void)
{
	unlink("out");
	return chdir("/") || rmdir(folder);
}

FIXTURE(make_folder, remove_folder);

static const char *contents(const char *name)
{
	static char text[4096];
	int fd = open(name, O_RDONLY);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	close(fd);
	text[len < 0 ? 0 : len] = '\0';
	return text;
}

TEST("keeps output in order")
{
	struct outcome outcome;

	harness_shell();
	outcome = harness_line("puts -nonewline a; status; puts b; sh echo c; status; puts d");
	CU_ASSERT_TRUE(outcome.ok);
	CU_ASSERT_STRING_EQUAL(outcome.out, "aNo process.\nb\nc\nNo process.\nd\n");
	CU_ASSERT_STRING_EQUAL(outcome.err, "");
}

TEST("redirects lines")
{
	struct outcome outcome;

	harness_shell();
	CU_ASSERT_TRUE(harness_line("puts a; status > out").ok);
	CU_ASSERT_STRING_EQUAL(contents("out"), "a\nNo process.\n");
	CU_ASSERT_TRUE(harness_line("set name out").ok);
	CU_ASSERT_TRUE(harness_line("puts b >> $name").ok);
	CU_ASSERT_STRING_EQUAL(contents("out"), "a\nNo process.\nb\n");
	outcome = harness_line("foreach i {1 2 3} {puts $i} | tail -n 2 | tac");
	CU_ASSERT_TRUE(outcome.ok);
	CU_ASSERT_STRING_EQUAL(outcome.out, "3\n2\n");
	CU_ASSERT_STRING_EQUAL(harness_line("puts last").out, "last\n");
}

TEST("redirects in scripts")
{
	struct outcome outcome;

	harness_attached();
	outcome = harness_script(
		"status > out\nputs x\nmalloc allocations size > 4K > out\nstatus | head -c 7\n");
	CU_ASSERT_TRUE(outcome.ok);
	CU_ASSERT_PTR_NOT_NULL(strstr(contents("out"), "\n1 allocations, 5000 bytes;"));
	outcome = harness_script("malloc | {tr a-z A-Z | head -n 1}\n");
	CU_ASSERT_STRING_EQUAL(outcome.out, "THE FOLLOWING OPTIONS ARE ENABLED:\n");
	CU_ASSERT_TRUE(harness_script("source nothing > out\n").err[0] != '\0');
}

TEST("reports what cannot be written")
{
	struct outcome outcome;

	harness_attached();
	outcome = harness_line("malloc > /dev/full");
	CU_ASSERT_FALSE(outcome.ok);
	CU_ASSERT_STRING_EQUAL(outcome.err, "mdbg: write to /dev/full: No space left on device\n");
	outcome = harness_line("puts x > /dev/full");
	CU_ASSERT_STRING_EQUAL(outcome.err, "mdbg: write to /dev/full: No space left on device\n");
	outcome = harness_line("malloc > /no/such/file");
	CU_ASSERT_STRING_EQUAL(outcome.err,
			       "mdbg: open /no/such/file: No such file or directory\n");
	CU_ASSERT_TRUE(harness_line("catch {malloc > /no/such/file}").ok);
	CU_ASSERT_FALSE(harness_line("malloc | no-such-program-at-all").ok);
	CU_ASSERT_STRING_EQUAL(harness_line("puts still").out, "still\n");
}

TEST("lets a reader leave")
{
	struct outcome outcome;

	harness_shell();
	outcome = harness_line("for {set i 0} {$i < 100000} {incr i} {puts $i} | head -n 1");
	CU_ASSERT_TRUE(outcome.ok);
	CU_ASSERT_STRING_EQUAL(outcome.out, "0\n");
	CU_ASSERT_STRING_EQUAL(outcome.err, "");
}

TEST("reports errors once")
{
	struct outcome outcome;

	harness_shell();
	outcome = harness_line("nonsense");
	CU_ASSERT_STRING_EQUAL(
		outcome.err,
		"mdbg: invalid command name \"nonsense\"\nhint: `help` lists the commands\n");
	CU_ASSERT_TRUE(harness_shell()->failed == false);
	outcome = harness_line("malloc");
	CU_ASSERT_STRING_EQUAL(outcome.err,
			       "mdbg: malloc: no process: nothing is recorded\nhint: attach PID\n");
	outcome = harness_line("attach 1");
	CU_ASSERT_STRING_EQUAL(outcome.err,
			       "mdbg: attach 1: no such process\nhint: try the fake's own\n");
	outcome = harness_line("attach x");
	CU_ASSERT_STRING_EQUAL(outcome.err,
			       "mdbg: attach: no process has the name 'x'\n"
			       "hint: `ps -e` lists the processes with their ids and names\n");
	outcome = harness_line("attach 0");
	CU_ASSERT_STRING_EQUAL(outcome.err, "mdbg: attach: '0' is no process id\n"
					    "hint: usage: attach PID|NAME\n");
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("malloc o").err, "ambiguous subcommand 'o'"));
	outcome = harness_line("malloc losses");
	CU_ASSERT_PTR_NOT_NULL(
		strstr(outcome.err, "unknown subcommand 'losses'\nhint: there are allocations"));
	outcome = harness_script("set a 1\n\nmalloc\n");
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.err, ":3: malloc: no process"));
	CU_ASSERT_FALSE(harness_line("break").ok);
	CU_ASSERT_STRING_EQUAL(harness_value("catch {attach 1} m o; dict get $o -errorcode"),
			       "MDBG ATTACH {try the fake's own}");
	CU_ASSERT_STRING_EQUAL(harness_value("try {attach 1} trap {MDBG ATTACH} {m} {set m}"),
			       "attach 1: no such process");
}

TEST("leaves by exit and quit")
{
	harness_shell();
	CU_ASSERT_EQUAL(harness_left("exit 7"), 7);
	CU_ASSERT_EQUAL(harness_left("catch {exit}"), 0);
	CU_ASSERT_EQUAL(harness_left("exit x"), HARNESS_STAYED);
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("exit 256").err, "'256' is no number from 0 to 255"));
	CU_ASSERT_FALSE(harness_line("exit 99999999999999999999").ok);
	harness_shell();
	CU_ASSERT_EQUAL(harness_left("quit"), 0);
	CU_ASSERT_FALSE(harness_line("nonsense").ok);
	CU_ASSERT_EQUAL(harness_left("q"), 1);
}

TEST("ends by Ctrl-C what catches all")
{
	struct outcome outcome;

	harness_shell();
	outcome = harness_line("while 1 {catch {sh kill -INT [pid]; after 1}}");
	CU_ASSERT_FALSE(outcome.ok);
	CU_ASSERT_STRING_EQUAL(outcome.err, "mdbg: interrupted\n");
	outcome = harness_line(
		"proc f {} {while 1 {try {exec kill -INT [pid]; wait 60} finally {set x 1}}}; f");
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.err, "interrupted\n"));
	CU_ASSERT_STRING_EQUAL(harness_line("puts fine").out, "fine\n");
	outcome = harness_line("after 1 {exec kill -INT [pid]}; catch {vwait forever}; puts no");
	CU_ASSERT_STRING_EQUAL(outcome.err, "mdbg: interrupted\n");
	CU_ASSERT_STRING_EQUAL(outcome.out, "");
	CU_ASSERT_FALSE(harness_line("sh kill -INT $PPID; exit 3").ok);
	CU_ASSERT_STRING_EQUAL(harness_line("puts fine").out, "fine\n");
}

TEST("has aliases")
{
	harness_shell();
	CU_ASSERT_STRING_EQUAL(harness_line("st").out, "No process.\n");
	CU_ASSERT_TRUE(harness_line("alias hi {puts {hello there}}").ok);
	CU_ASSERT_STRING_EQUAL(harness_line("hi").out, "hello there\n");
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("alias").out, "hi     puts {hello there}\n"));
	CU_ASSERT_STRING_EQUAL(harness_line("alias hi").out, "puts {hello there}\n");
	CU_ASSERT_TRUE(harness_line("alias hi {}").ok);
	CU_ASSERT_FALSE(harness_line("hi").ok);
	CU_ASSERT_FALSE(harness_line("alias puts status").ok);
}

TEST("keeps Tcl's own commands")
{
	harness_shell();
	CU_ASSERT_STRING_EQUAL(
		harness_value("proc f {a} {set color 5; return [expr {$a + $color}]}; f 2"), "7");
	CU_ASSERT_STRING_EQUAL(harness_line("proc > out").out, "");
	CU_ASSERT_STRING_EQUAL(harness_value("set op >; set op"), ">");
}

static bool hints(const char *line, const char *hint)
{
	return strstr(harness_line(line).err, hint) != NULL;
}

TEST("hints at what other debuggers' commands are here")
{
	harness_shell();
	CU_ASSERT_TRUE(hints("info threads", "hint: `thread` lists the threads\n"));
	CU_ASSERT_TRUE(hints("info sharedlibrary", "hint: `map` lists"));
	CU_ASSERT_TRUE(hints("backtrace full", "hint: `where` prints the stack\n"));
	CU_ASSERT_TRUE(hints("ptype counter", "hint: `whatis EXPR` names the type"));
	CU_ASSERT_TRUE(hints("assign x = 1", "hint: mdbg does not change"));
	CU_ASSERT_TRUE(hints("break main", "hint: mdbg has no breakpoints"));
	CU_ASSERT_TRUE(hints("b main", "hint: mdbg has no breakpoints"));
	CU_ASSERT_TRUE(hints("continue", "hint: `cont` lets"));
	CU_ASSERT_TRUE(hints("::findleaks", "hint: `malloc leaks` finds them\n"));
	CU_ASSERT_TRUE(hints("!ls -l", "hint: `sh COMMAND` runs a shell command\n"));
	CU_ASSERT_TRUE(hints("!!", "hint: `history` lists earlier lines"));
	CU_ASSERT_TRUE(hints("thread apply all bt", "hint: `where all` prints"));
	/* A mistake in what mdbg or Tcl has is told as before. */
	CU_ASSERT_FALSE(hints("info exists", "`thread`"));
	CU_ASSERT_TRUE(hints("thread 1 2", "hint: usage: thread"));
}

TEST("hints at names")
{
	harness_shell();
	CU_ASSERT_TRUE(hints("maloc", "hint: near it: malloc; `help` lists the commands\n"));
	CU_ASSERT_TRUE(hints("whre", "hint: near it: where; "));
	CU_ASSERT_TRUE(hints("xyz", "hint: `help` lists"));
	CU_ASSERT_TRUE(hints("set nosuch", "hint: `set` lists the settings\n"));
	CU_ASSERT_TRUE(hints("set stack_dept", "hint: near it: stack-depth; `set` lists the settings\n"));
	CU_ASSERT_TRUE(hints("set follow", "hint: near it: follow-exec, follow-fork; "));
	/* A variable of somebody's own. */
	CU_ASSERT_FALSE(hints("puts $pagerr", "hint: "));
}

TEST("warns of slips")
{
	struct outcome outcome;
	struct shell *shell = harness_shell();
	uint32_t depth = session_config(shell->session)->stack_depth;

	outcome = harness_line("puts a; set stack_depth 8; puts b");
	CU_ASSERT_TRUE(outcome.ok && !shell->failed);
	CU_ASSERT_STRING_EQUAL(outcome.out, "a\nb\n");
	CU_ASSERT_STRING_EQUAL(outcome.err,
			       "mdbg: set: stack_depth is no setting, but a new variable\n"
			       "hint: near it: stack-depth; `set` lists the settings\n");
	CU_ASSERT_EQUAL(session_config(shell->session)->stack_depth, depth);
	/* A variable that is there is meant. */
	CU_ASSERT_STRING_EQUAL(harness_line("set stack_depth 9").err, "");
	CU_ASSERT_STRING_EQUAL(harness_value("set stack_depth"), "9");
	CU_ASSERT_TRUE(hints("set StackDepth 8 > out", "near it: stack-depth; "));
	CU_ASSERT_TRUE(hints("set log-limt 8M", "near it: log-limit; "));
	CU_ASSERT_TRUE(hints("set {debug_path} x", "near it: debug-path; "));
	/* Variables, although near in their letters; what has no plain name; scripts. */
	CU_ASSERT_STRING_EQUAL(harness_line("set simple 1; set page 2; set loglimits 3").err, "");
	CU_ASSERT_STRING_EQUAL(harness_line("set x free; set ${x}_history 1; set [set x] 1").err, "");
	CU_ASSERT_STRING_EQUAL(harness_script("set follow_fork 1\n").err, "");
	CU_ASSERT_STRING_EQUAL(harness_line("proc f {} {set leaks_at_end 1}; f").err, "");
	/* What is no command to its end is Tcl's to complain of. */
	CU_ASSERT_EQUAL(harness_line("set free_history {1").ok, false);
}

TEST("sets")
{
	struct shell *shell = harness_shell();
	const char *list;

	CU_ASSERT_TRUE(harness_line("set pager off; set stack-depth 7; set log-limit 64M; set "
				    "engine breakpoint")
			       .ok);
	CU_ASSERT_FALSE(shell->pager);
	CU_ASSERT_EQUAL(session_config(shell->session)->stack_depth, 7);
	CU_ASSERT_EQUAL(session_config(shell->session)->log_limit, 64 << 20);
	CU_ASSERT_EQUAL(session_config(shell->session)->engine, SESSION_ENGINE_BREAKPOINT);
	CU_ASSERT_STRING_EQUAL(harness_value("set log-limit"), "64M");
	CU_ASSERT_STRING_EQUAL(harness_line("set pager maybe").err,
			       "mdbg: can't set \"pager\": 'maybe' is not one of off, on\n");
	CU_ASSERT_STRING_EQUAL(harness_value("set pager"), "off");
	CU_ASSERT_FALSE(harness_line("set stack-depth 129").ok);
	CU_ASSERT_FALSE(harness_line("set log-limit 1K").ok);
	CU_ASSERT_STRING_EQUAL(harness_line("set log-limit 5T").err,
			       "mdbg: can't set \"log-limit\": 5T is more than 2T\n");
	CU_ASSERT_STRING_EQUAL(harness_value("set free-history"), "0");
	CU_ASSERT_STRING_EQUAL(harness_value("set free-history 4096; set free-history"), "4096");
	CU_ASSERT_FALSE(harness_line("set free-history 65537").ok);
	CU_ASSERT_FALSE(harness_line("set free-history -1").ok);
	CU_ASSERT_STRING_EQUAL(harness_line("set free-history many").err,
			       "mdbg: can't set \"free-history\": 'many' is not a number from 0 (none is "
			       "remembered) to 65536\n");
	CU_ASSERT_STRING_EQUAL(harness_value("set free-history"), "4096");
	CU_ASSERT_STRING_EQUAL(harness_value("set max-pause none; set max-pause"), "none");
	CU_ASSERT_EQUAL(session_config(shell->session)->max_pause_ns, 0);
	CU_ASSERT_STRING_EQUAL(harness_value("set max-pause 1500ms; set max-pause"), "1500ms");
	CU_ASSERT_EQUAL(session_config(shell->session)->max_pause_ns, 1500000000);
	CU_ASSERT_STRING_EQUAL(harness_value("set max-pause 0.25; set max-pause"), "250ms");
	CU_ASSERT_STRING_EQUAL(harness_value("set max-pause 120; set max-pause"), "2m");
	CU_ASSERT_STRING_EQUAL(harness_line("set max-pause 0").err,
			       "mdbg: can't set \"max-pause\": '0' is no time; or none\n");
	CU_ASSERT_FALSE(harness_line("set max-pause long").ok);
	CU_ASSERT_STRING_EQUAL(harness_value("set max-pause"), "2m");
	CU_ASSERT_STRING_EQUAL(harness_value("set names"), "short");
	CU_ASSERT_STRING_EQUAL(harness_value("set names full; set names"), "full");
	CU_ASSERT_STRING_EQUAL(harness_line("set names long").err,
			       "mdbg: can't set \"names\": 'long' is not one of short, full\n");
	CU_ASSERT_STRING_EQUAL(harness_value("set names short; set names"), "short");
	CU_ASSERT_STRING_EQUAL(harness_value("lindex [set skip a* {b c} d; set skip] 1"), "b c");
	CU_ASSERT_STRING_EQUAL(harness_value("lappend skip e; set skip"), "a* {b c} d e");
	CU_ASSERT_STRING_EQUAL(harness_value("expr {[llength [set skip x default]] > 20}"), "0");
	CU_ASSERT_STRING_EQUAL(harness_value("expr {[llength $skip] > 20 && \"default\" ni $skip}"), "1");
	CU_ASSERT_STRING_EQUAL(harness_value("lindex $skip 0"), "x");
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("set").out, "\nskip "));
	CU_ASSERT_STRING_EQUAL(harness_value("set skip {}; set skip"), "");
	CU_ASSERT_FALSE(harness_line("set pager on off").ok);
	CU_ASSERT_TRUE(harness_line("set skip default").ok);
	CU_ASSERT_STRING_EQUAL(harness_value("unset pager; set pager"), "off");
	CU_ASSERT_STRING_EQUAL(harness_value("set pager on; set pager"), "on");
	list = harness_line("set").out;
	CU_ASSERT_PTR_NOT_NULL(strstr(list, "stack-depth      7 "));
	/* In order of names, after the titles. */
	for (const char *line = strchr(list, '\n') + 1, *next; *line; line = next) {
		next = strchr(line, '\n') + 1;
		CU_ASSERT_TRUE(!*next || strncmp(line, next, strcspn(line, " ") + 1) < 0);
	}
}

/* The prompt does not look at the target's modules after a line that asks for no names. */
TEST("asks for names only where it needs them")
{
	struct shell *shell = harness_attached();

	shell->interactive = true;
	CU_ASSERT_TRUE(harness_line("puts x").ok);
	CU_ASSERT_EQUAL(fake_asked(shell->session)->named, 0);
	CU_ASSERT_TRUE(harness_line("malloc allocations").ok);
	CU_ASSERT_NOT_EQUAL(fake_asked(shell->session)->named, 0);
	shell->interactive = false;
	harness_shell();
}

