/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tracebacks, names and the big table. */

#include "answer/block_rows.h"
#include "base/cancel.h"
#include "fake_session.h"
#include "heap/block.h"
#include "heap/block_list.h"
#include "heap/heap_walk.h"
#include "heap/suppression.h"
#include "report/blocks.h"
#include "report/out.h"
#include "report/sites.h"
#include "report/suppressed.h"
#include "report/traceback.h"
#include "session/heap.h"
#include "symbol/symbol.h"
#include "text_out.h"
#include "unit.h"

static struct session *session;

static int start(void)
{
	if (session_create(&session))
		return 1;
	fake_attach(session);
	return 0;
}

static int end(void)
{
	session_destroy(session);
	return 0;
}

FIXTURE(start, end);

static void check_frame(const struct symbol_frame *frame, const char *want)
{
	AUTO_STR struct str text = STR_INIT;

	CU_ASSERT_PTR_NULL(traceback_inlined(&text, frame, SYMBOL_NAMES_SHORT));
	CU_ASSERT_STRING_EQUAL(str_text(&text), want);
}

TEST("formats frames")
{
	struct symbol_frame frame = { .pc = 1,
				      .function = "f<>",
				      .brief = "f",
				      .inlined = true,
				      .module = "libx.so",
				      .file = "/src/dir/x.c",
				      .line = 42 };

	check_frame(&frame, "f (x.c:42) (inlined)");
	frame.file = NULL;
	check_frame(&frame, "f [libx.so] (inlined)");
	frame.function = frame.brief = frame.module = NULL;
	check_frame(&frame, "?? (code of no file) (inlined)");
	frame.module = "libx.so";
	check_frame(&frame, "?? (inlined)");
	frame.place = "[libx.so+0x10]";
	check_frame(&frame, "[libx.so+0x10] (inlined)");
}

TEST("prints stacks")
{
	AUTO_STR struct str text = STR_INIT;
	uint32_t whole = fake_stack(session, WALK_COMPLETE), cut = fake_stack(session, WALK_NO_ROW);
	struct stack_texts texts;
	struct out out;
	char want[160];
	unsigned i;

	traceback_texts_init(&texts, session, 7);
	text_out_init(&out);
	for (i = 0; i < 3; i++)
		CU_ASSERT_PTR_NULL(traceback_texts_print(&texts, whole, &out));
	CU_ASSERT_PTR_NULL(traceback_texts_print(&texts, cut, &out));
	CU_ASSERT_PTR_NULL(traceback_texts_print(&texts, LOG_STACK_NONE, &out));
	CU_ASSERT_PTR_NULL(traceback_texts_print(&texts, 99999, &out));
	CU_ASSERT_EQUAL(texts.lines.nr, 3);
	traceback_texts_free(&texts);
	text_out_finish(&out, &text);
	CU_ASSERT_EQUAL(strncmp(text.at, "0x0000000000010000 malloc\n       0x", 35), 0);
	snprintf(want, sizeof(want), "       (stack ends here: %s)\n(no stack)\n"
		 "(the log is damaged: it has no such stack)\n",
		 walk_end_name(WALK_NO_ROW));
	CU_ASSERT_STRING_EQUAL(text.at + text.len - strlen(want), want);
}

/* Only what lies in the kernel's mapping is a uretprobe's, and only where the walk ended with that. */
TEST("tells uretprobes")
{
	static const char uretprobe[] = "a uretprobe of another tool has taken the return address";
	static const uint64_t first = FAKE_UPROBES, last = FAKE_UPROBES + 4095;
	static const uint64_t below = FAKE_UPROBES - 1, above = FAKE_UPROBES + 4096;
	const uint64_t pcs[] = { 0x10000, first };
	const char *other = walk_end_name(WALK_NO_MODULE);
	struct stack_ends ends = { .session = session };
	AUTO_STR struct str text = STR_INIT;
	struct stack_texts texts;
	struct out out;

	CU_ASSERT_STRING_EQUAL(stack_end_text(&ends, WALK_DEPTH, pcs, 2), "stack depth");
	CU_ASSERT_FALSE(ends.looked);
	CU_ASSERT_STRING_EQUAL(stack_end_text(&ends, WALK_NO_MODULE, pcs, 2), uretprobe);
	CU_ASSERT_STRING_EQUAL(stack_end_text(&ends, WALK_NO_MODULE, &last, 1), uretprobe);
	CU_ASSERT_STRING_EQUAL(stack_end_text(&ends, WALK_NO_MODULE, pcs, 1), other);
	CU_ASSERT_STRING_EQUAL(stack_end_text(&ends, WALK_NO_MODULE, pcs, 0), other);
	CU_ASSERT_STRING_EQUAL(stack_end_text(&ends, WALK_NO_MODULE, &below, 1), other);
	CU_ASSERT_STRING_EQUAL(stack_end_text(&ends, WALK_NO_MODULE, &above, 1), other);
	traceback_texts_init(&texts, session, 2);
	text_out_init(&out);
	CU_ASSERT_PTR_NULL(traceback_texts_print(&texts,
						 stack_table_insert(session_log(session), pcs,
									    2,
									    WALK_NO_MODULE, 0),
						 &out));
	traceback_texts_free(&texts);
	text_out_finish(&out, &text);
	CU_ASSERT_STRING_EQUAL(text.at, "0x0000000000010000 malloc\n  0xffffffffff700000 ??\n"
			       "  (stack ends here: a uretprobe of another tool has taken the "
			       "return address)\n");
}

/* By ids that a target wrote: no array is made for them, nor read beyond its end. */
TEST("matches no damaged stacks")
{
	static const uint32_t damaged[] = { LOG_STACK_DAMAGED, 0xfffffff0, 0x7fffffff, 1u << 24 };
	struct suppressions suppressions = { VEC_INIT };
	struct stack_suppress suppress = { .session = session, .suppressions = &suppressions };
	struct stack_names names;

	stack_names_init(&names, session);
	for (unsigned i = 0; i < ARRAY_SIZE(damaged); i++) {
		struct block block = { .address = 1, .stack = damaged[i] };

		CU_ASSERT_FALSE(stack_names_match(&names, damaged[i], FILTER_FUNCTION, "*"));
		CU_ASSERT_FALSE(stack_names_match(&names, damaged[i], FILTER_FUNCTION, "*"));
		CU_ASSERT_EQUAL(stack_names_key(&names, damaged[i], SITE_FUNCTION), 0);
		CU_ASSERT_EQUAL(suppressed_stack_of(&suppress, &block), SUPPRESS_NONE);
	}
	CU_ASSERT_TRUE(names.matches.nr == 0 || names.matches.at[0].known.nr < 1000);
	CU_ASSERT_TRUE(suppress.known.nr < 1000);
	/* Nor is the session asked for each of them. */
	CU_ASSERT_PTR_NULL(names.symbols);
	CU_ASSERT_PTR_NULL(suppress.symbols);
	suppressed_stack_free(&suppress);
	stack_names_free(&names);
}

TEST("matches names")
{
	uint32_t stack = fake_stack(session, WALK_COMPLETE);
	CLEANUP(stack_names_free) struct stack_names names;
	unsigned i;

	stack_names_init(&names, session);
	for (i = 0; i < 2; i++) {
		CU_ASSERT_TRUE(stack_names_match(&names, stack, FILTER_FUNCTION, "fake_*"));
		CU_ASSERT_TRUE(stack_names_match(&names, stack, FILTER_FUNCTION, "malloc"));
		CU_ASSERT_FALSE(stack_names_match(&names, stack, FILTER_FUNCTION, "fake"));
		CU_ASSERT_TRUE(stack_names_match(&names, stack, FILTER_MODULE, "fake"));
		CU_ASSERT_TRUE(stack_names_match(&names, stack, FILTER_MODULE, "/usr/bin/*"));
		CU_ASSERT_FALSE(stack_names_match(&names, LOG_STACK_NONE, FILTER_MODULE, "*"));
	}
	CU_ASSERT_STRING_EQUAL(
		stack_names_name(&names, stack_names_key(&names, stack, SITE_FUNCTION)),
		"fake_load");
	CU_ASSERT_STRING_EQUAL(
		stack_names_name(&names, stack_names_key(&names, stack, SITE_MODULE)), "fake");
	CU_ASSERT_EQUAL(stack_names_key(&names, stack, SITE_MODULE),
			stack_names_key(&names, stack, SITE_MODULE));
	CU_ASSERT_EQUAL(stack_names_key(&names, LOG_STACK_NONE, SITE_FUNCTION), 0);
	CU_ASSERT_STRING_EQUAL(stack_names_name(&names, 0), "(unknown)");
}

/* The stack of a call of the entry that fake_stack begins with, at this place of fake_load. */
static uint32_t stack_at(unsigned place)
{
	const uint64_t pcs[] = { 0x10000, (uintptr_t)fake_load + place };

	return stack_table_insert(session_log(session), pcs, 2, WALK_COMPLETE, 0);
}

/* All calls in a line have one key, and calls in different lines of a function have not. */
TEST("counts by line")
{
	CLEANUP(stack_names_free) struct stack_names names;
	AUTO_STR struct str text = STR_INIT;
	struct site site = { .stack = stack_at(2) };
	uint64_t function;
	unsigned lines = 0;

	stack_names_init(&names, session);
	function = stack_names_key(&names, site.stack, SITE_FUNCTION);
	site.key = stack_names_key(&names, site.stack, SITE_LINE);
	CU_ASSERT(site.key && site.key != function);
	CU_ASSERT_STRING_EQUAL(stack_names_name(&names, site.key), "fake_session.c");
	CU_ASSERT_EQUAL(stack_names_line(&names, function), 0);
	CU_ASSERT_PTR_NULL(site_label(&names, SITE_LINE, &site, &text));
	CU_ASSERT_EQUAL(strncmp(str_text(&text), "line fake_session.c:", 20), 0);
	CU_ASSERT_EQUAL(atoi(str_text(&text) + 20), stack_names_line(&names, site.key));
	for (unsigned place = 1; place < 128; place++) {
		uint64_t key = stack_names_key(&names, stack_at(place), SITE_LINE);

		CU_ASSERT_EQUAL(key == site.key, stack_names_line(&names, key) ==
				stack_names_line(&names, site.key));
		lines += key != site.key;
	}
	CU_ASSERT(lines > 0 && lines < 127);
	str_clear(&text);
	site.key = 0;
	CU_ASSERT_PTR_NULL(site_label(&names, SITE_LINE, &site, &text));
	CU_ASSERT_STRING_EQUAL(str_text(&text), "line (unknown)");
	str_clear(&text);
	/* The function of a frame without a line. */
	site.key = function;
	CU_ASSERT_PTR_NULL(site_label(&names, SITE_LINE, &site, &text));
	CU_ASSERT_STRING_EQUAL(str_text(&text), "function fake_load, line not known");
}

/* The frame that a site is named after, and which lines are dim. */
TEST("looks through wrappers")
{
	static const char *const globs[] = { "fake_l?ad", "fake_m*", NULL };
	static const char *const own[] = { "fake_load", "fake_main", "fake_load" };
	uint32_t stack = fake_stack(session, WALK_COMPLETE);
	struct name_globs *skip = &session_naming(session)->skip;

	for (unsigned i = 0; i < ARRAY_SIZE(own); i++) {
		AUTO_STR struct str text = STR_INIT;
		struct stack_own found;
		struct stack_names names;
		struct stack_texts texts;
		struct out out;

		stack_names_init(&names, session);
		traceback_texts_init(&texts, session, 2);
		text_out_init(&out);
		out.color = true;
		CU_ASSERT_TRUE(stack_names_own(&names, stack, &found));
		CU_ASSERT_STRING_EQUAL(found.frame.function, own[i]);
		CU_ASSERT_PTR_NULL(traceback_texts_print(&texts, stack, &out));
		CU_ASSERT_FALSE(stack_names_own(&names, LOG_STACK_NONE, &found));
		traceback_texts_free(&texts);
		stack_names_free(&names);
		text_out_finish(&out, &text);
		/* The entry is the allocator's; the caller is dim as soon as it is skipped. */
		CU_ASSERT_EQUAL(strncmp(text.at, "\033[2m0x0000000000010000 malloc\033[0m\n", 34), 0);
		CU_ASSERT_EQUAL(strstr(text.at, "\n  \033[2m0x") != NULL, i > 0);
		if (globs[i])
			CU_ASSERT_PTR_NULL(name_globs_add(skip, globs[i]));
	}
	name_globs_free(skip);
}

/* Dim lines that are broken go on where others do. */
TEST("breaks dim lines")
{
	static const char lines[] = "        a_name_of_25_characters_x (x.c:1)\n"
				    "        another_name_of_26_letters (x.c:2)\n";
	AUTO_STR struct str text = STR_INIT;
	struct out out;

	text_out_init(&out);
	out.color = true;
	out.columns = 40;
	traceback_print_lines(&out, lines, sizeof(lines) - 1, 1);
	text_out_finish(&out, &text);
	CU_ASSERT_STRING_EQUAL(text.at, "        \033[2ma_name_of_25_characters_x\n"
					"            (x.c:1)\033[0m\n"
					"        another_name_of_26_letters\n"
					"            (x.c:2)\n");
}

/* A walk of blocks from before the attach, listed as they are; those of one heap end to end. */
static struct err *print_early(const struct heap_chunk *chunk, size_t nr, struct out *out)
{
	const struct filter filter = { VEC_INIT };
	const struct filter_order order = { .limit = UINT64_MAX };
	struct heaps heap = { .complete = true, .walked = true,
				     .walk = { .caches_known = true, .mmapped_certain = true } };
	struct list_source source = { .walk = &heap.walk, .complete = true, .filter = &filter,
				      .order = &order };
	struct block_source rows = { .log = session_log(session), .pids = session_pids(session) };
	struct err *err;
	bool new_run;

	for (size_t i = 0; i < nr; i++)
		CU_ASSERT_PTR_NULL_FATAL(heap_chunks_add(&heap.walk.chunks, &chunk[i], &new_run));
	CU_ASSERT_PTR_NULL_FATAL(block_list_create(&source, &rows.list));
	err = blocks_print(session, &rows, &heap, false, out);
	block_list_free(rows.list);
	heap_walk_free(&heap.walk);
	return err;
}

TEST("shows blocks from before")
{
	const struct heap_chunk chunk[] = {
		{ 0x1000, 12345678896 + 16, LOG_HEAP_MMAP, CHUNK_MMAPPED, NOTE_EARLY, false },
		{ 0x800000000, 32, 3, CHUNK_USED, NOTE_EARLY, false },
		{ 0x800000020, 32, 3, CHUNK_USED, NOTE_NONE, false },
		{ 0x800000040, 32, 3, CHUNK_FREE, NOTE_NONE, false },
	};
	AUTO_STR struct str text = STR_INIT;
	struct out out;
	char want[256];

	text_out_init(&out);
	CU_ASSERT_PTR_NULL(print_early(chunk, ARRAY_SIZE(chunk), &out));
	text_out_finish(&out, &text);
	/* SIZE grows by a character, all else stays. */
	snprintf(want, sizeof(want),
		 "\n0x0000000000001000 12345678896 mmap  %-8d%-8s%-19s%-12s%-11s(allocated before "
		 "attach)\n",
		 FAKE_PID, "-", "-", "-", "-");
	CU_ASSERT_PTR_NOT_NULL(strstr(text.at, want));
	CU_ASSERT_PTR_NOT_NULL(strstr(text.at, "\n0x0000000800000000 24          3     "));
	CU_ASSERT_PTR_NOT_NULL(strstr(
		text.at,
		"\n2 allocations, 12345678920 bytes; 2 allocations, 12345678920 bytes from "));
}

/* What has no room goes below or out, and that is said; all of it is there in a file. */
TEST("fits a terminal")
{
	const struct heap_chunk chunk[] = {
		{ 0x1000, 1536 + 8, 3, CHUNK_USED, NOTE_EARLY, false },
	};
	AUTO_STR struct str narrow = STR_INIT;
	AUTO_STR struct str wide = STR_INIT;
	struct out out;
	char want[256];

	text_out_init(&out);
	out.columns = 80;
	out.units = true;
	CU_ASSERT_PTR_NULL(print_early(chunk, ARRAY_SIZE(chunk), &out));
	text_out_finish(&out, &narrow);
	snprintf(want, sizeof(want),
		 "\nADDRESS            SIZE       HEAP  PID     THREAD  CLOCKTIME   SEQ\n"
		 "    STACK TRACEBACK\n"
		 "0x0000000000001000 1.5K       3     %-8d-       -           -\n"
		 "    (allocated before attach)\n", FAKE_PID);
	CU_ASSERT_PTR_NOT_NULL(strstr(narrow.at, want));
	CU_ASSERT_PTR_NOT_NULL(strstr(narrow.at, "\nLeft out on a terminal of this width, but not "
						 "in a file: PTHREAD_T\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(narrow.at, "\n1 allocations, 1.5K bytes; 1 allocations, "));
	text_out_init(&out);
	out.columns = 200;
	CU_ASSERT_PTR_NULL(print_early(chunk, ARRAY_SIZE(chunk), &out));
	text_out_finish(&out, &wide);
	CU_ASSERT_PTR_NOT_NULL(strstr(wide.at, "PTHREAD_T          CLOCKTIME   SEQ        STACK "));
	CU_ASSERT_PTR_NOT_NULL(strstr(wide.at, "\n0x0000000000001000 1536       3     "));
	CU_ASSERT_PTR_NULL(strstr(wide.at, "Left out"));
}

TEST("ends on Ctrl-C")
{
	const struct heap_chunk chunk = { 0x1000, 32, 0, CHUNK_USED, NOTE_EARLY, false };
	AUTO_STR struct str text = STR_INIT;
	struct err *err;
	struct out out;

	text_out_init(&out);
	cancel_request();
	err = print_early(&chunk, 1, &out);
	cancel_clear();
	CU_ASSERT_FATAL(err && err->code == ERR_CANCELLED);
	text_out_finish(&out, &text);
}

