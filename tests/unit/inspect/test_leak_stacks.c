/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which memory is a stack, by what a target has in its control blocks. */

#include "inspect/leak_stacks.h"

#include "arch/arch.h"
#include "inspect/leak_marks.h"
#include "inspect/leak_search.h"
#include "inspect/memory_view.h"
#include "memory_array.h"
#include "os/procparse.h"
#include "unit.h"

/* The mappings. */
#define GUARD		0xf000ull
#define STACK		0x10000ull
#define END		0x20000ull
#define KERNELS		0x7fff0000ull
#define KERNELS_END	0x80000000ull

#define TP		0x1f800ull	/* a control block at the end of the stack's mapping */
#define STACK_OFFSET	64u		/* where that has the start of the stack and its size */
#define LARGE		(64ull << 20)	/* thread-local memory: more than there is below TP */

static uint64_t words[(END - STACK) / 8];
static struct memory_array memory;

static void put(uint64_t address, uint64_t word)
{
	words[(address - STACK) / 8] = word;
}

static void open_view(struct memory_view *view)
{
	static const char maps[] =
		"0000f000-00010000 ---p 00000000 00:00 0 \n"
		"00010000-00020000 rw-p 00000000 00:00 0 \n"
		"7fff0000-80000000 rw-p 00000000 00:00 0 [stack]\n";

	memset(words, 0, sizeof(words));
	put(TP, TP);
	put(TP + 16, TP);
	put(TP + STACK_OFFSET, GUARD);
	put(TP + STACK_OFFSET + 8, END - GUARD);
	memory_array_init(&memory, words, STACK, sizeof(words));
	*view = (struct memory_view){ .memory = &memory.memory, .arch = arch_host(),
				      .stack_offset = STACK_OFFSET };
	CU_ASSERT_PTR_NULL_FATAL(procparse_maps(maps, &view->maps));
}

/* end: 0 if it is not known as a stack. */
static void check_used(const struct memory_view *view, uint64_t tls_size, uint64_t end)
{
	uint64_t sp = regs_get(&view->threads.at[0].regs, view->arch->sp);
	struct leak_stacks stacks = { VEC_INIT };

	CU_ASSERT_PTR_NULL_FATAL(leak_stacks_add(view, view->threads.at, tls_size, &stacks));
	CU_ASSERT_EQUAL_FATAL(stacks.vec.nr, end ? 1 : 0);
	if (end) {
		CU_ASSERT_EQUAL(stacks.vec.at[0].range.start, sp - view->arch->red_zone);
		CU_ASSERT_EQUAL(stacks.vec.at[0].range.end, end);
		CU_ASSERT_EQUAL(stacks.vec.at[0].tid, 7);
	}
	vec_free(&stacks.vec);
}

/* Static thread-local memory is below the thread pointer, and not larger than what is there. */
TEST("the stack of a thread that runs ends where its thread-local memory begins")
{
	struct memory_view_thread thread = { .tid = 7, .placed = true, .tp = TP };
	CLEANUP(memory_view_free) struct memory_view view;

	open_view(&view);
	regs_set(&thread.regs, view.arch->sp, STACK + 1024);
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&view.threads, thread));
	check_used(&view, 256, TP - 256);
	check_used(&view, 0, 0);
	check_used(&view, TP - STACK, 0);
	check_used(&view, LARGE, 0);
	/* On another stack than its own, as a signal's. */
	regs_set(&view.threads.at[0].regs, view.arch->sp, END + 1024);
	check_used(&view, 256, 0);
	/* That of the first thread has none, nor a control block. */
	regs_set(&view.threads.at[0].regs, view.arch->sp, KERNELS + 1024);
	check_used(&view, 256, KERNELS_END);
	check_used(&view, 0, KERNELS_END);
}

static void check_ended(const struct memory_view *view, uint64_t tls_size, uint64_t end)
{
	struct reach_ranges ranges = { VEC_INIT };

	CU_ASSERT_PTR_NULL_FATAL(leak_stacks_ended(view, tls_size, &ranges));
	CU_ASSERT_EQUAL_FATAL(ranges.vec.nr, end ? 1 : 0);
	if (end) {
		CU_ASSERT_EQUAL(ranges.vec.at[0].start, STACK);
		CU_ASSERT_EQUAL(ranges.vec.at[0].end, end);
	}
	vec_free(&ranges.vec);
}

TEST("the stack of a thread that has ended ends there, too, if it is known where")
{
	CLEANUP(memory_view_free) struct memory_view view;

	open_view(&view);
	check_ended(&view, 256, TP - 256);
	check_ended(&view, 0, 0);
	check_ended(&view, TP - STACK, 0);
	check_ended(&view, LARGE, 0);
}

TEST("roots come apart into stacks and the rest, and nothing is in both")
{
	struct leak_stacks stacks = { VEC_INIT };
	struct reach_ranges roots = { VEC_INIT }, on_stack = { VEC_INIT };

	CU_ASSERT_PTR_NULL_FATAL(vec_push(&stacks.vec, ((struct leak_stack){ { 0x200, 0x300 }, 7 })));
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&stacks.vec, ((struct leak_stack){ { 0x900, 0xa00 }, 8 })));
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&roots.vec, ((struct reach_range){ 0x100, 0x400 })));
	CU_ASSERT_PTR_NULL_FATAL(leak_stacks_split(&stacks, &roots, &on_stack));
	CU_ASSERT_EQUAL_FATAL(roots.vec.nr, 2);
	CU_ASSERT(roots.vec.at[0].start == 0x100 && roots.vec.at[0].end == 0x200);
	CU_ASSERT(roots.vec.at[1].start == 0x300 && roots.vec.at[1].end == 0x400);
	/* A stack that is no root does not become one. */
	CU_ASSERT_EQUAL_FATAL(on_stack.vec.nr, 1);
	CU_ASSERT(on_stack.vec.at[0].start == 0x200 && on_stack.vec.at[0].end == 0x300);
	vec_free(&stacks.vec);
	vec_free(&roots.vec);
	vec_free(&on_stack.vec);
}

TEST("holders are told with their places, those of most bytes first")
{
	static const struct reach_holder held[] = {
		{ .place = 0x208, .bytes = 10 },
		{ .place = 1, .is_register = true, .bytes = 30 },
		{ .place = 0, .is_register = true, .bytes = 20 },
	};
	const struct search_origin word[] = {
		{ SEARCH_REGISTER, 5, 3 }, { SEARCH_VECTOR, 6, 4 },
	};
	struct leak_stacks stacks = { VEC_INIT };
	struct search_origins origins = { VEC_INIT };
	CLEANUP(leak_marks_free) struct leak_marks marks = { .held = PACKED_INIT };

	for (size_t i = 0; i < ARRAY_SIZE(held); i++)
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&marks.mark.holders, held[i]));
	for (size_t i = 0; i < ARRAY_SIZE(word); i++)
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&origins.vec, word[i]));
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&stacks.vec, ((struct leak_stack){ { 0x200, 0x300 }, 7 })));
	CU_ASSERT_PTR_NULL_FATAL(leak_stacks_holders(&stacks, &origins, &marks));
	CU_ASSERT_EQUAL_FATAL(marks.holders.nr, 3);
	CU_ASSERT(marks.holders.at[0].in == LEAK_HOLDER_VECTOR && marks.holders.at[0].tid == 6);
	CU_ASSERT(marks.holders.at[1].in == LEAK_HOLDER_REGISTER && marks.holders.at[1].index == 3);
	CU_ASSERT(marks.holders.at[2].in == LEAK_HOLDER_STACK && marks.holders.at[2].tid == 7);
	vec_free(&stacks.vec);
	vec_free(&origins.vec);
}
