/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the places are that point to a block. */

#include "inspect/find_address.h"
#include "view_world.h"

#define BLOCK	(BLOCKS + 0x100)
#define OTHER	(BLOCKS + 0x200)

static struct find_address find;

static void begin(void)
{
	world_open();
	world_block((struct block){ .address = BLOCK, .size = 64 });
	world_block((struct block){ .address = OTHER, .size = 64 });
	find = (struct find_address){ .in = world.marks, .heap = HEAPS_INIT };
	world.marks = (struct leak_marks){ .held = PACKED_INIT };
}

static void end(void)
{
	find_address_free(&find);
	world_close();
}

EACH(begin, end);

static void look(uint64_t address)
{
	struct find_places places;

	vec_clear(&find.vec);
	CU_ASSERT_PTR_NULL_FATAL(find_address_search(&world.view, address, 10, &find, &places));
	CU_ASSERT_PTR_NULL_FATAL(find_address_name(&world.view, &places, &find));
	find_address_free_places(&places);
}

/* Nothing else points to it. */
static void check(enum find_referrer_kind kind, uint64_t place)
{
	look(BLOCK);
	CU_ASSERT_EQUAL_FATAL(find.vec.nr, 1);
	CU_ASSERT_EQUAL(find.vec.at[0].kind, kind);
	CU_ASSERT_EQUAL(find.vec.at[0].place, place);
	CU_ASSERT(find.vec.at[0].firm && find.nr_firm == 1);
}

static void check_at(uint64_t place, enum find_referrer_kind kind)
{
	put(place, BLOCK);
	check(kind, place);
}

TEST("a register is named by its thread and its number")
{
	regs_set(&the_thread()->regs, world.view.arch->arg[1], BLOCK);
	check(FIND_REFERRER_REGISTER, 0);
	CU_ASSERT_EQUAL(find.vec.at[0].tid, TID);
	CU_ASSERT_EQUAL(find.vec.at[0].index, world.view.arch->arg[1]);
}

TEST("data of the program is memory")
{
	check_at(DATA + 16, FIND_REFERRER_MEMORY);
}

TEST("above SP it is the stack, with its thread")
{
	check_at(SP + 16, FIND_REFERRER_STACK);
	CU_ASSERT_EQUAL(find.vec.at[0].tid, TID);
}

TEST("behind the thread pointer it is the control block, to the end of the stack's memory")
{
	check_at(TP + 256, FIND_REFERRER_CONTROL);
	CU_ASSERT(find.vec.at[0].tid == TID && find.vec.at[0].tp == TP);
}

TEST("another block is told by its number")
{
	check_at(OTHER + 8, FIND_REFERRER_BLOCK);
	CU_ASSERT_EQUAL(find.vec.at[0].block, 1);
}

TEST("memory beside blocks is heap, where it cannot be walked")
{
	check_at(BLOCKS + 8, FIND_REFERRER_HEAP);
}

TEST("below SP nothing is found, nor are pointers of the block to itself")
{
	put(SP - world.view.arch->red_zone - 8, BLOCK);
	put(BLOCK + 8, BLOCK);
	look(BLOCK);
	CU_ASSERT_EQUAL(find.vec.nr, 0);
	CU_ASSERT_EQUAL(find.own, 1);
}

TEST("an address in no block has no places")
{
	put(DATA + 16, BLOCKS_END);
	look(BLOCKS_END);
	CU_ASSERT_EQUAL(find.block, REFERRERS_NO_BLOCK);
	CU_ASSERT_EQUAL(find.vec.nr, 0);
}

TEST("each kind has a word")
{
	for (unsigned i = 0; i < FIND_REFERRER_KINDS; i++)
		CU_ASSERT_PTR_NOT_NULL(find_address_word((enum find_referrer_kind)i));
}
