/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `-each VAR BODY`. */

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "harness.h"
#include "unit.h"

TEST("gives what the list has")
{
	static const char *const commands[] = {
		"mdbg::allocations", "mdbg::allocations size > 50 sort size limit 1",
		"mdbg::allocations function == -each", "mdbg::sites", "mdbg::sites by function",
		"mdbg::sites by size limit 2", "mdbg::leaks all -stop", "mdbg::leaks reachable",
		"mdbg::stale 0s",
	};
	char script[512];

	harness_attached();
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		/* Ages are of the moment of the command. */
		snprintf(script, sizeof(script),
			 "proc plain {d} {dict remove $d age time oldest median growth rate callrate};"
			 "set got {}; set r [%s -each b {lappend got [plain $b]}];"
			 "list $r [expr {$got eq [lmap b [%s] {plain $b}]}]", commands[i], commands[i]);
		CU_ASSERT_STRING_EQUAL(harness_value(script), "{} 1");
	}
	CU_ASSERT_STRING_EQUAL(harness_value("set n 0; mdbg::allocations -each b {incr n}; set n"), "3");
	CU_ASSERT_STRING_EQUAL(harness_value("dict get $b address"), "0x3000");
	CU_ASSERT_STRING_EQUAL(harness_value("catch {mdbg::freespace -each c {}}; "
					     "lrange $errorCode 0 1"), "MDBG UNSUPPORTED");
}

TEST("goes on as foreach")
{
	harness_attached();
	CU_ASSERT_STRING_EQUAL(
		harness_value("set seen {}; mdbg::allocations -each b {set s [dict get $b size]; "
			      "if {$s == 100} continue; lappend seen $s; if {$s == 5000} break}; set seen"),
		"5000");
	CU_ASSERT_STRING_EQUAL(
		harness_value("proc first {} {mdbg::allocations -each b {return [dict get $b size]}; "
			      "return none}; list [first] [info exists ::none]"), "100 0");
	CU_ASSERT_STRING_EQUAL(harness_value("mdbg::allocations -each b {break}"), "");
	CU_ASSERT_STRING_EQUAL(harness_value("catch {mdbg::allocations -each b {return -code 7 x}} r; set r"),
			       "x");
	CU_ASSERT_STRING_EQUAL(harness_value("proc seven {} {mdbg::allocations -each b {return -code 7 x}};"
					     "list [catch seven r] $r"), "7 x");
	CU_ASSERT_STRING_EQUAL(harness_value("proc mine {} {mdbg::allocations -each mine {}; "
					     "dict get $mine size}; list [mine] [info exists mine]"),
			       "24 0");
	CU_ASSERT_STRING_EQUAL(harness_value("set n 0; mdbg::allocations -each a {mdbg::sites -each a "
					     "{incr n; unset a}}; list $n [info exists a]"), "6 0");
	/* What BODY keeps is its own. */
	CU_ASSERT_STRING_EQUAL(harness_value("set all {}; mdbg::allocations -each b {lappend all $b; dict "
					     "set b size 0}; lmap b $all {dict get $b size}"),
			       "100 5000 24");
}

TEST("says where a body failed")
{
	harness_attached();
	CU_ASSERT_STRING_EQUAL(harness_value("set n 0; list [catch {mdbg::allocations -each b {\n"
					     "incr n\nerror oops {} {A B}}} m] $m $n $errorCode"),
			       "1 oops 1 {A B}");
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_value("set errorInfo"),
				      "\n    (\"mdbg::allocations\" body line 3)\n    invoked from within\n"
				      "\"mdbg::allocations -each b "));
	CU_ASSERT_STRING_EQUAL(harness_value("catch {mdbg::sites -each b nonsense}; lindex [split "
					     "$errorInfo \\n] 3"), "    (\"mdbg::sites\" body line 1)");
	CU_ASSERT_STRING_EQUAL(harness_value("array set full {a 1}; set n 0; list [catch "
					     "{mdbg::allocations -each full {incr n}} m] $m $n"),
			       "1 {can't set \"full\": variable is array} 0");
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_value("set errorInfo"),
				      "\n    (setting mdbg::allocations loop variable \"full\")\n"));
	CU_ASSERT_STRING_EQUAL(harness_line("mdbg::allocations -each b {error oops}").err,
			       "mdbg: oops\n");
}

TEST("is not disturbed")
{
	harness_attached();
	CU_ASSERT_STRING_EQUAL(
		harness_value("set seen {}; mdbg::allocations -each b {lappend seen [dict get $b size] "
			      "[mdbg::pid]; catch mdbg::detach}; expr {$seen eq [list 100 [pid] 5000 0 24 0]}"),
		"1");
	harness_attached();
	CU_ASSERT_STRING_EQUAL(
		harness_value("set seen {}; mdbg::sites by function -each s {lappend seen [dict get $s label]; "
			      "catch mdbg::detach; catch {mdbg::attach [pid]}}; lindex $seen 0"),
		"function fake_load");
	harness_attached();
	CU_ASSERT_STRING_EQUAL(
		harness_value("set n 0; mdbg::leaks all -each l {incr n; mdbg::detach; mdbg::attach [pid]; "
			      "set suppressions {}}; set n"), "2");
	harness_attached();
	CU_ASSERT_STRING_EQUAL(harness_value("set n 0; mdbg::allocations -each b {incr n; malloc reset}; "
					     "set n"), "3");
	harness_attached();
	CU_ASSERT_STRING_EQUAL(
		harness_value("set n 0; mdbg::allocations -each b {incr n; catch {rename mdbg::allocations "
			      "other; rename other mdbg::allocations}}; set n"), "3");
	CU_ASSERT_STRING_EQUAL(
		harness_value("interp alias {} copied {} mdbg::allocations; set n 0; copied -each b {incr n; "
			      "catch {rename copied {}}}; set n"), "3");
	CU_ASSERT_STRING_EQUAL(harness_value("proc deep {} {mdbg::allocations -each b deep}; catch deep m; "
					     "string range $m 0 23"), "too many nested evaluati");
}

/* -about tells of the search; -each goes behind it. */
TEST("tells of the search")
{
	harness_attached();
	CU_ASSERT_STRING_EQUAL(
		harness_value("set n 0; mdbg::leaks all -stop -about is -each l {incr n}; "
			      "list $n [lsort [dict keys $is]]"),
		"2 {absent blind blocks damages elsewhere hidden inuse inusecount lost lostcount roots snapshot stood "
		"uncertain underway unknown unknowncount unread walked}");
	CU_ASSERT_STRING_EQUAL(
		harness_value("mdbg::stale 0s -about old; list [dict get $old absent] [dict get $is elsewhere] "
			      "[dict get $old walked]"), "0 0 0");
	CU_ASSERT_STRING_EQUAL(
		harness_value("array set taken {a 1}; list [catch {mdbg::leaks -about taken} m] $m"),
		"1 {can't set \"taken\": variable is array}");
}

TEST("ends by Ctrl-C")
{
	struct outcome outcome;

	harness_attached();
	outcome = harness_line("set n 0; mdbg::allocations -each b {incr n; catch {exec kill -INT [pid]}}");
	CU_ASSERT_FALSE(outcome.ok);
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.err, "interrupted\n"));
	CU_ASSERT_STRING_EQUAL(harness_value("set n"), "1");
	CU_ASSERT_STRING_EQUAL(harness_line("mdbg::allocations -each b {incr n}; puts $n").out, "4\n");
}

/* While BODY runs the terminal is BODY's, and the command has done its part. */
TEST("shows no progress of a body")
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave, saved = dup(STDERR_FILENO);
	struct pollfd drawn = { .fd = terminal, .events = POLLIN };

	harness_attached();
	CU_ASSERT_FATAL(terminal >= 0 && saved >= 0 && !grantpt(terminal) && !unlockpt(terminal));
	slave = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
	CU_ASSERT_FATAL(slave >= 0);
	dup2(slave, STDERR_FILENO);
	harness_value("mdbg::allocations -each b {after 1200; break}");
	dup2(saved, STDERR_FILENO);
	CU_ASSERT_EQUAL(poll(&drawn, 1, 0), 0);
	close(slave);
	close(saved);
	close(terminal);
}

TEST("refuses")
{
	static const struct {
		const char *line, *why, *hint;
	} wrong[] = {
		{ "mdbg::allocations -each", "VAR and BODY go after -each", "usage: mdbg::allocations ?FIL" },
		{ "mdbg::sites by size -each b", "VAR and BODY go after -each", "usage: mdbg::sites ?all? ?by" },
		{ "mdbg::leaks -each b {set hit 1} -each c {set hit 1}", "-each is there twice", "usage: " },
		{ "mdbg::allocations -each b {set hit 1} size > 4K",
		  "-each VAR BODY are the last words: 'size' is behind them", "usage: " },
		{ "mdbg::leaks -about", "VAR goes after -about", "usage: mdbg::leaks " },
		{ "mdbg::stale -about a 1s", "-about VAR are the last words, but for -each", "usage: " },
		{ "mdbg::freespace -eahc b {set hit 1}", "'-eahc' is no option", "near it: -each VAR BODY" },
		{ "mdbg::allocations size > 4K -Each b {set hit 1}", "'-Each' is no option", "near it: " },
		{ "mdbg::stale 0s -eac b {set hit 1}", "'-eac' is no option", "near it: -each VAR BODY" },
		{ "mdbg::stale -each b {set hit 1}", "too few words", "usage: mdbg::stale AGE ?FILTER? ?sort KEY ?up?? ?limit N? ?-about VAR? ?-each" },
		{ "mdbg::sites wrong -each b {set hit 1}", "'wrong' is not expected here",
		  "usage: mdbg::sites ?all? ?by stack" },
		{ "malloc allocations -each b {set hit 1}", "'-each' is not expected here",
		  "usage: malloc allocations ?FILTER?" },
	};

	harness_attached();
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct outcome outcome = harness_line(wrong[i].line);

		CU_ASSERT_FALSE(outcome.ok);
		CU_ASSERT_PTR_NOT_NULL(strstr(outcome.err, wrong[i].why));
		CU_ASSERT_PTR_NOT_NULL(strstr(outcome.err, "\nhint: "));
		CU_ASSERT_PTR_NOT_NULL(strstr(outcome.err, wrong[i].hint));
	}
	CU_ASSERT_STRING_EQUAL(harness_value("info exists hit"), "0");
	CU_ASSERT_STRING_EQUAL(harness_value("catch {mdbg::sites -each}; lrange $errorCode 0 1"),
			       "MDBG USAGE");
	harness_shell();
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("mdbg::freespace -each b {}").err, ": no process"));
}

