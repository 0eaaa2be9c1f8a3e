/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types that pointers lead to: lists, arrays, bases, contradictions, and pointers to what was freed. */

#include "fixture.h"
#include "heap/type_spread.h"
#include "words.h"

/* Layouts of these, in words: a node {next, number}, an array of node *, a base {node *}, a derived {base, number, number}. */
enum { NODE, NODE_POINTER, BASE_OF, DERIVED, TAIL, LAYOUTS };

static struct type_layout layout[LAYOUTS] = {
	[NODE] = { .size = 16, .first = 0, .nr = 1, .begins_with = LAYOUT_NONE },
	[NODE_POINTER] = { .size = 8, .first = 1, .nr = 1, .begins_with = LAYOUT_NONE },
	[BASE_OF] = { .size = 8, .first = 2, .nr = 1, .begins_with = LAYOUT_NONE,
		      .begins_others = true },
	[DERIVED] = { .size = 24, .first = 3, .nr = 1, .begins_with = BASE_OF },
	[TAIL] = { .size = 16, .first = 4, .nr = 0, .begins_with = LAYOUT_NONE, .flexible = true },
};
static struct layout_pointer pointer[] = { { 0, NODE }, { 0, NODE }, { 0, NODE }, { 0, NODE } };

struct world {
	struct words in;
	struct packed_list list;
	struct type_layouts layouts;
	struct type_spread spread;
};

static void open_world(struct world *world)
{
	*world = (struct world){ .list = PACKED_INIT };
	words_open(&world->in);
	world->layouts.vec.at = layout;
	world->layouts.vec.nr = LAYOUTS;
	world->layouts.pointers.at = pointer;
	world->layouts.pointers.nr = ARRAY_SIZE(pointer);
}

static void add(struct world *world, unsigned place, uint64_t size, uint32_t stack)
{
	struct block block = { .address = at(place), .size = size, .stack = stack };

	CU_ASSERT_PTR_NULL_FATAL(packed_add(&world->list, &block));
	world->list.nr_outer = world->list.nr;
}

/* A variable at that word, of a layout that is one pointer to `to`. */
static void root(struct world *world, unsigned place, uint32_t of, uint64_t value)
{
	world->in.word[place] = value;
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&world->layouts.roots,
					  ((struct layout_root){ at(place), of })));
}

static void spread(struct world *world)
{
	const struct type_spread_source source = { .memory = &world->in.memory,
						   .list = &world->list,
						   .layouts = &world->layouts };

	type_spread_free(&world->spread);
	CU_ASSERT_PTR_NULL_FATAL(type_spread_find(&source, &world->spread));
	CU_ASSERT_EQUAL_FATAL(world->spread.of.nr, world->list.nr);
}

static void close_world(struct world *world)
{
	type_spread_free(&world->spread);
	vec_free(&world->layouts.roots);
	vec_free(&world->layouts.of_stack);
	packed_free(&world->list);
	free(world->in.word);
}

#define OF(block)	world.spread.of.at[block]

TEST("a ring, and an array")
{
	struct world world;

	open_world(&world);
	add(&world, 1000, 16, 1);
	add(&world, 1010, 16, 1);
	add(&world, 1020, 32, 1);
	add(&world, 1030, 20, 1);
	world.in.word[1000] = at(1010);
	world.in.word[1010] = at(1000);
	world.in.word[1020] = at(1030);	/* its size is none of nodes */
	world.in.word[1022] = at(1010);
	root(&world, 10, NODE_POINTER, at(1000));
	root(&world, 11, NODE_POINTER, at(1020));
	spread(&world);
	CU_ASSERT_EQUAL(OF(0), NODE + 1);
	CU_ASSERT_EQUAL(OF(1), NODE + 1);
	CU_ASSERT_EQUAL(OF(2), NODE + 1);
	CU_ASSERT_EQUAL(OF(3), 0);
	/* A pointer to the inside says nothing. */
	world.in.word[10] = at(1001);
	world.in.word[11] = 0;
	spread(&world);
	CU_ASSERT_EQUAL(OF(0), 0);
	close_world(&world);
}

TEST("a contradiction takes back what it led to")
{
	struct layout_pointer to_derived[] = { { 0, NODE }, { 0, DERIVED }, { 0, NODE }, { 0, NODE } };
	struct world world;

	open_world(&world);
	add(&world, 1000, 48, 1);
	add(&world, 1010, 16, 1);
	world.in.word[1000] = at(1010);
	world.layouts.pointers.at = to_derived;	/* NODE_POINTER is one to DERIVED now */
	root(&world, 10, NODE_POINTER, at(1000));
	spread(&world);
	CU_ASSERT_EQUAL(OF(0), DERIVED + 1);
	CU_ASSERT_EQUAL(OF(1), NODE + 1);
	root(&world, 11, NODE, at(1000));
	spread(&world);
	CU_ASSERT_EQUAL(OF(0), 0);
	CU_ASSERT_EQUAL(OF(1), 0);
	close_world(&world);
}

TEST("a base, and what the stack says")
{
	struct layout_pointer to_base[] = { { 0, NODE }, { 0, BASE_OF }, { 0, DERIVED }, { 0, NODE } };
	struct world world;

	open_world(&world);
	add(&world, 1000, 24, 1);
	world.layouts.pointers.at = to_base;
	root(&world, 10, NODE_POINTER, at(1000));
	spread(&world);
	CU_ASSERT_EQUAL(OF(0), 0);	/* it is larger than the base */
	root(&world, 11, BASE_OF, at(1000));
	spread(&world);
	CU_ASSERT_EQUAL(OF(0), DERIVED + 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(vec_slot(&world.layouts.of_stack, 1));
	world.layouts.of_stack.at[1] = NODE_POINTER + 1;
	spread(&world);
	CU_ASSERT_EQUAL(OF(0), (NODE_POINTER + 1) | TYPE_SPREAD_STACK);
	close_world(&world);
}

TEST("what has no pointers where the type has some")
{
	struct world world;

	open_world(&world);
	add(&world, 1000, 16, 1);
	root(&world, 10, NODE_POINTER, at(1000));
	world.in.word[1000] = 0x6f6e20656d6f732full;
	spread(&world);
	CU_ASSERT_EQUAL(OF(0), 0);
	world.in.word[1000] = UINT64_MAX;
	spread(&world);
	CU_ASSERT_EQUAL(OF(0), NODE + 1);
	world.in.hole = at(1000);
	world.in.hole_end = at(1001);
	spread(&world);
	CU_ASSERT_EQUAL(OF(0), 0);
	close_world(&world);
}

TEST("sizes")
{
	static const struct {
		unsigned layout;
		uint64_t size;
		bool preattach, fits;
	} cases[] = {
		{ NODE, 16, false, true }, { NODE, 48, false, true }, { NODE, 24, false, false },
		{ NODE, 8, false, false }, { NODE, 24, true, true }, { DERIVED, 40, true, true },
		{ DERIVED, 1000, false, false }, { TAIL, 17, false, true }, { TAIL, 15, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CU_ASSERT_EQUAL(type_spread_fits(&layout[cases[i].layout], cases[i].size,
						 cases[i].preattach), cases[i].fits);
}
