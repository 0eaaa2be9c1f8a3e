/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks from before the attach that look like those of a site that was seen. */

#include "fixture.h"
#include "heap/block_like.h"
#include "words.h"

#define OF_A_KIND	100u		/* blocks of a kind */
#define FIRST	1000u		/* word of the first one */
#define STEP	8u		/* words from one to the next */

struct world {
	struct words in;
	struct packed_list list;
	struct block_like like;
};

static void add(struct world *world, unsigned number, uint64_t size, uint32_t stack, uint64_t word)
{
	struct block block = { .address = at(FIRST + number * STEP), .size = size, .stack = stack,
			       .preattach = stack == LOG_STACK_NONE };

	CU_ASSERT_PTR_NULL_FATAL(packed_add(&world->list, &block));
	world->list.nr_outer = world->list.nr;
	world->in.word[FIRST + number * STEP] = word;
}

/* Sites 1 and 2 are those of stacks 1 and 2. */
static void find(struct world *world)
{
	const uint32_t sites[] = { 0, 1, 2 };
	const struct block_like_source source = {
		.memory = &world->in.memory, .list = &world->list,
		.site_of_stack = sites, .nr_stacks = ARRAY_SIZE(sites),
	};

	block_like_free(&world->like);
	CU_ASSERT_PTR_NULL_FATAL(block_like_find(&source, &world->like));
}

/* Of each three blocks, the first leads to the second; the third, from before, to another second one. */
static void make(struct world *world, bool both)
{
	unsigned nr = 0;

	*world = (struct world){ .list = PACKED_INIT };
	words_open(&world->in);
	for (unsigned i = 0; i < OF_A_KIND; i++, nr += 4) {
		add(world, nr, 24, 1, at(FIRST + (nr + 1) * STEP));
		add(world, nr + 1, 40, 2, 0x1122334455667788);
		add(world, nr + 2, 24, LOG_STACK_NONE, at(FIRST + (nr + 3) * STEP));
		/* The other site's blocks may be the same. */
		add(world, nr + 3, 40, both && i % 2 ? 1 : 2, 0x1122334455667788);
	}
	find(world);
}

static void free_world(struct world *world)
{
	block_like_free(&world->like);
	packed_free(&world->list);
	free(world->in.word);
}

TEST("of one site")
{
	struct world world;

	make(&world, false);
	for (unsigned i = 0; i < 4 * OF_A_KIND; i++)
		CU_ASSERT_EQUAL(world.like.of.at[i], i % 4 == 2 ? 1 : 0);
	CU_ASSERT_TRUE(world.like.sites.at[0].tested > OF_A_KIND / 4);
	CU_ASSERT_EQUAL(world.like.sites.at[0].right, world.like.sites.at[0].tested);
	free_world(&world);
}

TEST("what does not point anywhere, and what two sites have")
{
	struct world world;

	make(&world, true);
	/* Numbers alone say nothing. */
	for (unsigned i = 0; i < OF_A_KIND; i++)
		world.in.word[FIRST + (4 * i + 2) * STEP] = 0x1122334455667788;
	find(&world);
	for (unsigned i = 0; i < 4 * OF_A_KIND; i++)
		CU_ASSERT_EQUAL(world.like.of.at[i], 0);
	free_world(&world);
}

TEST("too few")
{
	struct world world = { .list = PACKED_INIT };

	words_open(&world.in);
	for (unsigned i = 0; i < 10; i++) {
		add(&world, 3 * i, 24, 1, at(FIRST + (3 * i + 1) * STEP));
		add(&world, 3 * i + 1, 40, 2, 0);
		add(&world, 3 * i + 2, 24, LOG_STACK_NONE, at(FIRST + (3 * i + 1) * STEP));
	}
	find(&world);
	for (unsigned i = 0; i < 30; i++)
		CU_ASSERT_EQUAL(world.like.of.at[i], 0);
	free_world(&world);
}
