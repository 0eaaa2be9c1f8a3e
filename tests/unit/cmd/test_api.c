/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mdbg::… as Tcl values, events and completion. */

#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/shell/complete_line.h"
#include "cmd/shell/prompt.h"
#include "cmd/shell/shell.h"
#include "harness.h"
#include "unit.h"
#include "unwind/walk.h"

TEST("gives figures")
{
	harness_attached();
	CU_ASSERT_STRING_EQUAL(harness_value("dict get [mdbg::malloc] bytes"), "5124");
	CU_ASSERT_STRING_EQUAL(harness_value("dict get [mdbg::malloc] active"), "3");
	CU_ASSERT_STRING_EQUAL(harness_value("expr {[mdbg::pid] == [pid]}"), "1");
	CU_ASSERT_STRING_EQUAL(harness_value("mdbg::detach; mdbg::pid"), "0");
	CU_ASSERT_STRING_EQUAL(harness_value("catch mdbg::detach; lrange $errorCode 0 1"),
			       "MDBG STATE");
}

TEST("gives allocations")
{
	harness_attached();
	CU_ASSERT_STRING_EQUAL(harness_value("llength [mdbg::allocations]"), "3");
	CU_ASSERT_STRING_EQUAL(
		harness_value("set b [lindex [mdbg::allocations size > 4K] 0]; dict keys $b"),
		"address size heap pid thread pthread time age seq preattach stack usable type");
	CU_ASSERT_STRING_EQUAL(harness_value("dict get $b type"), "-");
	CU_ASSERT_STRING_EQUAL(harness_value("dict get [lindex [mdbg::allocations -v] 0] type"), "?");
	CU_ASSERT_STRING_EQUAL(harness_value("llength [mdbg::allocations type == zeros]"), "0");
	CU_ASSERT_STRING_EQUAL(harness_value("llength [mdbg::allocations type != zeros]"), "3");
	CU_ASSERT_STRING_EQUAL(
		harness_value("list [dict get $b address] [dict get $b size] [dict get $b heap] "
			      "[dict get $b pthread] [dict get $b preattach]"),
		"0x2000 5000 - 0x7f0000001000 0");
	CU_ASSERT_STRING_EQUAL(harness_value("expr {abs([clock seconds] - [dict get $b time]) < 5 "
					     "&& [dict get $b age] < 5}"),
			       "1");
	CU_ASSERT_STRING_EQUAL(
		harness_value("lmap f [mdbg::frames [dict get $b stack]] {dict get $f function}"),
		"malloc fake_load fake_main");
	CU_ASSERT_STRING_EQUAL(
		harness_value("dict keys [lindex [mdbg::frames [dict get $b stack]] 1]"),
		"pc function offset module file line inline full place");
	CU_ASSERT_STRING_EQUAL(
		harness_value("lmap f [mdbg::frames [dict get $b stack]] {dict get $f full}"),
		"malloc fake_load fake_main");
	CU_ASSERT_STRING_EQUAL(harness_value("mdbg::frames 0"), "");
	CU_ASSERT_STRING_EQUAL(harness_value("mdbg::frames 123456"), "");
	CU_ASSERT_STRING_EQUAL(harness_value("mdbg::frames {}"), "");
	CU_ASSERT_STRING_EQUAL(harness_value("catch {mdbg::frames x}"), "1");
}

/* Without a process, too. The first answer has no changes: there is nothing to compare with. */
TEST("gives the machine")
{
	harness_shell();
	CU_ASSERT_STRING_EQUAL(
		harness_value("set first [mdbg::memory_system limit 0]; expr {[dict get $first "
			      "total] > [dict get $first free] && [dict get $first free] > 0}"),
		"1");
	CU_ASSERT_STRING_EQUAL(
		harness_value("list [dict get $first interval] [dict get $first change free] "
			      "[dict get $first rate faults] [dict get $first processes]"),
		"0.0 - - {}");
	CU_ASSERT_STRING_EQUAL(
		harness_value("set is [mdbg::memory_system limit 2]; expr {[dict get $is interval] "
			      "> 0 && [string is wide -strict [dict get $is change free]] && "
			      "[dict get $is rate faults] >= 0}"),
		"1");
	CU_ASSERT_STRING_EQUAL(harness_value("dict keys [lindex [dict get $is processes] 0]"),
			       "pid name resident private pss change");
	CU_ASSERT_STRING_EQUAL(harness_value("llength [dict get $is processes]"), "2");
	CU_ASSERT_STRING_EQUAL(harness_value("list [dict get $is groups] [dict get $is nearest]"),
			       "{} {}");
	CU_ASSERT_STRING_EQUAL(harness_value("catch {mdbg::memory_system limit -1}; set errorCode"),
			       "MDBG USAGE {usage: mdbg::memory_system ?-children|-group? ?limit N? ?at MOMENT?}");
}

TEST("gives probes")
{
	harness_attached();
	CU_ASSERT_STRING_EQUAL(harness_value("llength [mdbg::probes]"), "2");
	CU_ASSERT_STRING_EQUAL(harness_value("set p [lindex [mdbg::probes] 0]; dict keys $p"),
			       "function symbol module address patch engine why user");
	CU_ASSERT_STRING_EQUAL(harness_value("list [dict get $p function] [dict get $p engine]"),
			       "malloc breakpoint");
	CU_ASSERT_STRING_EQUAL(harness_value("dict get [lindex [mdbg::probes] 1] engine"), "none");
}

TEST("gives sites")
{
	harness_attached();
	CU_ASSERT_STRING_EQUAL(harness_value("set s [lindex [mdbg::sites limit 1] 0]; list [dict "
					     "get $s bytes] [dict get $s count] "
					     "[dict get $s total] [dict get $s freed] "
					     "[dict get $s freedbytes]"),
			       "5100 2 2 0 0");
	CU_ASSERT_STRING_EQUAL(harness_value("dict get [lindex [mdbg::sites by function] 0] label"),
			       "function fake_load");
}

TEST("gives holders")
{
	harness_attached();
	CU_ASSERT_STRING_EQUAL(harness_value("set f [mdbg::find 0x2010]; list [dict get $f what] "
					     "[dict get $f address] [dict get $f offset] [dict get "
					     "$f searched] [dict get $f walked]"),
			       "block 0x2000 16 1 0");
	CU_ASSERT_STRING_EQUAL(harness_value("set h [lindex [dict get $f holders] 0]; list [dict get "
					     "$h place] [dict get $h kind] [expr {[dict get $h keeps] "
					     "== [dict get $f keep]}]"),
			       "0x5008 mapping 1");
	CU_ASSERT_STRING_EQUAL(harness_value("llength [dict get [mdbg::find 0x2010 limit 0] holders]"),
			       "0");
	CU_ASSERT_STRING_EQUAL(harness_value("set f [mdbg::find 1]; list [dict get $f what] [dict get "
					     "$f searched]"), "nothing 0");
	CU_ASSERT_STRING_EQUAL(harness_value("mdbg::trim"), "before 307200 after 204800 pause 1.5");
	CU_ASSERT_STRING_EQUAL(harness_value("catch {mdbg::find}"), "1");
	CU_ASSERT_STRING_EQUAL(harness_value("catch {mdbg::find 1 limit}"), "1");
	CU_ASSERT_STRING_EQUAL(harness_value("catch {mdbg::find 1 least 3}"), "1");
	CU_ASSERT_STRING_EQUAL(harness_value("catch {mdbg::find 1 limit few}"), "1");
}

TEST("gives leaks")
{
	harness_attached();
	CU_ASSERT_STRING_EQUAL(harness_value("set l [lindex [mdbg::leaks size == 100] 0]; list [dict "
					     "get $l kind] [dict get $l bytes] [dict get $l count] "
					     "[dict get $l indirectbytes] [dict get $l preattach]"),
			       "definite 100 1 0 0");
	CU_ASSERT_STRING_EQUAL(harness_value("llength [mdbg::leaks all]"), "2");
	CU_ASSERT_STRING_EQUAL(harness_value("mdbg::leaks reachable"), "");
}

TEST("looks at the target")
{
	harness_attached();
	CU_ASSERT_STRING_EQUAL(harness_value("binary scan [mdbg::read 0x5010 4] H* h; set h"),
			       "10111213");
	CU_ASSERT_STRING_EQUAL(harness_value("catch {mdbg::read 0x9000 4}; lrange $errorCode 0 1"),
			       "MDBG MEMORY");
	CU_ASSERT_STRING_EQUAL(harness_value("catch {mdbg::read 0x5000 99999999999}"), "1");
	CU_ASSERT_STRING_EQUAL(harness_value("string length [mdbg::read 0x5000 0]"), "0");
	CU_ASSERT_STRING_EQUAL(harness_value("llength [mdbg::threads]"), "2");
	CU_ASSERT_STRING_EQUAL(harness_value("dict get [lindex [mdbg::threads] 1] name"), "worker");
	CU_ASSERT_STRING_EQUAL(harness_value("set w [lindex [mdbg::where [pid]] 0]; lmap f "
					     "[mdbg::frames [dict get $w stack]] "
					     "{dict get $f function}"),
			       "fake_load fake_main");
	CU_ASSERT_STRING_EQUAL(harness_value("llength [mdbg::where]"), "2");
	CU_ASSERT_STRING_EQUAL(
		harness_value("dict get [mdbg::symbol [lindex [dict get $w stack] 0]] function"),
		"fake_load");
	CU_ASSERT_STRING_EQUAL(harness_value("expr {[llength [mdbg::maps]] > 5}"), "1");
	CU_ASSERT_STRING_EQUAL(harness_value("set m [mdbg::memory]; list [dict get $m rsize] "
					     "[dict get $m pss] [dict get $m rgrow] "
					     "[dict get $m minflt] [dict get $m kinds heap vsize] "
					     "[dict get $m verdict kind]"),
			       "16384 - - 17 16384 unknown");
	CU_ASSERT_STRING_EQUAL(harness_value("dict get [mdbg::memory] kinds heap rgrow"), "-4096");
	CU_ASSERT_STRING_EQUAL(harness_value("mdbg::memory_maps"),
			       "{start 0x1000 end 0x5000 size 16384 resident 12288 dirty - swapped - "
			       "locked - huge - change - kind heap thread - path {[heap]}}");
	CU_ASSERT_STRING_EQUAL(harness_value("dict get [lindex [mdbg::memory_maps] 0] change"), "-5");
	CU_ASSERT_STRING_EQUAL(harness_value("catch {mdbg::where 1}; lrange $errorCode 0 1"),
			       "MDBG NOTFOUND");
}

TEST("attaches with options")
{
	struct shell *shell = harness_shell();

	CU_ASSERT_STRING_EQUAL(
		harness_value("expr {[mdbg::attach [pid] -stackdepth 5 -stop 1] == [pid]}"), "1");
	CU_ASSERT_EQUAL(session_state(shell->session), SESSION_STOPPED);
	CU_ASSERT_EQUAL(log_config(session_log(shell->session)).stack_depth, 5);
	CU_ASSERT_EQUAL(session_config(shell->session)->stack_depth, 32);
	CU_ASSERT_STRING_EQUAL(harness_value("catch {mdbg::attach [pid]}; lrange $errorCode 0 1"),
			       "MDBG STATE");
	harness_shell();
	CU_ASSERT_STRING_EQUAL(
		harness_value("catch {mdbg::attach [pid] -colour 1}; lrange $errorCode 0 1"),
		"MDBG USAGE");
	CU_ASSERT_STRING_EQUAL(
		harness_value("catch {mdbg::attach [pid] -stop}; lrange $errorCode 0 1"),
		"MDBG USAGE");
	CU_ASSERT_EQUAL(session_state(shell->session), SESSION_NONE);
}

TEST("runs scripts at events")
{
	struct shell *shell = harness_attached();
	struct session_event event = { .kind = SESSION_EVENT_FORK, .pid = 77 };
	struct outcome outcome;

	CU_ASSERT_TRUE(harness_line("mdbg::on fork {lappend seen [dict get $mdbg::event pid]}; "
				    "mdbg::on exit {error oops}")
			       .ok);
	CU_ASSERT_EQUAL(fake_asked(shell->session)->wanted,
			1u << SESSION_EVENT_FORK | 1u << SESSION_EVENT_EXIT);
	fake_event(shell->session, &event);
	CU_ASSERT_TRUE(harness_line("wait until {[info exists seen]} timeout 20").ok);
	CU_ASSERT_STRING_EQUAL(harness_value("set seen"), "77");
	event = (struct session_event) { .kind = SESSION_EVENT_EXIT,
					 .pid = FAKE_PID,
					 .status = 5 << 8 };
	fake_event(shell->session, &event);
	outcome = harness_line("wait exit");
	CU_ASSERT_TRUE(outcome.ok);
	CU_ASSERT_TRUE(shell->failed);
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.err, " ended with status 5\nmdbg: oops\n"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(harness_line("status").out, "ended with status 5; its log still answers."));
	CU_ASSERT_TRUE(harness_line("malloc allocations").ok);
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("where").err, "is gone"));
	CU_ASSERT_TRUE(harness_line("detach; mdbg::detach").ok);
	CU_ASSERT_EQUAL(fake_asked(shell->session)->detached, 0);
	CU_ASSERT_TRUE(harness_line("mdbg::on exit {}; mdbg::on fork {}").ok);
	CU_ASSERT_EQUAL(fake_asked(shell->session)->wanted, 0);
	CU_ASSERT_FALSE(harness_line("mdbg::on sunday {}").ok);
	CU_ASSERT_TRUE(harness_line("wait exit").ok);
}

TEST("waits")
{
	harness_attached();
	CU_ASSERT_TRUE(harness_line("wait 0.01; wait 5ms").ok);
	CU_ASSERT_STRING_EQUAL(harness_line("wait until {0} timeout 0.02").err,
			       "mdbg: wait: time is over\n");
	CU_ASSERT_STRING_EQUAL(harness_value("catch {wait exit timeout 0.01}; set errorCode"),
			       "MDBG TIMEOUT");
	CU_ASSERT_FALSE(harness_line("wait until {$nothing}").ok);
	CU_ASSERT_FALSE(harness_line("wait").ok);
	CU_ASSERT_FALSE(harness_line("wait x").ok);
	CU_ASSERT_FALSE(harness_line("wait 1 2").ok);
	CU_ASSERT_TRUE(
		harness_line("after 5 {set done 1}; wait until {[info exists done]} timeout 20")
			.ok);
}

TEST("kills")
{
	struct shell *shell = harness_attached();
	struct outcome outcome = harness_line("kill");

	CU_ASSERT_TRUE(outcome.ok);
	CU_ASSERT_EQUAL(fake_asked(shell->session)->killed, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(outcome.err, " was ended by SIGKILL (Killed)\n"));
}

TEST("detaches at the end")
{
	struct shell *shell = harness_attached();

	CU_ASSERT_PTR_NOT_NULL(fake_session());
	CU_ASSERT_EQUAL(session_state(shell->session), SESSION_RUNNING);
	fake_fail_detach(shell->session);
	CU_ASSERT_PTR_NOT_NULL(strstr(harness_line("detach").err, "mdbg: detach "));
}

/* The names, joined. */
static const char *completed_in(struct shell *shell, const char *line)
{
	CLEANUP(complete_line_free) struct completion completion = { .line = NULL };
	static char text[4096];

	CU_ASSERT_PTR_NULL(complete_line(shell, line, &completion));
	text[0] = '\0';
	vec_each_value(name, &completion.names) {
		strncat(text, name, sizeof(text) - strlen(text) - 2);
		strcat(text, " ");
	}
	return text;
}

/* The line that is made of it. */
static const char *line_in(struct shell *shell, const char *line)
{
	CLEANUP(complete_line_free) struct completion completion = { .line = NULL };
	static char text[4096];

	CU_ASSERT_PTR_NULL(complete_line(shell, line, &completion));
	snprintf(text, sizeof(text), "%s%s", completion.line ? completion.line : "(none)",
		 completion.ends_word ? " " : "");
	return text;
}

static const char *completed(const char *line)
{
	return completed_in(harness_shell(), line);
}

TEST("completes")
{
	char line[32];

	CU_ASSERT_STRING_EQUAL(completed("regis"), "registers ");
	CU_ASSERT_STRING_EQUAL(completed("malloc "), "allocations freespace find check sites tree mark diff history watch leaks refs pymalloc stale path owners pins types stats trim on off reset ");
	CU_ASSERT_STRING_EQUAL(completed("m al"), "allocations ");
	CU_ASSERT_STRING_EQUAL(completed("memory "), "account maps watch system service ");
	CU_ASSERT_STRING_EQUAL(completed("memory system "), "limit ");
	CU_ASSERT_STRING_EQUAL(completed("memory system limit "), "");
	CU_ASSERT_STRING_EQUAL(completed("malloc allocations s"), "size seq sort ");
	CU_ASSERT_STRING_EQUAL(completed("malloc allocations size >"), "> >= ");
	CU_ASSERT_STRING_EQUAL(completed("malloc sites by f"), "function ");
	CU_ASSERT_STRING_EQUAL(completed("malloc sites by l"), "line ");
	CU_ASSERT_STRING_EQUAL(completed("malloc sites sort "), "bytes count age growth rate total "
				"calls callrate temporary ");
	CU_ASSERT_STRING_EQUAL(completed("malloc sites si"), "size since ");
	CU_ASSERT_STRING_EQUAL(completed("malloc sites limit 1 at "), "now peak ");
	snprintf(line, sizeof(line), "attach %d", getppid());
	CU_ASSERT_PTR_NOT_NULL(strstr(completed(line), line + 7));
	CU_ASSERT_STRING_EQUAL(completed("set pag"), "pager ");
	CU_ASSERT_STRING_EQUAL(completed("set follow-fork "), "parent child both ");
	CU_ASSERT_STRING_EQUAL(completed("cont SIGUSR"), "SIGUSR1 SIGUSR2 ");
	CU_ASSERT_STRING_EQUAL(completed("export "),
			       "folded flamegraph pprof json csv sqlite massif callgrind heapsnapshot ");
	CU_ASSERT_STRING_EQUAL(completed("export folded file sort gr"), "growth ");
	CU_ASSERT_STRING_EQUAL(completed("mdbg::export c"), "csv callgrind ");
	CU_ASSERT_STRING_EQUAL(completed("puts [mdbg::all"), "mdbg::allocations ");
	CU_ASSERT_STRING_EQUAL(completed("puts [mdbg::sites by size -"), "-each ");
	CU_ASSERT_STRING_EQUAL(completed("mdbg::allocations si"), "size ");
	CU_ASSERT_STRING_EQUAL(completed("mdbg::freespace size >"), "> >= ");
	CU_ASSERT_STRING_EQUAL(completed("help malloc al"), "allocations ");
	CU_ASSERT_STRING_EQUAL(completed("malloc allocations function == fake_l"), "");
}

TEST("completes marks")
{
	struct shell *shell = harness_attached();

	CU_ASSERT_STRING_EQUAL(completed_in(shell, "malloc diff "), "now peak ");
	harness_line("malloc mark before; malloc mark noon");
	CU_ASSERT_STRING_EQUAL(completed_in(shell, "malloc diff "), "now peak before noon ");
	CU_ASSERT_STRING_EQUAL(completed_in(shell, "malloc diff before n"), "now noon ");
	CU_ASSERT_STRING_EQUAL(completed_in(shell, "malloc sites by function since b"), "before ");
	CU_ASSERT_STRING_EQUAL(completed_in(shell, "puts [mdbg::sites at n"), "now noon ");
	CU_ASSERT_STRING_EQUAL(completed_in(shell, "export flamegraph file since b"), "before ");
	CU_ASSERT_STRING_EQUAL(completed_in(shell, "mdbg::export pprof file limit 5 at n"), "now noon ");
	harness_line("malloc reset");
	CU_ASSERT_STRING_EQUAL(completed_in(shell, "malloc diff "), "now peak ");
}

TEST("completes functions")
{
	struct shell *shell = harness_attached();

	CU_ASSERT_STRING_EQUAL(line_in(shell, "malloc allocations function == fake_l"),
			       "malloc allocations function == fake_load ");
	CU_ASSERT_STRING_EQUAL(line_in(shell, "puts [mdbg::sites function == \"fake_l"),
			       "puts [mdbg::sites function == \"fake_load\" ");
}

static const char *const hard_names[] = {
	"plain", "a b", "a[exec touch x]", "a$env(HOME)", "a;exit", "a{b", "a}b", "a\"b", "a\\b",
	"a\nb", "a\tb", "a\x1b[2Jb", "#a", "-force", "~root", "~", ">a", "|touch x", "{*}a", "[", "$a(",
	"a'b", "a`b", "a\xe2\x80\xaez", "\xc3\xa9t\xc3\xa9", "\xf0\x9f\x90\x9b", " ", "a\\", "*", "a?",
	"\\u0041", "a#b", "a]b", "<a", "&", "(a)",
};

/* The completed words, as Tcl takes them: the last one must be that very file. */
static void check_file(const char *folder, const char *prefix, const char *name, const char *quote)
{
	struct shell *shell = harness_shell();
	AUTO_STR struct str line = STR_INIT, want = STR_INIT;
	const char *made;
	Tcl_Obj *list, *word = NULL;
	int nr;

	CU_ASSERT_PTR_NULL_FATAL(str_addf(&line, "::list source %s%s%s", quote, folder, prefix));
	CU_ASSERT_PTR_NULL_FATAL(str_addf(&want, "%s%s", folder, name));
	made = line_in(shell, str_text(&line));
	CU_ASSERT_EQUAL_FATAL(Tcl_EvalEx(shell->tcl, made, -1, TCL_EVAL_GLOBAL), TCL_OK);
	list = Tcl_GetObjResult(shell->tcl);
	CU_ASSERT_EQUAL(Tcl_ListObjLength(NULL, list, &nr), TCL_OK);
	CU_ASSERT_EQUAL(nr, 2);
	Tcl_ListObjIndex(NULL, list, 1, &word);
	if (!word || strcmp(Tcl_GetString(word), str_text(&want)))
		fprintf(stderr, "'%s' became %s\n", name, made);
	CU_ASSERT(word && !strcmp(Tcl_GetString(word), str_text(&want)));
}

/* A folder with one file in it, whose name means something to Tcl. */
TEST("completes names of all kinds")
{
	char folder[] = "/tmp/mdbg-complete-XXXXXX/", path[128];

	folder[strlen(folder) - 1] = '\0';
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	for (size_t i = 0; i < ARRAY_SIZE(hard_names); i++) {
		const char *name = hard_names[i];
		char with_slash[64];

		snprintf(path, sizeof(path), "%s/%s", folder, name);
		snprintf(with_slash, sizeof(with_slash), "%s/", folder);
		close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		check_file(with_slash, "", name, "");
		check_file(with_slash, "", name, "\"");
		unlink(path);
	}
	CU_ASSERT_EQUAL(rmdir(folder), 0);
}

/* In the current folder a name may look like something else than a file. */
TEST("completes names in this folder")
{
	char folder[] = "/tmp/mdbg-complete-XXXXXX";
	int before = open(".", O_PATH | O_CLOEXEC);

	CU_ASSERT_FATAL(mkdtemp(folder) && !chdir(folder));
	for (size_t i = 0; i < ARRAY_SIZE(hard_names); i++) {
		const char *name = hard_names[i];
		char as[64];

		close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		snprintf(as, sizeof(as), "%s%s", strchr("~->|<#&", *name) ? "./" : "", name);
		check_file("", "", as, "");
		unlink(name);
	}
	CU_ASSERT(!fchdir(before) && !rmdir(folder));
	close(before);
}

static const char *line_for(const char *line)
{
	return line_in(harness_shell(), line);
}

TEST("completes files")
{
	char folder[] = "/tmp/mdbg-complete-XXXXXX";
	int before = open(".", O_PATH | O_CLOEXEC);

	CU_ASSERT_FATAL(mkdtemp(folder) && !chdir(folder) && !mkdir("below", 0700));
	close(open("report[x]1", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	close(open("report[x]2", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	CU_ASSERT_STRING_EQUAL(line_for("source rep"), "source report\\[x\\]");
	CU_ASSERT_STRING_EQUAL(completed("source rep"), "report[x]1 report[x]2 ");
	CU_ASSERT_STRING_EQUAL(line_for("source report\\[x\\]1"), "source report\\[x\\]1 ");
	CU_ASSERT_STRING_EQUAL(line_for("source be"), "source below/");
	CU_ASSERT_STRING_EQUAL(line_for("export folded be"), "export folded below/");
	CU_ASSERT_STRING_EQUAL(line_for("report be"), "report below/");
	CU_ASSERT_STRING_EQUAL(line_for("status > be"), "status > below/");
	CU_ASSERT_STRING_EQUAL(line_for("status >> \"be"), "status >> \"below/");
	CU_ASSERT_STRING_EQUAL(line_for("if 1 {source be"), "if 1 {source below/");
	/* What a shell gets is quoted for a shell. */
	CU_ASSERT_STRING_EQUAL(line_for("sh cat rep"), "sh cat report\\[x\\]");
	CU_ASSERT_STRING_EQUAL(line_for("malloc | cat rep"), "malloc | cat report\\[x\\]");
	CU_ASSERT_STRING_EQUAL(line_for("sh cat 'rep"), "(none)");
	CU_ASSERT_STRING_EQUAL(line_for("sh cat $(rep"), "(none)");
	/* And what Tcl gives to a shell is not completed. */
	CU_ASSERT_STRING_EQUAL(line_for("if 1 {sh cat rep"), "(none)");
	CU_ASSERT_STRING_EQUAL(line_for("status; sh cat rep"), "(none)");
	CU_ASSERT_STRING_EQUAL(line_for("puts [status | cat rep"), "(none)");
	/* What a word means is not known before it runs. */
	CU_ASSERT_STRING_EQUAL(line_for("source $dir/rep"), "(none)");
	CU_ASSERT_STRING_EQUAL(line_for("source [pwd]/rep"), "(none)");
	CU_ASSERT_STRING_EQUAL(line_for("# source rep"), "(none)");
	CU_ASSERT(!unlink("report[x]1") && !unlink("report[x]2") && !rmdir("below"));
	CU_ASSERT(!fchdir(before) && !rmdir(folder));
	close(before);
}

