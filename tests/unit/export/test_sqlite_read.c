/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exports to SQLite that are read back: whole, damaged and hostile ones, and other files. */

#include "export/sqlite_read.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "export/export_formats.h"
#include "folder.h"
#include "model.h"
#include "unit.h"

#ifdef HAVE_SQLITE
#include <sqlite3.h>

static struct model model;
static struct str whole;	/* the bytes of its export */

static void put_bytes(const char *name, const char *bytes, size_t len)
{
	AUTO_FCLOSE FILE *file = fopen(name, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_EQUAL(fwrite(bytes, 1, len, file), len);
}

/* Suites begin with it, where there is no test that could fail. */
static bool get_whole(void)
{
	AUTO_FCLOSE FILE *file = fopen("db", "r");
	char buf[4096];
	size_t len;

	while (file && (len = fread(buf, 1, sizeof(buf), file)))
		if (str_add_bytes(&whole, buf, len))
			return false;
	return whole.len;
}

static int start(void)
{
	const struct export_format *format;
	struct export_done done;

	if (folder_enter())
		return 1;
	model_make(&model);
	if (export_format_find("sqlite", &format) || export_format_write(format, &model, NULL, "db",
									 &done))
		return 1;
	return !get_whole();
}

static int end(void)
{
	model_free(&model);
	str_free(&whole);
	return folder_leave();
}

FIXTURE(start, end);

/* A new copy of the export, changed by SQL. */
static void change(const char *words)
{
	sqlite3 *sql;
	char *message = NULL;

	put_bytes("changed", whole.at, whole.len);
	CU_ASSERT_EQUAL_FATAL(sqlite3_open("changed", &sql), SQLITE_OK);
	if (sqlite3_exec(sql, words, NULL, NULL, &message) != SQLITE_OK)
		CU_FAIL_FATAL("the change is no SQL");
	sqlite3_close(sql);
}

static bool refused(const char *name, enum err_code code, const char *what)
{
	struct model got;
	struct err *err = sqlite_read(name, &got);

	if (!err) {
		fprintf(stderr, "    %s is read, for all that: %s\n", name, what);
		model_free(&got);
		return false;
	}
	if (err->code == code && strstr(err->msg, name) && strstr(err->msg, what) && *err->hint)
		return true;
	fprintf(stderr, "    %s; hint: %s\n", err->msg, err->hint);
	return false;
}

/* The frame at a depth of a site. */
static const struct model_frame *frame_at(const struct model *got, size_t site, size_t depth)
{
	struct model_stack stack = { VEC_INIT };
	const struct model_frame *frame;

	CU_ASSERT_PTR_NULL_FATAL(model_stack_get(got, &got->sites.at[site], &stack));
	CU_ASSERT_FATAL(stack.vec.nr > depth);
	frame = stack.vec.at[depth].frame;
	vec_free(&stack.vec);
	return frame;
}

static const char *own_name(const struct model *got, size_t site)
{
	struct model_stack stack = { VEC_INIT };
	const char *name;

	CU_ASSERT_PTR_NULL_FATAL(model_stack_get(got, &got->sites.at[site], &stack));
	name = model_stack_own(got, &stack)->frame->name;
	vec_free(&stack.vec);
	return name;
}

TEST("reads back")
{
	CLEANUP(model_free) struct model got;
	const struct model_frame *frame;

	CU_ASSERT_PTR_NULL_FATAL(sqlite_read("db", &got));
	CU_ASSERT(got.sites.nr == 3 && got.held == 3 && got.bytes == 60 && got.count == 4);
	CU_ASSERT(got.pid == 42 && got.now_ns == model.now_ns && !got.sample);
	CU_ASSERT_STRING_EQUAL(got.command, "prog -x \\x1b[2J");
	CU_ASSERT_STRING_EQUAL(got.options, "sort bytes");
	CU_ASSERT_FATAL(got.modules.nr == 1);
	CU_ASSERT_STRING_EQUAL(got.modules.at[0].build_id, "0123ab");
	CU_ASSERT(got.sites.at[1].figures.bytes == 20 && got.sites.at[1].figures.count == 1);
	CU_ASSERT_EQUAL(got.sites.at[1].nr, 4);
	frame = frame_at(&got, 1, 2);
	CU_ASSERT_STRING_EQUAL(frame->name, "f");
	CU_ASSERT_STRING_EQUAL(frame->full, "f(int)");
	CU_ASSERT(frame->line == 7 && !frame->inlined);
	CU_ASSERT_PTR_NULL(frame_at(&got, 2, 1)->full);
	CU_ASSERT_STRING_EQUAL(own_name(&got, 1), "f");
	CU_ASSERT_STRING_EQUAL(own_name(&got, 2), model_long());
	CU_ASSERT_STRING_EQUAL(got.sites.at[2].end, "no unwind information");
}

/* Inlined frames are one location. */
TEST("reads inlined functions")
{
	CLEANUP(model_free) struct model got;

	change("UPDATE frames SET inlined = 1, pc = 0x1030, \"offset\" = 0x30 WHERE id = 3");
	CU_ASSERT_PTR_NULL_FATAL(sqlite_read("changed", &got));
	CU_ASSERT_EQUAL(got.sites.at[1].nr, 3);
	CU_ASSERT(frame_at(&got, 1, 1)->inlined && !frame_at(&got, 1, 2)->inlined);
	CU_ASSERT_STRING_EQUAL(frame_at(&got, 1, 3)->name, "main");
}

TEST("refuses other files")
{
	sqlite3 *sql;

	CU_ASSERT(refused("none", ERR_SYS, "No such file"));
	CU_ASSERT(refused("/dev/null", ERR_FORMAT, "no export of mdbg"));
	CU_ASSERT(refused(".", ERR_FORMAT, "no export of mdbg"));
	folder_put("text", "");
	CU_ASSERT(refused("text", ERR_FORMAT, "no export of mdbg"));
	folder_put("text", "main;f;malloc 20\nmain;f;f;malloc 20\nmain;f;f;f;malloc 20\n"
			   "main;f;f;f;f;malloc 20\nmain;f;f;f;f;f;malloc 20\n");
	CU_ASSERT(refused("text", ERR_FORMAT, "no export of mdbg"));
	CU_ASSERT_EQUAL_FATAL(mkfifo("fifo", 0600), 0);
	CU_ASSERT(refused("fifo", ERR_FORMAT, "no export of mdbg"));
	CU_ASSERT_EQUAL_FATAL(sqlite3_open("other", &sql), SQLITE_OK);
	CU_ASSERT_EQUAL(sqlite3_exec(sql, "CREATE TABLE sites(stack, bytes, count)", NULL, NULL,
				     NULL), SQLITE_OK);
	sqlite3_close(sql);
	CU_ASSERT(refused("other", ERR_FORMAT, "no export of mdbg"));
	change("PRAGMA user_version = 7");
	CU_ASSERT(refused("changed", ERR_UNSUPPORTED, "newer mdbg (its tables have version 7"));
	change("UPDATE meta SET value = 7 WHERE key = 'schema_version'");
	CU_ASSERT(refused("changed", ERR_FORMAT, "two versions"));
}

/* Each change is one that SQLite itself does not mind. */
TEST("refuses what does not go together")
{
	static const char *const changes[] = {
		"DELETE FROM meta WHERE key = 'time'", "DELETE FROM meta WHERE key = 'sites'",
		"UPDATE meta SET value = -1 WHERE key = 'pid'",
		"UPDATE meta SET value = 'x' WHERE key = 'time'",
		"UPDATE meta SET value = 1e300 WHERE key = 'time'",
		"UPDATE meta SET value = 61 WHERE key = 'site_bytes'",
		"DELETE FROM sites WHERE stack = 3", "UPDATE sites SET bytes = 31 WHERE stack = 1",
		"UPDATE sites SET bytes = -1 WHERE stack = 1",
		"UPDATE sites SET bytes = 9223372036854775807", "UPDATE sites SET count = 'x'",
		"UPDATE sites SET bytes = NULL", "UPDATE sites SET stack = 5000000000 WHERE stack = 3",
		"UPDATE sites SET stack = -1 WHERE stack = 1", "UPDATE sites SET function = x'00'",
		"UPDATE sites SET function = 'g'", "UPDATE sites SET function = NULL",
		"DELETE FROM stacks", "DELETE FROM stacks WHERE stack = 3",
		"DELETE FROM stacks WHERE depth = 1", "DELETE FROM stacks WHERE depth = 0",
		"UPDATE stacks SET frame = 99", "UPDATE stacks SET frame = 0",
		"UPDATE stacks SET frame = NULL", "UPDATE frames SET inlined = 1",
		"UPDATE frames SET inlined = 1 WHERE id = 3", "UPDATE frames SET inlined = 2",
		"UPDATE frames SET function = NULL", "UPDATE frames SET function = ''",
		"UPDATE frames SET function = 'a' || char(0) || 'b'",
		"UPDATE frames SET module = 2", "UPDATE frames SET module = 0",
		"UPDATE frames SET line = 3000000000", "UPDATE frames SET pc = 'x'",
		"DELETE FROM frames WHERE id = 2", "DELETE FROM modules",
		"UPDATE modules SET id = 2", "UPDATE modules SET path = NULL",
		"UPDATE frames SET function = hex(zeroblob(600000))", "DROP TABLE marks; DROP TABLE meta",
		"DROP TABLE stacks; CREATE VIEW stacks AS SELECT 1 stack, 0 depth, 1 frame",
		("DROP TABLE sites; CREATE VIEW sites AS WITH RECURSIVE n(stack) AS (SELECT 1 UNION ALL "
		 "SELECT stack + 1 FROM n) SELECT stack, 1 bytes, 1 count, '' function, '' \"end\" FROM n"),
		"ALTER TABLE frames DROP COLUMN \"full\"",
	};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		change(changes[i]);
		if (!refused("changed", ERR_FORMAT, "damaged")) {
			fprintf(stderr, "    %s\n", changes[i]);
			CU_FAIL("read, though it does not go together");
		}
	}
}

/* Whatever is read has the sums of the export: damage elsewhere is not seen and does no harm. */
static void read_damaged(const char *bytes, size_t len, bool *read_ret)
{
	struct model got;
	struct err *err;

	put_bytes("damaged", bytes, len);
	err = sqlite_read("damaged", &got);
	*read_ret = !err;
	if (err) {
		CU_ASSERT_PTR_NOT_NULL(strstr(err->msg, "read damaged: "));
		return;
	}
	CU_ASSERT(got.bytes == 60 && got.count == 4 && got.sites.nr == 3);
	for (size_t i = 0; i < got.sites.nr; i++)
		CU_ASSERT_PTR_NOT_NULL(own_name(&got, i));
	model_free(&got);
}

TEST("refuses truncated files")
{
	bool read;

	for (size_t len = 0; len < whole.len; len += 1 + whole.len / 500) {
		read_damaged(whole.at, len, &read);
		CU_ASSERT_FALSE(read);
	}
}

TEST("survives flipped bits")
{
	AUTO_FREE char *bytes = malloc(whole.len);
	unsigned refused_ones = 0;
	bool read;

	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	srand(1);
	for (int round = 0; round < 3000; round++) {
		memcpy(bytes, whole.at, whole.len);
		for (int flips = 1 + rand() % 3; flips; flips--)
			bytes[(size_t)rand() % whole.len] ^= (char)(1 << rand() % 8);
		read_damaged(bytes, whole.len, &read);
		refused_ones += !read;
	}
	CU_ASSERT(refused_ones > 30);
}

/* A page in the place of another one, as after a disk's mistake: trees become loops. */
TEST("survives swapped pages")
{
	AUTO_FREE char *bytes = malloc(whole.len);
	size_t page = 4096, pages = whole.len / page;
	bool read;

	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	for (size_t from = 0; from < pages; from++)
		for (size_t to = 1; to < pages; to++) {
			memcpy(bytes, whole.at, whole.len);
			memcpy(bytes + to * page, whole.at + from * page, page);
			read_damaged(bytes, whole.len, &read);
		}
}

/* Nothing is written beside an export, and what means something in a URI is a part of the name. */
TEST("leaves the file alone")
{
	static const char name[] = "a?mode=memory#%41 &\xc3\xa4";
	struct model got;

	folder_clear();
	put_bytes(name, whole.at, whole.len);
	CU_ASSERT_EQUAL(chmod(name, 0444), 0);
	CU_ASSERT_PTR_NULL_FATAL(sqlite_read(name, &got));
	CU_ASSERT_EQUAL(got.bytes, 60);
	model_free(&got);
	CU_ASSERT_EQUAL(folder_files(), 1);
}

/* What was opened and looked at is read, whatever its name means by then. */
TEST("reads what it has opened")
{
	AUTO_CLOSE int fd = -1;
	struct model got;
	char name[32];

	put_bytes("named", whole.at, whole.len);
	fd = open("named", O_RDONLY | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	change("UPDATE meta SET value = 43 WHERE key = 'pid'");
	CU_ASSERT_EQUAL(rename("changed", "named"), 0);
	CU_ASSERT_PTR_NULL_FATAL(sqlite_read(name, &got));
	CU_ASSERT_EQUAL(got.pid, 42);
	model_free(&got);
	CU_ASSERT_EQUAL(unlink("named"), 0);
	CU_ASSERT_PTR_NULL_FATAL(sqlite_read(name, &got));
	CU_ASSERT_EQUAL(got.pid, 42);
	model_free(&got);
}
#else
TEST("is built without")
{
	unit_skip("built without SQLite");
}
#endif
