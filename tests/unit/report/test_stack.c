/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tracebacks, names and the big table. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "fake_session.h"
#include "heap/block.h"
#include "report/blocks.h"
#include "report/out.h"
#include "report/stack.h"
#include "session/heap.h"
#include "symbol/symbol.h"
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
	session_destroy(session, NULL);
	return 0;
}

static void check_frame(const struct symbol_frame *frame, const char *want)
{
	AUTO_STR struct str text = STR_INIT;

	CU_ASSERT_PTR_NULL(inlined_text(&text, frame));
	CU_ASSERT_STRING_EQUAL(str_text(&text), want);
}

static void formats_frames(void)
{
	struct symbol_frame frame = { .pc = 1,
				      .function = "f",
				      .inlined = true,
				      .module = "libx.so",
				      .file = "/src/dir/x.c",
				      .line = 42 };

	check_frame(&frame, "f (x.c:42) (inlined)");
	frame.file = NULL;
	check_frame(&frame, "f [libx.so] (inlined)");
	frame.function = frame.module = NULL;
	check_frame(&frame, "?? (inlined)");
}

static void prints_stacks(void)
{
	AUTO_STR struct str text = STR_INIT;
	uint32_t whole = fake_stack(session, WALK_COMPLETE), cut = fake_stack(session, WALK_NO_ROW);
	struct stack_texts texts;
	struct out out;
	char want[160];
	unsigned i;

	stack_texts_init(&texts, session, 7);
	CU_ASSERT_PTR_NULL_FATAL(out_init_str(&out, &text));
	for (i = 0; i < 3; i++)
		CU_ASSERT_PTR_NULL(stack_texts_print(&texts, whole, &out));
	CU_ASSERT_PTR_NULL(stack_texts_print(&texts, cut, &out));
	CU_ASSERT_PTR_NULL(stack_texts_print(&texts, LOG_STACK_NONE, &out));
	CU_ASSERT_PTR_NULL(stack_texts_print(&texts, 99999, &out));
	CU_ASSERT_EQUAL(texts.used, 3);
	stack_texts_free(&texts);
	CU_ASSERT_PTR_NULL(out_finish(&out));
	CU_ASSERT_EQUAL(strncmp(text.at, "0x0000000000010000 malloc\n       0x", 35), 0);
	snprintf(want, sizeof(want), "       (stack ends here: %s)\n(no stack)\n(no stack)\n",
		 walk_end_name(WALK_NO_ROW));
	CU_ASSERT_STRING_EQUAL(text.at + text.len - strlen(want), want);
}

static void matches_names(void)
{
	uint32_t stack = fake_stack(session, WALK_COMPLETE);
	struct stack_names names;
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
	stack_names_free(&names);
}

static const struct session_heap heap = { .complete = true };

static void shows_blocks_from_before(void)
{
	AUTO_STR struct str text = STR_INIT;
	struct blocks blocks = BLOCKS_INIT;
	struct block early = {
		.address = 0x1000, .size = 12345678901, .heap = LOG_HEAP_MMAP, .preattach = true
	};
	struct block main_heap = { .address = 0x2000, .size = 1, .heap = 3, .preattach = true };
	struct out out;
	char want[256];

	CU_ASSERT_PTR_NULL_FATAL(vec_push(&blocks.vec, early));
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&blocks.vec, main_heap));
	CU_ASSERT_PTR_NULL_FATAL(out_init_str(&out, &text));
	CU_ASSERT_PTR_NULL(blocks_print(session, &blocks, &heap, &out));
	CU_ASSERT_PTR_NULL(out_finish(&out));
	/* SIZE grows by a character, all else stays. */
	snprintf(want, sizeof(want),
		 "\n0x0000000000001000 12345678901 mmap  %-8d%-8s%-19s%-12s%-11s(allocated before "
		 "attach)\n",
		 FAKE_PID, "-", "-", "-", "-");
	CU_ASSERT_PTR_NOT_NULL(strstr(text.at, want));
	CU_ASSERT_PTR_NOT_NULL(strstr(text.at, "\n0x0000000000002000 1           3     "));
	CU_ASSERT_PTR_NOT_NULL(strstr(
		text.at,
		"\n2 allocations, 12345678902 bytes; 2 allocations, 12345678902 bytes from "));
	blocks_free(&blocks);
}

static void ends_on_ctrl_c(void)
{
	AUTO_STR struct str text = STR_INIT;
	struct blocks blocks = BLOCKS_INIT;
	struct block block = { .address = 0x1000, .preattach = true };
	struct err *err;
	struct out out;

	CU_ASSERT_PTR_NULL_FATAL(vec_push(&blocks.vec, block));
	CU_ASSERT_PTR_NULL_FATAL(out_init_str(&out, &text));
	cancel_request();
	err = blocks_print(session, &blocks, &heap, &out);
	cancel_clear();
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_CANCELLED);
	CU_ASSERT_PTR_NULL(out_finish(&out));
	blocks_free(&blocks);
}

void suite_stack(void);

void suite_stack(void)
{
	CU_pSuite suite = CU_add_suite("stack", start, end);

	CU_add_test(suite, "formats frames", formats_frames);
	CU_add_test(suite, "prints stacks", prints_stacks);
	CU_add_test(suite, "matches names", matches_names);
	CU_add_test(suite, "shows blocks from before", shows_blocks_from_before);
	CU_add_test(suite, "ends on Ctrl-C", ends_on_ctrl_c);
}
