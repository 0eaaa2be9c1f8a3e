/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc diff, mdbg::diff with exports: what is a file, what is printed, given, refused. */

#include "harness.h"
#include "unit.h"

static char folder[] = "/tmp/mdbg-unit-XXXXXX";
static char *was;	/* the working directory */

static int start(void)
{
	was = getcwd(NULL, 0);
	return !was || !mkdtemp(folder) || chdir(folder);
}

static int end(void)
{
	static const char *const files[] = { "a.db", "before", "text.txt" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		unlink(files[i]);
	if (chdir(was) || rmdir(folder))
		return 1;
	free(was);
	return 0;
}

FIXTURE(start, end);

#ifdef HAVE_SQLITE
/* Attached and exported; then one block is freed, one comes, of two sites. */
static void changed(void)
{
	struct session *session = harness_attached()->session;

	CU_ASSERT_TRUE(harness_line("export sqlite a.db; export sqlite before").ok);
	fake_free(session, 0x2000);
	fake_block(session, 0x4000, 1000, LOG_STACK_NONE);
}

/* The line fails with one line that has `what`, and a hint; nothing is printed. */
static bool refused(const char *line, const char *what, const char *hint)
{
	struct outcome outcome = harness_line(line);
	const char *hints = strstr(outcome.err, "\nhint: ");

	if (!outcome.ok && !strncmp(outcome.err, "mdbg: ", 6) && !*outcome.out &&
	    strstr(outcome.err, what) && hints && strstr(hints, hint))
		return true;
	fprintf(stderr, "    %s: %s%s\n", line, outcome.out, outcome.err);
	return false;
}

static bool prints(const char *line, const char *what)
{
	struct outcome outcome = harness_line(line);

	if (outcome.ok && strstr(outcome.out, what))
		return true;
	fprintf(stderr, "    %s: %s%s\n", line, outcome.out, outcome.err);
	return false;
}

TEST("prints changes")
{
	char process[64];

	changed();
	snprintf(process, sizeof(process), ") of process %d, ", (int)FAKE_PID);
	CU_ASSERT_TRUE(prints("malloc diff a.db", "Changes of the Allocation Sites:\n\n    from a.db ("));
	CU_ASSERT_TRUE(prints("malloc diff a.db", process));
	CU_ASSERT_TRUE(prints("malloc diff a.db", ": 5124 bytes in 3 blocks\n"
						  "    to   now: 1124 bytes in 3 blocks\n\n"
						  "#1  -5000 bytes in -1 blocks\n    in fake_load"));
	CU_ASSERT_TRUE(prints("malloc diff a.db", "\n#2  +1000 bytes in +1 blocks\n"
						  "        (no stack)\n"));
	CU_ASSERT_TRUE(prints("malloc diff a.db", "\n2 sites changed; grown 1000 bytes, "
						  "shrunk 5000 bytes\n"));
	CU_ASSERT_TRUE(prints("malloc diff a.db", "\nmatched by build-id and offset: "));
	CU_ASSERT_TRUE(prints("malloc diff now a.db", "#1  +5000 bytes in +1 blocks\n"));
	CU_ASSERT_TRUE(prints("malloc diff a.db before", "only in one: 0 sites\n0 sites changed; "
							 "grown 0 bytes, shrunk 0 bytes\n"));
	CU_ASSERT_TRUE(prints("malloc mark m; malloc diff m a.db", "grown 5000 bytes, shrunk 1000"));
	CU_ASSERT_TRUE(prints("malloc diff a.db peak", "grown 0 bytes, shrunk 0 bytes"));
}

/* Sites that an export has not are no changes of the program, so the reader is told. */
TEST("says what was left out")
{
	harness_attached();
	CU_ASSERT_TRUE(harness_line("export sqlite a.db limit 1").ok);
	CU_ASSERT_TRUE(prints("malloc diff a.db", "\na.db was exported with `limit 1`: "));
}

TEST("gives changes")
{
	changed();
	CU_ASSERT_STRING_EQUAL(harness_value("lmap d [mdbg::diff a.db] {lmap k {bytes count function} "
					     "{dict get $d $k}}"),
			       "{-5000 -1 fake_load} {1000 1 {(no stack)}}");
	CU_ASSERT_STRING_EQUAL(harness_value("lmap f [dict get [lindex [mdbg::diff ./a.db] 0] frames] "
					     "{dict get $f function}"), "malloc fake_load fake_main");
	CU_ASSERT_STRING_EQUAL(harness_value("set s [dict get [lindex [mdbg::diff a.db] 0] stack]; "
					     "expr {$s in [lmap s [mdbg::sites] {dict get $s stack}]}"),
			       "1");
	CU_ASSERT_STRING_EQUAL(harness_value("set n 0; mdbg::diff a.db now -each d {incr n "
					     "[dict get $d bytes]}; set n"), "-4000");
	CU_ASSERT_STRING_EQUAL(harness_value("mdbg::diff a.db before"), "");
}

/* Two files need no process. */
TEST("needs no process")
{
	changed();
	CU_ASSERT_TRUE(harness_line("export sqlite a.db").ok);
	harness_shell();
	CU_ASSERT_TRUE(prints("malloc diff before a.db", "\n    in fake_load"));
	CU_ASSERT_TRUE(prints("malloc diff before a.db", "grown 1000 bytes, shrunk 5000 bytes\n"));
	CU_ASSERT_STRING_EQUAL(harness_value("lmap d [mdbg::diff before a.db] {dict get $d stack}"),
			       "- -");
	CU_ASSERT_TRUE(refused("malloc diff a.db", "no process", "attach PID"));
	CU_ASSERT_TRUE(refused("malloc diff a.db now", "no process", "attach PID"));
	CU_ASSERT_TRUE(refused("malloc diff a.db m", "no process", "attach PID"));
}

TEST("tells files from moments")
{
	changed();
	/* The name of a file; then of a mark, too; and the file nevertheless. */
	CU_ASSERT_TRUE(prints("malloc diff before", "Changes of the Allocation Sites:\n"));
	CU_ASSERT_TRUE(prints("malloc mark before; malloc diff before",
			      "Changes of the Allocation Sites of the Process:\n"));
	CU_ASSERT_TRUE(prints("malloc diff ./before", "Changes of the Allocation Sites:\n"));
	CU_ASSERT_TRUE(prints("malloc mark a.db; malloc diff a.db",
			      "Changes of the Allocation Sites of the Process:\n"));
	CU_ASSERT_TRUE(harness_line("malloc reset").ok);
	CU_ASSERT_TRUE(refused("malloc diff before", "'before' is from before `malloc reset`", "anew"));
	CU_ASSERT_TRUE(refused("malloc diff after", "there is no mark 'after'", "malloc mark"));
	CU_ASSERT_TRUE(refused("malloc diff after.db", "read after.db: No such file", "export sqlite"));
	CU_ASSERT_TRUE(refused("malloc diff ./after", "read ./after: No such file", "export sqlite"));
	CU_ASSERT_TRUE(refused("malloc diff ~nobody.of.this.name/x", "no such user", "./~nobody"));
	CU_ASSERT_TRUE(refused("malloc diff -1.5h a.db", "-1.5h is before the history", "begins"));
}

TEST("refuses other files")
{
	changed();
	CU_ASSERT_TRUE(harness_line("export csv text.txt").ok);
	CU_ASSERT_TRUE(refused("malloc diff text.txt", "text.txt: this is no export of mdbg",
			       "export sqlite"));
	CU_ASSERT_TRUE(refused("malloc diff a.db text.txt", "text.txt: this is no export of mdbg",
			       "export sqlite"));
	CU_ASSERT_TRUE(refused("malloc diff /", "/: there is no recording", "export sqlite"));
	CU_ASSERT_STRING_EQUAL(harness_value("catch {mdbg::diff text.txt}; lrange $errorCode 0 1"),
			       "MDBG FORMAT");
}

#else
TEST("is built without")
{
	harness_attached();
	CU_ASSERT_TRUE(refused("malloc diff a.db", "built without SQLite", "install"));
}
#endif
