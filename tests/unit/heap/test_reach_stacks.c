/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Marking: blocks that hang on words of stacks and registers alone. */

#include "reach_world.h"

/* The stack is the words from 40 on; words 32 and 33 are registers. */
static void run_with_stack(struct world *world)
{
	const struct reach_range root = { BASE, at(32) }, stack = { at(40), at(ROOT) };
	const struct reach_source source = {
		.unasked = UINT64_MAX, .memory = &world->in.memory, .list = &world->held,
		.root = &root, .nr_roots = 1, .stack = &stack, .nr_stacks = 1,
		.word = &world->in.word[31], .nr_words = 3, .nr_certain = 1,
	};

	reach_free(&world->result);
	CU_ASSERT_PTR_NULL_FATAL(packed_sort(&world->held, NULL));
	CU_ASSERT_PTR_NULL_FATAL(reach_run(&source, &world->result));
	CU_ASSERT_EQUAL(world->result.root_bytes, (32 + ROOT - 40) * 8);
}

static void check_holder(const struct world *world, uint32_t number, struct reach_holder want)
{
	const struct reach_holder *got = &world->result.holders.at[number];

	CU_ASSERT_EQUAL(got->place, want.place);
	CU_ASSERT_EQUAL(got->block, want.block);
	CU_ASSERT_EQUAL(got->words, want.words);
	CU_ASSERT_EQUAL(got->is_register, want.is_register);
	CU_ASSERT_EQUAL(got->blocks, want.blocks);
	CU_ASSERT_EQUAL(got->bytes, want.bytes);
}

/*
 * Only what nothing else leads to hangs on a word of a stack: a list by its head in the outer frame,
 * and not by the place in it of the inner one; a block that a register alone has; one whose inside
 * alone is pointed to. Kinds are the same as if the stack were any root.
 */
TEST("stacks")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	for (size_t i = 0; i < 8; i++)
		add(&world, 100 + 10 * i, 32);
	world.in.word[31] = at(170);		/* certain */
	world.in.word[0] = at(100);		/* data has it, and the stack, too */
	world.in.word[41] = at(100);
	world.in.word[60] = world.in.word[45] = at(110);	/* 110 -> 120 -> 130 */
	world.in.word[110] = at(120);
	world.in.word[120] = at(130);
	world.in.word[42] = at(120);
	world.in.word[32] = at(140);
	world.in.word[43] = at(152);
	world.in.word[1] = at(161);		/* data possibly has it, the stack its start */
	world.in.word[44] = at(160);
	run_with_stack(&world);
	for (size_t i = 0; i < 8; i++) {
		static const uint32_t holder[] = { REACH_NO_HOLDER, 0, 0, 0, 1, 2,
						   REACH_NO_HOLDER, REACH_NO_HOLDER };

		CU_ASSERT_EQUAL(reach_holder(&world.result, i), holder[i]);
		CU_ASSERT_EQUAL(kind_of(&world, i), i == 5 ? LEAK_POSSIBLE : LEAK_REACHABLE);
	}
	CU_ASSERT_EQUAL_FATAL(world.result.holders.nr, 3);
	check_holder(&world, 0, (struct reach_holder){ .place = at(60), .block = 1, .words = 2,
						       .blocks = 3, .bytes = 96 });
	check_holder(&world, 1, (struct reach_holder){ .place = 1, .block = 4, .words = 1,
						       .is_register = true, .blocks = 1,
						       .bytes = 32 });
	check_holder(&world, 2, (struct reach_holder){ .place = at(43), .block = 5, .words = 1,
						       .blocks = 1, .bytes = 32 });
}

/* More words of stacks than are listed are roots all the same. */
TEST("many words of stacks")
{
	enum { LISTED = 65536, FROM = 1000 };
	const struct reach_range stack = { at(FROM), at(FROM + LISTED + 10) };
	struct reach_source source = { .unasked = UINT64_MAX, .stack = &stack, .nr_stacks = 1 };
	CLEANUP(world_close) struct world world;

	world_open(&world);
	for (size_t i = 0; i < 3; i++)
		add(&world, 100 + 10 * i, 32);
	for (size_t i = 0; i < LISTED; i++)
		world.in.word[FROM + i] = at(100);
	world.in.word[FROM + LISTED + 2] = at(110);
	world.in.word[110] = at(120);
	source.memory = &world.in.memory;
	CU_ASSERT_PTR_NULL_FATAL(packed_sort(&world.held, NULL));
	source.list = &world.held;
	CU_ASSERT_PTR_NULL_FATAL(reach_run(&source, &world.result));
	for (size_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(kind_of(&world, i), LEAK_REACHABLE);
		CU_ASSERT_EQUAL(reach_holder(&world.result, i), i ? REACH_NO_HOLDER : 0);
	}
	CU_ASSERT_EQUAL_FATAL(world.result.holders.nr, 1);
	CU_ASSERT_EQUAL(world.result.holders.at[0].words, LISTED);
}
