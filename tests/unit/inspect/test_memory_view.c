/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a view says of stacks. */

#include "view_world.h"

EACH(world_open, world_close);

TEST("a stack is in use from the red zone on, or from the call of exit")
{
	CU_ASSERT_EQUAL(memory_view_stack_low(&world.view, the_thread()),
			SP - world.view.arch->red_zone);
	the_thread()->exit_low = SP + 64;
	CU_ASSERT_EQUAL(memory_view_stack_low(&world.view, the_thread()), SP + 64);
}

TEST("the words of a stack are those from the red zone on, as far as there are any")
{
	uint64_t word[MEMORY_VIEW_STACK_WORDS];
	uint64_t low = SP - world.view.arch->red_zone;

	put(low, 1);
	put(low + 8 * (MEMORY_VIEW_STACK_WORDS - 1), 2);
	CU_ASSERT_EQUAL(memory_view_stack_words(&world.view, the_thread(), word),
			MEMORY_VIEW_STACK_WORDS);
	CU_ASSERT(word[0] == 1 && word[MEMORY_VIEW_STACK_WORDS - 1] == 2);
	regs_set(&the_thread()->regs, world.view.arch->sp, END - 16 + world.view.arch->red_zone);
	CU_ASSERT_EQUAL(memory_view_stack_words(&world.view, the_thread(), word), 2);
	regs_set(&the_thread()->regs, world.view.arch->sp, END + 0x1000);
	CU_ASSERT_EQUAL(memory_view_stack_words(&world.view, the_thread(), word), 0);
}

TEST("a control block bounds a stack, if it has an address and a size that fit")
{
	uint64_t start, end;

	CU_ASSERT_TRUE_FATAL(memory_view_stack_bounds(&world.view, TP, &start, &end));
	CU_ASSERT(start == GUARD && end == END);
	CU_ASSERT_FALSE(memory_view_stack_bounds(&world.view, 0, &start, &end));
	CU_ASSERT_FALSE(memory_view_stack_bounds(&world.view, END, &start, &end));
	put(TP + STACK_OFFSET + 8, -GUARD);
	CU_ASSERT_FALSE(memory_view_stack_bounds(&world.view, TP, &start, &end));
	put(TP + STACK_OFFSET, 0);
	CU_ASSERT_FALSE(memory_view_stack_bounds(&world.view, TP, &start, &end));
	world.view.stack_offset = 0;
	CU_ASSERT_FALSE(memory_view_stack_bounds(&world.view, TP, &start, &end));
}

TEST("a thread's stack ends at its thread pointer, if it is on its own")
{
	uint64_t start, end;

	CU_ASSERT_TRUE_FATAL(memory_view_stack(&world.view, the_thread(), &start, &end));
	CU_ASSERT(start == GUARD && end == TP);
	regs_set(&the_thread()->regs, world.view.arch->sp, BLOCKS);
	CU_ASSERT_FALSE(memory_view_stack(&world.view, the_thread(), &start, &end));
	regs_set(&the_thread()->regs, world.view.arch->sp, TP);
	CU_ASSERT_FALSE(memory_view_stack(&world.view, the_thread(), &start, &end));
}
