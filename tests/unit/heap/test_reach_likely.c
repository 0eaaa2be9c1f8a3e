/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Marking: blocks that are possibly lost and most likely in use. */

#include "reach_world.h"

static void check_likely(const struct world *world, size_t i, enum likely likely, uint32_t offset)
{
	const struct packed_block *held = packed_at(&world->held, i);

	CU_ASSERT_EQUAL(reach_kind(held), LEAK_POSSIBLE);
	CU_ASSERT_EQUAL(held->likely, likely);
	if (likely == LIKELY_OFFSET) {
		CU_ASSERT_TRUE_FATAL(world->result.offset[i] &&
				     world->result.offset[i] <= world->result.offsets.nr);
		CU_ASSERT_EQUAL(world->result.offsets.at[world->result.offset[i] - 1].offset,
				offset);
	}
}

/* Blocks of stack 1 at one offset, of stack 2 at any, of stack 3 at one, but too few of them. */
TEST("likely by offset")
{
	enum { NR = 24, FEW = 7 };
	CLEANUP(world_close) struct world world;

	world_open(&world);
	for (size_t i = 0; i < 2 * NR + FEW; i++)
		push(&world, (struct block){ .address = at(100 + 20 * i), .size = 144,
					     .stack = 1 + (uint32_t)(i / NR) });
	/* A wide block has the pointers; what the first block points to the start of is likely, too. */
	add(&world, 5000, 8 * WIDE_WORDS);
	push(&world, (struct block){ .address = at(50000), .size = 64, .stack = 9 });
	world.in.word[0] = at(5000);
	for (size_t i = 0; i < 2 * NR + FEW; i++) {
		size_t inside = i / NR == 1 ? 8 + 8 * (i % 16) : 16;

		world.in.word[5000 + i] = at(100 + 20 * i) + inside;
		/* Somebody walks along it. */
		world.in.word[5200 + i] = at(100 + 20 * i) + 140;
	}
	world.in.word[100] = at(50000);
	run(&world);
	for (size_t i = 0; i < NR; i++) {
		check_likely(&world, i, LIKELY_OFFSET, 16);
		check_likely(&world, NR + i, LIKELY_NOT, 0);
	}
	for (size_t i = 0; i < FEW; i++)
		check_likely(&world, 2 * NR + i, LIKELY_NOT, 0);
	check_likely(&world, world.held.nr - 1, LIKELY_VIA, 0);
	CU_ASSERT_EQUAL(world.result.offsets.nr, 1);
	CU_ASSERT_EQUAL(world.result.offsets.at[0].form, FORM_NONE);
	/* Reachable blocks are not asked about. */
	world.in.word[1] = at(100);
	run(&world);
	CU_ASSERT_EQUAL(kind_of(&world, 0), LEAK_REACHABLE);
	CU_ASSERT_EQUAL(packed_at(&world.held, 0)->likely, LIKELY_NOT);
	CU_ASSERT_EQUAL(kind_of(&world, world.held.nr - 1), LEAK_REACHABLE);
}

/*
 * Sites with offsets of their own, all known from one wide block, which is itself likely and so read
 * again: that leaves the numbers of the offsets as they are, even those that are larger than an
 * offset.
 */
TEST("likely, and read again")
{
	enum { SITES = 16, EACH = 8, WIDE = 5000 };
	CLEANUP(world_close) struct world world;

	world_open(&world);
	for (size_t i = 0; i < SITES * EACH; i++)
		push(&world, (struct block){ .address = at(100 + 20 * i), .size = 144,
					     .stack = 1 + (uint32_t)(i / EACH) });
	add(&world, WIDE, 8 * WIDE_WORDS);
	world.in.word[0] = at(WIDE + 20);
	world.in.word[WIDE] = at(WIDE + 10);			/* a pool's first words */
	world.in.word[WIDE + 1] = at(WIDE + WIDE_WORDS);
	for (size_t i = 0; i < SITES * EACH; i++)
		world.in.word[WIDE + 100 + i] = at(100 + 20 * i) + (i / EACH < 8 ? 16 : 8);
	run(&world);
	CU_ASSERT_EQUAL(world.result.offsets.nr, SITES);
	check_likely(&world, SITES * EACH, LIKELY_POOL, 0);
	for (size_t i = 0; i < SITES * EACH; i++) {
		check_likely(&world, i, LIKELY_OFFSET, i / EACH < 8 ? 16 : 8);
		CU_ASSERT_EQUAL(world.result.offset[i], 1 + i / EACH);
	}
}

TEST("likely pools")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	add(&world, 100, 512);
	add(&world, 200, 512);
	add(&world, 300, 16);
	world.in.word[0] = at(120);
	world.in.word[1] = at(220);
	world.in.word[100] = at(130);		/* used up to there */
	world.in.word[101] = at(164);		/* its end */
	world.in.word[102] = at(300);
	world.in.word[200] = at(230);
	world.in.word[201] = at(265);		/* not its end */
	run(&world);
	check_likely(&world, 0, LIKELY_POOL, 0);
	check_likely(&world, 1, LIKELY_NOT, 0);
	check_likely(&world, 2, LIKELY_VIA, 0);
}
