/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Marks, differences, sites of and since a moment: what is printed, given to scripts, and refused. */

#include "harness.h"
#include "unit.h"

/* Attached, and the mark `a` set; then one block is freed, one comes, of two sites. */
static void changed(void)
{
	struct session *session = harness_attached()->session;

	CU_ASSERT_STRING_EQUAL(harness_line("malloc mark a").out, "");
	fake_free(session, 0x2000);
	fake_block(session, 0x4000, 1000, LOG_STACK_NONE);
}

/* The line fails with one line that has `what`, and a hint. */
static bool refused(const char *line, const char *what, const char *hint)
{
	struct outcome outcome = harness_line(line);
	const char *lines = strstr(outcome.err, "mdbg: "), *hints = strstr(outcome.err, "\nhint: ");

	if (!outcome.ok && lines == outcome.err && !strstr(lines + 1, "\nmdbg: ") && !*outcome.out &&
	    strstr(lines, what) && hints && strstr(hints, hint))
		return true;
	fprintf(stderr, "    %s: %s%s\n", line, outcome.out, outcome.err);
	return false;
}

TEST("sets marks")
{
	harness_attached();
	CU_ASSERT_STRING_EQUAL(harness_line("malloc mark").out, "m1\n");
	CU_ASSERT_STRING_EQUAL(harness_value("mdbg::mark"), "m2");
	CU_ASSERT_STRING_EQUAL(harness_value("mdbg::mark before"), "before");
	CU_ASSERT_TRUE(refused("malloc mark before", "there is a mark 'before' already", "another"));
	CU_ASSERT_TRUE(refused("malloc mark peak", "is no name", "other moments"));
	CU_ASSERT_TRUE(refused("malloc mark {a b}", "is no name", "no blank"));
	CU_ASSERT_FALSE(harness_line("malloc mark a b").ok);
	CU_ASSERT_TRUE(harness_line("malloc mark -delete m1; mdbg::mark -delete m2").ok);
	CU_ASSERT_TRUE(refused("malloc mark -delete m1", "there is no mark 'm1'", "marks: before"));
	CU_ASSERT_STRING_EQUAL(harness_line("malloc mark").out, "m1\n");
	CU_ASSERT_STRING_EQUAL(harness_value("catch {mdbg::mark now}; lrange $errorCode 0 1"),
			       "MDBG USAGE");
}

TEST("prints differences")
{
	struct outcome outcome;

	changed();
	outcome = harness_line("malloc diff a");
	CU_ASSERT_TRUE(outcome.ok);
	CU_ASSERT_PTR_EQUAL(strstr(outcome.out, "Changes of the Allocation Sites of the Process:\n\n"
						"    from a ("), outcome.out);
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, " ago): 5124 bytes in 3 blocks\n"
						   "    to   now: 1124 bytes in 3 blocks\n\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "#1  -5000 bytes in -1 blocks\n"
						   "    in fake_load ("));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\n#2  +1000 bytes in +1 blocks\n"
						   "        (no stack)\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out,
				      "\n2 sites changed; grown 1000 bytes, shrunk 5000 bytes\n"));
	outcome = harness_line("malloc diff now a");
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "#1  +5000 bytes in +1 blocks\n"));
	outcome = harness_line("malloc diff a a");
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "0 sites changed; grown 0 bytes, shrunk 0 bytes\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("malloc diff now").out, "\n    to   now: 1124 bytes"));
	/* The first sample was the mark's, which is the highest so far. */
	outcome = harness_line("malloc diff peak now");
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "grown 1000 bytes, shrunk 5000 bytes\n"));
}

TEST("gives differences")
{
	changed();
	CU_ASSERT_STRING_EQUAL(harness_value("lmap d [mdbg::diff a] {lrange $d 0 3}"),
			       "{bytes -5000 count -1} {bytes 1000 count 1}");
	CU_ASSERT_STRING_EQUAL(harness_value("set n 0; mdbg::diff a now -each d {incr n "
					     "[dict get $d bytes]}; set n"), "-4000");
	CU_ASSERT_STRING_EQUAL(harness_value("mdbg::diff a a"), "");
}

TEST("shows sites since")
{
	struct outcome outcome;

	changed();
	outcome = harness_line("malloc sites since a");
	CU_ASSERT_TRUE(outcome.ok);
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "growth +1000 bytes in "));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "growth -5000 bytes in "));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\nGrowth is since a ("));
	CU_ASSERT_STRING_EQUAL(harness_value("lmap s [mdbg::sites by function sort growth since a] "
					     "{dict get $s growth}"), "1000 -5000");
	CU_ASSERT_STRING_EQUAL(harness_value("llength [mdbg::sites since a limit 1]"), "1");
	CU_ASSERT_STRING_EQUAL(harness_value("llength [mdbg::sites limit 1 since a sort count]"), "1");
}

TEST("shows sites at")
{
	struct outcome outcome;

	changed();
	outcome = harness_line("malloc sites at a");
	CU_ASSERT_TRUE(outcome.ok);
	CU_ASSERT_PTR_EQUAL(strstr(outcome.out, "Allocation Sites of the Process at a ("), outcome.out);
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "#1  5100 bytes in 2 blocks (99.5 %)\n"
						   "    in fake_load ("));
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out,
				      "\n2 sites listed; 3 allocations, 5124 bytes in all sites\n"));
	CU_ASSERT_PTR_NULL(strstr(outcome.out, "oldest"));
	CU_ASSERT_PTR_NULL(strstr(outcome.out, "all-time"));
	CU_ASSERT_PTR_NULL(strstr(outcome.out, "rowth"));
	CU_ASSERT_STRING_EQUAL(harness_value("set s [lindex [mdbg::sites by function at a] 0]; lmap k "
					     "{label bytes count total totalbytes freed oldest median "
					     "growth rate over function} {dict get $s $k}"),
			       "{function fake_load} 5100 2 - - - - - - - - fake_load");
	CU_ASSERT_STRING_EQUAL(harness_value("lmap s [mdbg::sites function == fake_load at peak] "
					     "{dict get $s bytes}"), "5100");
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("malloc sites at now").out, "oldest"));
	harness_value("mdbg::mark b");
	outcome = harness_line("malloc sites at b since a");
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.out, "\n    growth +1000 bytes in "));
}

TEST("refuses moments")
{
	changed();
	CU_ASSERT_TRUE(refused("malloc diff b", "there is no mark 'b'", "marks: a;"));
	CU_ASSERT_TRUE(refused("malloc sites since b", "there is no mark 'b'", "marks: a;"));
	CU_ASSERT_TRUE(refused("malloc sites at b", "there is no mark 'b'", "marks: a;"));
	CU_ASSERT_TRUE(refused("malloc diff -10x", "'-10x' is no moment", "-10m"));
	CU_ASSERT_TRUE(refused("malloc diff -10m", "-10m is before the history", "the history begins at 2"));
	CU_ASSERT_TRUE(refused("malloc diff -99999d", "is before the history", "the history begins at 2"));
	CU_ASSERT_TRUE(refused("malloc sites since now", "since now: this moment is not before now", "-10m"));
	CU_ASSERT_TRUE(refused("malloc sites at a since a", "this moment is not before a", "malloc diff"));
	CU_ASSERT_TRUE(refused("malloc sites since", "a moment goes after since", "usage"));
	CU_ASSERT_TRUE(refused("malloc sites since a since a", "since is there twice", "usage"));
	CU_ASSERT_TRUE(refused("malloc sites at a by function", "'by' is not expected", "usage"));
	CU_ASSERT_TRUE(refused("malloc sites by size at a", "size is not known for an earlier", "function"));
	CU_ASSERT_TRUE(refused("malloc sites by thread at a", "thread is not known", "function"));
	CU_ASSERT_TRUE(refused("malloc sites age > 1s at a", "age is not known", "function"));
	CU_ASSERT_TRUE(refused("malloc sites sort age at a", "age is not known", "function"));
	CU_ASSERT_FALSE(harness_line("malloc diff").ok);
	CU_ASSERT_TRUE(harness_line("malloc reset").ok);
	CU_ASSERT_TRUE(refused("malloc diff a", "'a' is from before `malloc reset`", "malloc mark a"));
	CU_ASSERT_TRUE(refused("malloc diff b", "there is no mark 'b'", "malloc mark NAME"));
	CU_ASSERT_TRUE(harness_line("malloc mark a; malloc diff a").ok);
	/* Nothing of all this is there without a process. */
	harness_shell();
	CU_ASSERT_TRUE(refused("malloc diff a", "no process", "attach PID"));
	CU_ASSERT_TRUE(refused("malloc mark a", "no process", "attach PID"));
	CU_ASSERT_TRUE(refused("malloc sites at a", "no process", "attach PID"));
	CU_ASSERT_TRUE(refused("mdbg::history", "no process", "attach PID"));
}

/* Another process has marks of its own. */
TEST("forgets with the log")
{
	changed();
	harness_attached();
	CU_ASSERT_TRUE(refused("malloc diff a", "there is no mark 'a'", "malloc mark NAME"));
}

/* The beginning, which nobody has looked at, then an answer's sample; a gap, then another. */
TEST("gives the history")
{
	harness_attached();
	CU_ASSERT_STRING_EQUAL(harness_value("lmap s [mdbg::history] {lrange $s 2 5}"),
			       "{bytes 0 count 0}");
	harness_line("malloc sites");
	harness_line("malloc off");
	harness_line("malloc sites");
	CU_ASSERT_STRING_EQUAL(harness_value("llength [mdbg::history]"), "2");
	harness_line("malloc on");
	fake_free(fake_session(), 0x2000);
	harness_line("malloc sites");
	CU_ASSERT_STRING_EQUAL(harness_value("lmap s [mdbg::history] {list [dict get $s bytes] "
					     "[dict get $s count] [dict get $s gap] "
					     "[expr {[dict get $s rss] > 0}]}"),
			       "{0 0 0 1} {5124 3 0 1} {124 2 1 1}");
	CU_ASSERT_STRING_EQUAL(harness_value("set t [lmap s [mdbg::history] {dict get $s time}]; "
					     "expr {$t eq [lsort -real $t]}"), "1");
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("malloc diff peak").out, "\nRecording was off for "));
	CU_ASSERT_PTR_NULL(strstr(harness_line("malloc diff -0s").out, "Recording was off"));
}

TEST("says what history costs")
{
	const char *out;

	harness_attached();
	harness_line("malloc mark");
	out = harness_line("malloc -v").out;
	CU_ASSERT_PTR_NOT_NULL(strstr(out, "\nHistory (samples of the sites):\n\n    interval"));
	CU_ASSERT_PTR_NOT_NULL(strstr(out, "    samples.......................... 2\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(out, "    marks............................ 1\n"));
	CU_ASSERT_PTR_NULL(strstr(harness_line("malloc").out, "History"));
	CU_ASSERT_STRING_EQUAL(harness_value("set m [mdbg::malloc]; lmap k {interval samples marks} "
					     "{dict get $m $k}"), "0.0 2 1");
	CU_ASSERT_STRING_EQUAL(harness_value("expr {[dict get $m samplebytes] > [dict get $m markbytes] "
					     "&& [dict get $m markbytes] > 0}"), "1");
}

