/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The layout of flame graphs: stacks in, rectangles out. */

#include "export/flame.h"
#include "unit.h"

enum { MAIN, LOAD, SAVE, PARSE };

static void add(struct flame *flame, size_t nr, const uint32_t *names, uint64_t bytes)
{
	const struct flame_sums sums = { .bytes = bytes, .count = 1 };

	CU_ASSERT_PTR_NULL_FATAL(flame_add(flame, names, nr, &sums));
}

#define ADD(flame, bytes, ...) \
	add(flame, ARRAY_SIZE(((uint32_t[]){ __VA_ARGS__ })), (uint32_t[]){ __VA_ARGS__ }, bytes)

static uint64_t no_cost(void *ctx UNUSED, uint32_t name UNUSED)
{
	return 0;
}

static void place(struct flame *flame)
{
	CU_ASSERT_PTR_NULL_FATAL(flame_place(flame));
	CU_ASSERT_PTR_NULL_FATAL(flame_choose(flame, UINT64_MAX, UINT64_MAX, no_cost, NULL));
}

/* The nth frame from below, and from the left. */
static const struct flame_frame *nth(const struct flame *flame, size_t n)
{
	CU_ASSERT_FATAL(n < flame->order.nr);
	return &flame->frames.at[flame->order.at[n]];
}

static void is_at(const struct flame *flame, size_t n, uint32_t name, uint32_t depth,
		  uint64_t begin, uint64_t weight)
{
	const struct flame_frame *frame = nth(flame, n);

	CU_ASSERT_EQUAL(frame->name, name);
	CU_ASSERT_EQUAL(frame->depth, depth);
	CU_ASSERT_EQUAL(frame->begin, begin);
	CU_ASSERT_EQUAL(flame_weight(flame, frame), weight);
}

TEST("shares what begins alike")
{
	CLEANUP(flame_free) struct flame flame;

	CU_ASSERT_PTR_NULL_FATAL(flame_init(&flame, FLAME_BYTES));
	ADD(&flame, 10, MAIN, LOAD);
	ADD(&flame, 30, MAIN, SAVE, PARSE);
	ADD(&flame, 5, MAIN, SAVE);
	ADD(&flame, 7, PARSE);
	ADD(&flame, 1, MAIN, LOAD);
	place(&flame);
	CU_ASSERT_EQUAL(flame.frames.nr, 6);
	CU_ASSERT_EQUAL(flame.rows, 4);
	is_at(&flame, 0, 0, 0, 0, 53);
	is_at(&flame, 1, MAIN, 1, 0, 46);
	is_at(&flame, 2, PARSE, 1, 46, 7);
	is_at(&flame, 3, SAVE, 2, 0, 35);
	is_at(&flame, 4, LOAD, 2, 35, 11);
	is_at(&flame, 5, PARSE, 3, 0, 30);
	CU_ASSERT_EQUAL(nth(&flame, 4)->sums.count, 2);
}

TEST("is the whole without stacks")
{
	CLEANUP(flame_free) struct flame flame;

	CU_ASSERT_PTR_NULL_FATAL(flame_init(&flame, FLAME_BYTES));
	place(&flame);
	CU_ASSERT_EQUAL(flame.rows, 1);
	CU_ASSERT_EQUAL(flame.drawn, 1);
	CU_ASSERT_EQUAL(flame_edge(&flame, 0, 1000), 0);
}

/* What grew and what shrunk do not cancel out. */
TEST("is as wide as the change")
{
	const struct flame_sums grown = { .bytes = 100, .grown = 40 };
	const struct flame_sums shrunk = { .shrunk = 40 };
	const uint32_t up[] = { MAIN, LOAD }, down[] = { MAIN, SAVE };
	CLEANUP(flame_free) struct flame flame;

	CU_ASSERT_PTR_NULL_FATAL(flame_init(&flame, FLAME_GROWTH));
	CU_ASSERT_PTR_NULL_FATAL(flame_add(&flame, up, 2, &grown));
	CU_ASSERT_PTR_NULL_FATAL(flame_add(&flame, down, 2, &shrunk));
	place(&flame);
	is_at(&flame, 0, 0, 0, 0, 80);
	is_at(&flame, 1, MAIN, 1, 0, 80);
	is_at(&flame, 2, LOAD, 2, 0, 40);
	is_at(&flame, 3, SAVE, 2, 40, 40);
}

static uint64_t cost_of_ten(void *ctx UNUSED, uint32_t name UNUSED)
{
	return 10;
}

TEST("draws the widest frames")
{
	CLEANUP(flame_free) struct flame flame;

	CU_ASSERT_PTR_NULL_FATAL(flame_init(&flame, FLAME_BYTES));
	ADD(&flame, 900, MAIN, LOAD);
	ADD(&flame, 90, MAIN, SAVE);
	ADD(&flame, 9, MAIN, PARSE);
	ADD(&flame, 1, PARSE);
	CU_ASSERT_PTR_NULL_FATAL(flame_place(&flame));

	/* One in a hundred is ten: the whole, MAIN, LOAD and SAVE. */
	CU_ASSERT_PTR_NULL_FATAL(flame_choose(&flame, 100, 1000, cost_of_ten, NULL));
	CU_ASSERT_EQUAL(flame.drawn, 4);
	CU_ASSERT_EQUAL(flame.rows, 3);
	CU_ASSERT_TRUE(nth(&flame, 4)->drawn);
	CU_ASSERT_FALSE(nth(&flame, 2)->drawn);
}

TEST("draws what there is room for")
{
	CLEANUP(flame_free) struct flame flame;

	CU_ASSERT_PTR_NULL_FATAL(flame_init(&flame, FLAME_BYTES));
	ADD(&flame, 50, MAIN, LOAD);
	ADD(&flame, 50, PARSE, SAVE, LOAD);
	CU_ASSERT_PTR_NULL_FATAL(flame_place(&flame));
	CU_ASSERT_PTR_NULL_FATAL(flame_choose(&flame, 1000, 39, cost_of_ten, NULL));
	CU_ASSERT_EQUAL(flame.drawn, 4);
	/* What weighs as much as the frame below it does not come first. */
	for (size_t i = 1; i < flame.frames.nr; i++)
		CU_ASSERT(!flame.frames.at[i].drawn ||
			  flame.frames.at[flame.frames.at[i].parent].drawn);
}

TEST("refuses sums that are too large")
{
	const struct flame_sums all = { .bytes = UINT64_MAX };
	const struct flame_sums one = { .bytes = 1 };
	const struct flame_sums grown = { .grown = UINT64_MAX, .shrunk = 1 };
	const uint32_t names[] = { MAIN };
	CLEANUP(flame_free) struct flame flame;
	struct err *err;

	CU_ASSERT_PTR_NULL_FATAL(flame_init(&flame, FLAME_BYTES));
	CU_ASSERT_PTR_NULL_FATAL(flame_add(&flame, names, 1, &all));
	err = flame_add(&flame, names, 1, &one);
	CU_ASSERT_FATAL(err != NULL);
	CU_ASSERT_EQUAL(err->code, ERR_RANGE);
	err = flame_add(&flame, names, 1, &grown);
	CU_ASSERT_FATAL(err != NULL);
	place(&flame);
	CU_ASSERT_EQUAL(flame_edge(&flame, UINT64_MAX, 12000000), 12000000);
	CU_ASSERT_EQUAL(flame_edge(&flame, UINT64_MAX / 2, 12000000), 5999999);
}

/* A frame holds those above it, which do not overlap, also where edges are rounded. */
static void check_edges(const struct flame *flame, uint64_t width)
{
	const struct flame_frame *before = NULL;

	vec_each_value(i, &flame->order) {
		const struct flame_frame *frame = &flame->frames.at[i];
		const struct flame_frame *parent = &flame->frames.at[frame->parent];
		uint64_t end = frame->begin + flame_weight(flame, frame);
		uint64_t parent_end = parent->begin + flame_weight(flame, parent);

		CU_ASSERT_FATAL(frame->begin >= parent->begin && end <= parent_end);
		CU_ASSERT_FATAL(flame_edge(flame, end, width) <= flame_edge(flame, parent_end, width));
		if (before && before->depth == frame->depth)
			CU_ASSERT_FATAL(before->begin + flame_weight(flame, before) <= frame->begin);
		before = frame;
	}
}

TEST("adds up whatever comes")
{
	uint32_t names[12];
	CLEANUP(flame_free) struct flame flame;
	uint64_t sum = 0;

	srand(15);
	CU_ASSERT_PTR_NULL_FATAL(flame_init(&flame, FLAME_BYTES));
	for (int i = 0; i < 20000; i++) {
		size_t nr = (size_t)(rand() % 12) + 1;
		uint64_t bytes = (uint64_t)(rand() % 1000) * (uint64_t)(rand() % 1000);

		for (size_t j = 0; j < nr; j++)
			names[j] = (uint32_t)(rand() % 5);
		add(&flame, nr, names, bytes);
		sum += bytes;
	}
	place(&flame);
	CU_ASSERT_EQUAL(flame_weight(&flame, &flame.frames.at[FLAME_ROOT]), sum);
	CU_ASSERT(flame.frames.nr > 10000);
	check_edges(&flame, 12000000);
	check_edges(&flame, 7);
}

