/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each format of a model with hostile names: what is written, and that it is legal. */

#include "export/export_formats.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "folder.h"
#include "model.h"
#include "unit.h"

#ifdef HAVE_JANSSON
#include <jansson.h>
#endif
#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif
#ifdef HAVE_PROTOBUF_C
#include <zlib.h>
#include "profile.pb-c.h"
#endif

/* As mdbg shows model_hostile. */
#define SHOWN	"<b a=\"1\">&'x';y,\\n\\x1b[2J\\xff|z"

static struct model model;

static int start(void)
{
	if (folder_enter())
		return 1;
	model_make(&model);
	return 0;
}

static int end(void)
{
	model_free(&model);
	return folder_leave();
}

FIXTURE(start, end);

static const struct export_format *format_of(const char *name)
{
	const struct export_format *format;
	struct err *err = export_format_find(name, &format);

	if (!err)
		return format;
	unit_skip(err->msg);
	return NULL;
}

/* False: this build has not that format. */
static bool write_as(const char *name)
{
	const struct export_format *format = format_of(name);
	struct export_done done = { true, 1 };

	if (!format)
		return false;
	CU_ASSERT_PTR_NULL_FATAL(export_format_write(format, &model, NULL, "file", &done));
	CU_ASSERT(!done.stream);
	CU_ASSERT_EQUAL(folder_files(), 1);
	return true;
}

/* text with each @ as the long name. */
static char *with_long(const char *text)
{
	AUTO_STR struct str str = STR_INIT;

	for (; *text; text++)
		CU_ASSERT_PTR_NULL_FATAL(*text == '@' ? str_add(&str, model_long()) :
					 str_add_bytes(&str, text, 1));
	return take(str.at);
}

static void check_text(const char *name, const char *want)
{
	AUTO_FREE char *text = with_long(want);

	if (write_as(name))
		CU_ASSERT(folder_has("file", text));
}

TEST("writes folded")
{
	check_text("folded",
		   "main;<b a=\"1\">&'x':y,\\n\\x1b[2J\\xff|z;malloc 30\n"
		   "main;f;f;malloc 20\n"
		   "main;@;malloc 10\n"
		   "(allocated before attach) 7\n");
}

TEST("writes csv")
{
	check_text("csv",
		   "bytes,count,total,totalbytes,freed,freedbytes,oldest,median,growth,rate,over,sample,"
		   "function,module,file,line,end,stack\n"
		   "30,2,5,100,3,70,2.000000,1.500000,-4,-2.000000,2.000000,0,"
		   "\"<b a=\"\"1\"\">&'x';y,\\n\\x1b[2J\\xff|z\",\"prog\",\"\",,\"\","
		   "\"main;<b a=\"\"1\"\">&'x':y,\\n\\x1b[2J\\xff|z;malloc\"\n"
		   "20,1,1,20,0,0,1.000000,1.000000,0,0.000000,2.000000,0,"
		   "\"f\",\"prog\",\"/src/f.c\",5,\"\",\"main;f;f;malloc\"\n"
		   "10,1,1,10,0,0,,,0,0.000000,2.000000,0,"
		   "\"@\",\"prog\",\"\",,\"no unwind information\",\"main;@;malloc\"\n"
		   "7,1,,,,,,,,,,0,\"(allocated before attach)\",\"\",\"\",,\"\","
		   "\"(allocated before attach)\"\n");
}

/* A spreadsheet computes what begins so. */
TEST("csv has no formulas")
{
	struct model_frame *frame = &model.frames.at[5];
	struct model_frame before = *frame;
	AUTO_STR struct str text = STR_INIT;

	frame->name = "=1+2";
	if (write_as("csv")) {
		folder_get("file", &text);
		CU_ASSERT_PTR_NOT_NULL(strstr(str_text(&text), ",\"'=1+2;f;f;malloc\"\n"));
		CU_ASSERT_PTR_NULL(strstr(str_text(&text), ",\"=1"));
	}
	*frame = before;
}

TEST("writes massif")
{
	check_text("massif",
		   "desc: mdbg\n"
		   "cmd: prog -x \\x1b[2J\n"
		   "time_unit: ms\n"
		   "#-----------\nsnapshot=0\n#-----------\n"
		   "time=4000\nmem_heap_B=67\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
		   "heap_tree=detailed\n"
		   "n4: 67 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"
		   " n1: 30 0x1010: " SHOWN " (in /usr/bin/prog)\n"
		   "  n0: 30 0x1050: main (f.c:9)\n"
		   " n1: 20 0x1020: f (f.c:5)\n"
		   "  n1: 20 0x1030: f (f.c:7)\n"
		   "   n0: 20 0x1050: main (f.c:9)\n"
		   " n1: 10 0x1040: @ (in /usr/bin/prog)\n"
		   "  n0: 10 0x1050: main (f.c:9)\n"
		   " n0: 7 0x0: (allocated before attach)\n");
}

TEST("writes history")
{
	AUTO_STR struct str text = STR_INIT;

	CU_ASSERT_PTR_NULL_FATAL(vec_push(&model.samples, ((struct model_sample){
		.time_ns = 3000000000, .bytes = 40, .count = 3 })));
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&model.samples, ((struct model_sample){
		.time_ns = model.now_ns, .bytes = 60, .count = 4 })));
	if (write_as("massif")) {
		folder_get("file", &text);
		/* What was there before the attach was there then, too. */
		CU_ASSERT_PTR_NOT_NULL(strstr(str_text(&text), "snapshot=0\n#-----------\n"
					      "time=2000\nmem_heap_B=47\n"));
		CU_ASSERT_PTR_NOT_NULL(strstr(str_text(&text), "snapshot=1\n#-----------\n"
					      "time=4000\nmem_heap_B=67\n"));
		CU_ASSERT_PTR_NULL(strstr(str_text(&text), "snapshot=2"));
		/* It is of all, and a filter keeps less. */
		model.filtered = true;
		CU_ASSERT(write_as("massif"));
		str_clear(&text);
		folder_get("file", &text);
		CU_ASSERT_PTR_NULL(strstr(str_text(&text), "snapshot=1"));
	}
	model.filtered = false;
	vec_clear(&model.samples);
}

TEST("writes callgrind")
{
	check_text("callgrind",
		   "# callgrind format\nversion: 1\ncreator: mdbg\npid: 42\n"
		   "cmd: prog -x \\x1b[2J\npositions: line\n"
		   "event: curB : bytes held\nevent: curBk : blocks held\n"
		   "event: totB : bytes of all time\nevent: totBk : blocks of all time\n"
		   "event: totFdB : bytes freed\nevent: totFdBk : blocks freed\n"
		   "events: curB curBk totB totBk totFdB totFdBk\n"
		   "summary: 67 5 187 11 120 6\n"
		   "\nob=(1) /usr/bin/prog\nfl=(1) /src/f.c\nfn=(1) main\n"
		   "cob=(1)\ncfi=(2) ???\ncfn=(2) " SHOWN "\ncalls=5 0\n9 30 2 100 5 70 3\n"
		   "cob=(1)\ncfi=(1)\ncfn=(3) f\ncalls=4 0\n9 20 1 70 4 50 3\n"
		   "cob=(1)\ncfi=(2)\ncfn=(5) @\ncalls=1 0\n9 10 1 10 1 0 0\n"
		   "\nob=(1)\nfl=(2)\nfn=(2)\n0 30 2 100 5 70 3\n"
		   "\nob=(1)\nfl=(1)\nfn=(3)\n5 0 0 50 3 50 3\n"
		   "cob=(1)\ncfi=(1)\ncfn=(4) f'2\ncalls=1 0\n7 20 1 20 1 0 0\n"
		   "\nob=(1)\nfl=(1)\nfn=(4)\n5 20 1 20 1 0 0\n"
		   "\nob=(1)\nfl=(2)\nfn=(5)\n0 10 1 10 1 0 0\n"
		   "\nob=(2) ???\nfl=(2)\nfn=(6) (allocated before attach)\n0 7 1 7 1 0 0\n"
		   "\ntotals: 67 5 187 11 120 6\n");
}

TEST("says sampled")
{
	static const char said[] = "sampled (one in 512 bytes): all figures are estimates";
	AUTO_STR struct str text = STR_INIT;

	model.sample = 512;
	CU_ASSERT_FATAL(write_as("massif"));
	folder_get("file", &text);
	CU_ASSERT_PTR_NOT_NULL(strstr(str_text(&text), said));
	str_clear(&text);
	CU_ASSERT_FATAL(write_as("callgrind"));
	folder_get("file", &text);
	CU_ASSERT_PTR_NOT_NULL(strstr(str_text(&text), said));
	model.sample = 0;
}

#ifdef HAVE_JANSSON
static const char *text_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "(null)";
}

static json_int_t number_at(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}
#endif

TEST("writes json")
{
#ifdef HAVE_JANSSON
	AUTO_FCLOSE FILE *file = NULL;
	json_int_t bytes = 0, lines = 0;
	json_t *site, *frame;

	if (!write_as("json"))
		return;
	file = fopen("file", "re");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	while ((site = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL))) {
		bytes += number_at(site, "bytes");
		CU_ASSERT_EQUAL(getc(file), '\n');
		if (!lines++) {
			frame = json_array_get(json_object_get(site, "stack"), 1);
			CU_ASSERT_STRING_EQUAL(text_at(frame, "function"), SHOWN);
			CU_ASSERT_STRING_EQUAL(text_at(frame, "module"), "prog");
			CU_ASSERT_STRING_EQUAL(text_at(frame, "pc"), "0x1010");
			CU_ASSERT_STRING_EQUAL(text_at(frame, "build_id"), "0123ab");
			CU_ASSERT(json_is_null(json_object_get(frame, "file")));
			CU_ASSERT_EQUAL(number_at(site, "growth"), -4);
			frame = json_array_get(json_object_get(site, "stack"), 2);
			CU_ASSERT_STRING_EQUAL(text_at(frame, "function"), "main");
			CU_ASSERT_STRING_EQUAL(text_at(frame, "file"), "/src/f.c");
			CU_ASSERT_EQUAL(number_at(frame, "line"), 9);
		}
		if (lines == 3)
			CU_ASSERT_STRING_EQUAL(text_at(site, "function"), model_long());
		json_decref(site);
	}
	CU_ASSERT_EQUAL(lines, 4);
	CU_ASSERT_EQUAL(bytes, 67);
#else
	unit_skip("built without jansson");
#endif
}

#ifdef HAVE_SQLITE
/* What a query has in its first row, columns joined by |. */
static bool answers(sqlite3 *sql, const char *query, const char *want)
{
	AUTO_STR struct str got = STR_INIT;
	sqlite3_stmt *statement;

	CU_ASSERT_EQUAL_FATAL(sqlite3_prepare_v2(sql, query, -1, &statement, NULL), SQLITE_OK);
	CU_ASSERT_EQUAL(sqlite3_step(statement), SQLITE_ROW);
	for (int i = 0; i < sqlite3_column_count(statement); i++) {
		const char *text = (const char *)sqlite3_column_text(statement, i);

		CU_ASSERT_PTR_NULL_FATAL(str_addf(&got, "%s%s", i ? "|" : "", text ? text : "-"));
	}
	sqlite3_finalize(statement);
	if (strcmp(str_text(&got), want))
		fprintf(stderr, "%s: %s, not %s\n", query, str_text(&got), want);
	return !strcmp(str_text(&got), want);
}
#endif

TEST("writes sqlite")
{
#ifdef HAVE_SQLITE
	sqlite3 *sql;

	if (!write_as("sqlite"))
		return;
	CU_ASSERT_EQUAL_FATAL(sqlite3_open_v2("file", &sql, SQLITE_OPEN_READONLY, NULL),
			      SQLITE_OK);
	CU_ASSERT(answers(sql, "PRAGMA integrity_check", "ok"));
	CU_ASSERT(answers(sql, "PRAGMA user_version", "1"));
	CU_ASSERT(answers(sql, "SELECT value FROM meta WHERE key = 'schema_version'", "1"));
	CU_ASSERT(answers(sql, "SELECT value FROM meta WHERE key = 'command'",
			  "prog -x \\x1b[2J"));
	/* As `malloc sites`: neither what was there before nor what is gone. */
	CU_ASSERT(answers(sql, "SELECT count(*), sum(bytes), sum(count), sum(total) FROM sites",
			  "3|60|4|7"));
	CU_ASSERT(answers(sql, "SELECT function, growth, \"over\" FROM sites WHERE stack = 1",
			  SHOWN "|-4|2.0"));
	CU_ASSERT(answers(sql, "SELECT group_concat(function, ' < ') FROM (SELECT function FROM "
			  "stacks JOIN frames ON frame = id WHERE stack = 2 ORDER BY depth)",
			  "malloc < f < f < main"));
	CU_ASSERT(answers(sql, "SELECT build_id, path, pc, \"offset\", line FROM frames JOIN modules "
			  "ON module = modules.id WHERE function = 'main'",
			  "0123ab|/usr/bin/prog|4176|80|9"));
	CU_ASSERT(answers(sql, "SELECT (SELECT count(*) FROM allocations), (SELECT count(*) FROM "
			  "samples), (SELECT count(*) FROM marks)", "0|0|0"));
	CU_ASSERT(answers(sql, "SELECT max(length(function)) FROM frames", "10000"));
	sqlite3_close(sql);
#else
	unit_skip("built without SQLite");
#endif
}

TEST("sqlite needs a file")
{
	const struct export_format *format = format_of("sqlite");
	struct err *err;
	struct export_done done;

	if (!format)
		return;
	err = export_format_write(format, &model, NULL, "/dev/null", &done);
	CU_ASSERT_FATAL(err && err->code == ERR_UNSUPPORTED);
	CU_ASSERT_PTR_NOT_NULL(strstr(err->msg, "/dev/null"));
}

#ifdef HAVE_PROTOBUF_C
static Perftools__Profiles__Profile *read_profile(void)
{
	AUTO_STR struct str bytes = STR_INIT;
	gzFile file = gzopen("file", "rb");
	char buf[4096];
	int len;

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_FALSE(gzdirect(file));
	while ((len = gzread(file, buf, sizeof(buf))) > 0)
		CU_ASSERT_PTR_NULL_FATAL(str_add_bytes(&bytes, buf, (size_t)len));
	CU_ASSERT_EQUAL(gzclose(file), Z_OK);
	return perftools__profiles__profile__unpack(NULL, bytes.len, (const uint8_t *)bytes.at);
}

/* The name of the innermost function but the entry of a sample. */
static const char *name_in(const Perftools__Profiles__Profile *profile, size_t sample)
{
	uint64_t location = profile->sample[sample]->location_id[1];
	uint64_t function = profile->location[location - 1]->line[0]->function_id;

	return profile->string_table[profile->function[function - 1]->name];
}
#endif

TEST("writes pprof")
{
#ifdef HAVE_PROTOBUF_C
	Perftools__Profiles__Profile *profile;
	int64_t sums[4] = { 0 };

	if (!write_as("pprof"))
		return;
	profile = read_profile();
	CU_ASSERT_PTR_NOT_NULL_FATAL(profile);
	CU_ASSERT_EQUAL_FATAL(profile->n_sample, 5);
	CU_ASSERT_EQUAL_FATAL(profile->n_sample_type, 4);
	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < 4; j++)
			sums[j] += profile->sample[i]->value[j];
	CU_ASSERT(sums[0] == 67 && sums[1] == 5 && sums[2] == 187 && sums[3] == 11);
	CU_ASSERT_STRING_EQUAL(profile->string_table[profile->sample_type[0]->type], "inuse_space");
	CU_ASSERT_STRING_EQUAL(profile->string_table[profile->default_sample_type], "inuse_space");
	CU_ASSERT_STRING_EQUAL(name_in(profile, 0), SHOWN);
	CU_ASSERT_STRING_EQUAL(name_in(profile, 2), model_long());
	CU_ASSERT_EQUAL(profile->location[1]->address, 0x100f);
	CU_ASSERT_EQUAL(profile->location[6]->mapping_id, 0);
	CU_ASSERT_EQUAL(profile->mapping[0]->memory_limit, 0x2000);
	CU_ASSERT_STRING_EQUAL(profile->string_table[profile->mapping[0]->build_id], "0123ab");
	/* f is one function, met at two lines. */
	CU_ASSERT_EQUAL(profile->n_function, 6);
	CU_ASSERT_EQUAL(profile->time_nanos, 5000000000);
	perftools__profiles__profile__free_unpacked(profile, NULL);
#else
	unit_skip("built without protobuf-c");
#endif
}

/* Of an earlier moment bytes, count and growth are known, and nothing else is written. */
TEST("writes no more than was known")
{
	AUTO_STR struct str text = STR_INIT;

	model.past = true;
	if (write_as("csv")) {
		folder_get("file", &text);
		CU_ASSERT_PTR_NOT_NULL(strstr(str_text(&text), "\n20,1,,,,,,,0,0.000000,2.000000,0,"));
	}
	str_clear(&text);
	if (write_as("callgrind")) {
		folder_get("file", &text);
		CU_ASSERT_PTR_NOT_NULL(strstr(str_text(&text), "\nevents: curB curBk\n"));
		CU_ASSERT_PTR_NOT_NULL(strstr(str_text(&text), "\ntotals: 67 5\n"));
		CU_ASSERT_PTR_NOT_NULL(strstr(str_text(&text), "\ncalls=2 0\n"));
		CU_ASSERT_PTR_NULL(strstr(str_text(&text), "totB"));
	}
#ifdef HAVE_PROTOBUF_C
	if (write_as("pprof")) {
		Perftools__Profiles__Profile *profile = read_profile();

		CU_ASSERT_EQUAL(profile->n_sample_type, 2);
		CU_ASSERT_EQUAL(profile->sample[0]->n_value, 2);
		CU_ASSERT_EQUAL(profile->sample[0]->value[0], 30);
		perftools__profiles__profile__free_unpacked(profile, NULL);
	}
#endif
	model.past = false;
}

TEST("finds formats")
{
	const struct export_format *format;
	struct err *err = export_format_find("xml", &format);

	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_STRING_EQUAL(err->msg, "'xml' is no format");
	CU_ASSERT_PTR_NOT_NULL(strstr(err->hint, "folded, "));
	CU_ASSERT_PTR_NOT_NULL(strstr(err->hint, " or heapsnapshot"));
	for (size_t i = 0; export_formats[i]; i++)
		CU_ASSERT_EQUAL(!export_formats[i]->write && !export_formats[i]->rows &&
				!export_formats[i]->owners, !!export_formats[i]->library);
}

TEST("names the formats that can write lists and growth")
{
	AUTO_STR struct str lists = STR_INIT, growth = STR_INIT;

	CU_ASSERT_PTR_NULL(export_format_names(export_format_has_lists, &lists));
	CU_ASSERT_PTR_NULL(export_format_names(export_format_has_growth, &growth));
	CU_ASSERT_PTR_NOT_NULL(strstr(str_text(&lists), "csv"));
	CU_ASSERT_PTR_NULL(strstr(str_text(&lists), "folded"));
	CU_ASSERT_PTR_NOT_NULL(strstr(str_text(&growth), "folded, flamegraph"));
	CU_ASSERT_PTR_NOT_NULL(strstr(str_text(&growth), "csv"));
	CU_ASSERT_PTR_NOT_NULL(strstr(str_text(&growth), "pprof"));
	CU_ASSERT_PTR_NULL(strstr(str_text(&growth), "heapsnapshot"));
}

