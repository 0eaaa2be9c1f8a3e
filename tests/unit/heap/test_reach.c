/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Marking: kinds, rings, inner pointers, nested blocks, memory that cannot be read. */

#include "base/cancel.h"
#include "reach_world.h"

/* The nine cases of the manual; AAA at 100, BBB at 200. */
TEST("manual")
{
	static const struct {
		size_t root, inside;	/* words that the root and AAA point to; 0: nothing */
		const char *kinds;
	} cases[] = {
		{ 200, 0, "dr" }, { 100, 200, "rr" }, { 0, 0, "dd" }, { 0, 200, "di" },
		{ 201, 0, "dp" }, { 100, 201, "rp" }, { 101, 200, "pp" }, { 101, 201, "pp" },
		{ 0, 201, "di" },
	};
	struct world world;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		world_open(&world);
		add(&world, 100, 80);
		add(&world, 200, 80);
		world.in.word[3] = cases[i].root ? at(cases[i].root) : 0;
		world.in.word[105] = cases[i].inside ? at(cases[i].inside) : 0;
		check_kinds(&world, cases[i].kinds);
		CU_ASSERT_EQUAL(world.result.root_bytes, ROOT * 8);
		world_close(&world);
	}
}

/* Of several ways to a block the best one counts, in whichever order they are found. */
TEST("best way")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	add(&world, 100, 16);
	add(&world, 200, 16);
	add(&world, 300, 16);
	world.in.word[3] = at(201);	/* inside of 200, which points to 300 */
	world.in.word[200] = at(300);
	world.in.word[4] = at(100);
	world.in.word[100] = at(200);	/* and to its start from a reachable one */
	check_kinds(&world, "rrr");
	world.in.word[4] = 0;
	check_kinds(&world, "dpp");
}

TEST("edges")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	add(&world, 100, 12);	/* its last whole word is the first */
	add(&world, 102, 0);
	add(&world, 103, 1);
	add(&world, 104, 16);
	world.in.word[0] = at(100);
	world.in.word[101] = at(104);
	world.in.word[1] = at(102);
	world.in.word[2] = at(103) + 1;	/* behind its end */
	check_kinds(&world, "rrdd");
	world.in.word[100] = at(103);
	check_kinds(&world, "rrrd");
	world.in.word[2] = at(104) + 15;
	check_kinds(&world, "rrrp");
}

/* A ring has one leader; who points to it leads all of the ring. */
TEST("rings")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	for (size_t i = 0; i < 4; i++)
		add(&world, 100 + 10 * i, 16);
	for (size_t i = 0; i < 3; i++)
		world.in.word[100 + 10 * i] = at(100 + 10 * ((i + 1) % 3));
	check_kinds(&world, "diid");
	CU_ASSERT_TRUE(reach_is_ring(&world.result, 0));
	CU_ASSERT_FALSE(reach_is_ring(&world.result, 3));
	CU_ASSERT_EQUAL(leader(&world, 0), REACH_NO_LEADER);
	CU_ASSERT_EQUAL(leader(&world, 1), 0);
	CU_ASSERT_EQUAL(leader(&world, 2), 0);
	world.in.word[130] = at(110);
	check_kinds(&world, "diid");
	world.in.word[130] = at(100);
	check_kinds(&world, "iiid");
	for (size_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(leader(&world, i), 3);
	world.in.word[100] = at(100);	/* itself */
	check_kinds(&world, "idid");
	world.in.word[110] = world.in.word[130] = 0;
	world.in.word[120] = at(120);
	check_kinds(&world, "dddd");
	for (size_t i = 0; i < 4; i++)
		CU_ASSERT_FALSE(reach_is_ring(&world.result, i));
}

/* A list longer than any stack, from the last block to the first, and a tree. */
TEST("long")
{
	enum { NR = 30000 };
	CLEANUP(world_close) struct world world;

	world_open(&world);
	for (size_t i = 0; i < NR; i++) {
		add(&world, 100 + 4 * i, 24);
		world.in.word[100 + 4 * i] = i ? at(100 + 4 * (i - 1)) : 0;
	}
	world.in.word[0] = at(100 + 4 * (NR - 1));
	run(&world);
	for (size_t i = 0; i < NR; i++)
		CU_ASSERT_EQUAL_FATAL(kind_of(&world, i), LEAK_REACHABLE);
	CU_ASSERT_EQUAL(world.result.block_bytes, NR * 24ull);
	world.in.word[0] = 0;
	run(&world);
	CU_ASSERT_EQUAL(kind_of(&world, NR - 1), LEAK_DEFINITE);
	for (size_t i = 0; i < NR - 1; i++) {
		CU_ASSERT_EQUAL_FATAL(kind_of(&world, i), LEAK_INDIRECT);
		CU_ASSERT_EQUAL_FATAL(leader(&world, i), NR - 1);
	}
	/* Neighbours are read together. */
	CU_ASSERT_TRUE(world.in.reads < NR / 4);
}

/* --- against a slow and simple search, on random graphs --- */

#define GRAPH_NR	90u

struct pointer_graph {
	struct world *world;
	size_t place[GRAPH_NR], len[GRAPH_NR];	/* words */
	uint8_t level[GRAPH_NR];		/* 0: not reached; 1: possibly; 2: reached */
	uint32_t owner[WORDS];			/* block + 1 */
	uint64_t state;
};

static uint64_t graph_random(struct pointer_graph *graph)
{
	return unit_random(&graph->state) >> 8;
}

/* Some blocks are next to one another, and some are wide. */
static void graph_open(struct pointer_graph *graph, struct world *world, uint64_t seed)
{
	size_t word = 100;

	memset(graph, 0, sizeof(*graph));
	graph->world = world;
	graph->state = seed * 0x9e3779b97f4a7c15ull + 1;
	for (uint32_t i = 0; i < GRAPH_NR; i++) {
		graph->place[i] = word;
		graph->len[i] = i % 30 == 7 ? WIDE_WORDS : 3 + graph_random(graph) % 12;
		add(world, word, graph->len[i] * 8);
		for (size_t w = 0; w < graph->len[i]; w++)
			graph->owner[word + w] = i + 1;
		word += graph->len[i] + graph_random(graph) % 3;
	}
}

/* One word in `few` is a pointer, of which one in eight is to somewhere inside. */
static void graph_fill(struct pointer_graph *graph, uint64_t few)
{
	for (size_t i = 0; i < WORDS; i++) {
		size_t to = graph_random(graph) % GRAPH_NR;
		bool wide = graph->owner[i] && graph->len[graph->owner[i] - 1] == WIDE_WORDS;
		size_t inside = graph_random(graph) % 8 ? 0 : graph_random(graph) % graph->len[to];

		graph->world->in.word[i] = 0;
		if (graph_random(graph) % (wide ? WIDE_WORDS / 3 : i < ROOT ? 40 : few) == 0)
			graph->world->in.word[i] = at(graph->place[to] + inside);
	}
}

static bool graph_follow(struct pointer_graph *graph, size_t start, size_t nr, uint8_t level)
{
	bool more = false;

	for (size_t i = start; i < start + nr; i++) {
		uint64_t word = (graph->world->in.word[i] - BASE) / 8;
		uint32_t to = graph->world->in.word[i] ? graph->owner[word] - 1 : GRAPH_NR;
		uint8_t by = to < GRAPH_NR && word == graph->place[to] ? level : MIN(level, 1);

		if (to == GRAPH_NR || graph->level[to] >= by)
			continue;
		graph->level[to] = by;
		more = true;
	}
	return more;
}

static void slow_mark(struct pointer_graph *graph)
{
	bool more = true;

	memset(graph->level, 0, sizeof(graph->level));
	graph_follow(graph, 0, ROOT, 2);
	while (more) {
		more = false;
		for (size_t i = 0; i < GRAPH_NR; i++)
			more |= graph->level[i] && graph_follow(graph, graph->place[i], graph->len[i],
								graph->level[i]);
	}
}

static void check_graph(struct pointer_graph *graph)
{
	struct world *world = graph->world;

	for (size_t i = 0; i < GRAPH_NR; i++) {
		enum leak_kind kind = kind_of(world, i);
		uint32_t by = leader(world, i);

		CU_ASSERT_EQUAL_FATAL(kind == LEAK_REACHABLE, graph->level[i] == 2);
		CU_ASSERT_EQUAL_FATAL(kind == LEAK_POSSIBLE, graph->level[i] == 1);
		CU_ASSERT_EQUAL_FATAL(kind == LEAK_INDIRECT, by != REACH_NO_LEADER);
		if (by != REACH_NO_LEADER)
			CU_ASSERT_EQUAL_FATAL(kind_of(world, by), LEAK_DEFINITE);
	}
}

TEST("random")
{
	AUTO_FREE struct pointer_graph *graph = malloc(sizeof(*graph));
	struct world world;

	for (unsigned round = 0; graph && round < 600; round++) {
		world_open(&world);
		graph_open(graph, &world, round);
		/* From a few pointers to more than there is room for. */
		graph_fill(graph, 1 + round % 12);
		slow_mark(graph);
		run(&world);
		check_graph(graph);
		world_close(&world);
	}
}

TEST("heuristics")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	add(&world, 100, 24 + 10 + 1);
	add(&world, 110, 8 + 3 * 12);
	add(&world, 120, 8 + 100);
	add(&world, 140, 48);
	for (size_t i = 0; i < 4; i++)
		world.in.word[i] = at((size_t[]){ 103, 111, 121, 142 }[i]);
	check_kinds(&world, "pppp");
	world.in.word[100] = 7, world.in.word[101] = 10;
	world.in.word[110] = 3;
	world.in.word[120] = 100;
	/* Tables at 202 and 212, of functions at 300; the second one is for a part at 16. */
	world.code[0] = (struct reach_range){ at(300), at(310) };
	world.in.word[202] = world.in.word[212] = at(301);
	world.in.word[210] = (uint64_t)-16;
	world.in.word[140] = at(202);
	world.in.word[142] = at(212);
	check_kinds(&world, "rrrr");
	world.in.word[0] = at(104);
	world.in.word[1] = at(112);
	world.in.word[2] = at(122);
	world.in.word[212] = at(299);
	check_kinds(&world, "pppp");
	/* What is only possibly there gives no more than that. */
	world.in.word[0] = at(142);
	world.in.word[145] = at(111);
	world.in.word[1] = world.in.word[2] = world.in.word[3] = 0;
	check_kinds(&world, "dpdp");
}

/* Of a block in no record only the usable size is known; -1 is no length, and + 8 no small one. */
TEST("a length that wraps")
{
	struct block block = { .address = at(100), .size = 24, .preattach = true };
	CLEANUP(world_close) struct world world;

	world_open(&world);
	if (packed_add(&world.held, &block))
		abort();
	world.in.word[0] = at(101);
	world.in.word[100] = 16;
	check_kinds(&world, "r");
	world.in.word[100] = UINT64_MAX;
	check_kinds(&world, "p");
}

/* Blocks of a pool inside a malloc's, the first at its start. */
TEST("nested")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	add(&world, 100, 800);
	add(&world, 300, 16);
	add_user(&world, 100, 32);
	add_user(&world, 120, 32);
	add_user(&world, 190, 160);	/* goes on behind the end */
	world.in.word[0] = at(100);
	check_kinds(&world, "rdrdd");
	/* What the pool itself keeps, and what a lost block of it keeps. */
	world.in.word[150] = at(300);
	check_kinds(&world, "rrrdd");
	world.in.word[150] = 0;
	world.in.word[120] = at(300);
	check_kinds(&world, "rirdd");
	/* The pool is its allocator's, whatever leads to it, and what it keeps is not reachable by that. */
	world.in.word[0] = at(150);
	check_kinds(&world, "ridd" "d");
	world.in.word[0] = 0;
	world.in.word[150] = at(300);
	check_kinds(&world, "rpddd");
	CU_ASSERT(world.result.pools == 1 && world.result.pool_bytes == 800);
}

/* What cannot be read is said, and the rest is looked at. */
TEST("unreadable")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	add(&world, 1000, 64 * 1024);
	add(&world, 9500, 16);
	add(&world, 9600, 16);
	world.in.word[0] = at(1000);
	world.in.word[1001] = at(9500);
	world.in.word[9000] = at(9600);	/* in the first block, behind the hole */
	world.in.hole = 0x15000;
	world.in.hole_end = 0x17000;
	check_kinds(&world, "rrr");
	CU_ASSERT_EQUAL(world.result.unread_blocks.bytes, 0x2000);
	CU_ASSERT_EQUAL(world.result.unread_blocks.last.start, world.in.hole);
	CU_ASSERT_EQUAL(world.result.unread_blocks.last.end, world.in.hole_end);
	CU_ASSERT_EQUAL(world.result.unread_roots.bytes, 0);
	world.in.hole = BASE;
	world.in.hole_end = BASE + 4096;
	check_kinds(&world, "dii");
	CU_ASSERT_EQUAL(world.result.unread_roots.bytes, ROOT * 8);
	CU_ASSERT_EQUAL(world.result.unread_roots.last.end, at(ROOT));
}

/* Blocks that overlap, lie in no memory, and are larger than any: whatever the log says. */
TEST("torn")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	add(&world, 100, 4000);		/* into the next one, which begins inside */
	add(&world, 200, 16);
	add(&world, 202, ~0ull);
	add(&world, 204, 16);
	push(&world, (struct block){ .address = (1ull << 47) - 16, .size = 1ull << 47 });
	world.in.word[0] = at(100);
	world.in.word[150] = at(200);
	world.in.word[203] = at(204);
	world.in.word[201] = at(202);
	world.in.word[1] = UINT64_MAX;
	world.in.word[2] = (1ull << 47) - 8;
	check_kinds(&world, "rrrrp");
	CU_ASSERT_TRUE(world.result.unread_blocks.bytes > 0);
}

static bool next_present(void *ctx, uint64_t start, uint64_t end, struct reach_range *ret)
{
	const struct reach_range *present = ctx;

	*ret = (struct reach_range){ MAX(start, present->start), MIN(end, present->end) };
	return ret->start < ret->end;
}

/* Registers, heaps taken for roots, and memory that was never written. */
TEST("source")
{
	struct reach_range heap = { at(1000), at(2000) }, present = { at(1100), at(1200) };
	uint64_t word = at(1110);
	struct reach_source source =
 { .unasked = UINT64_MAX, .heap = &heap, .nr_heaps = 1, .word = &word, .nr_words = 1 };
	CLEANUP(world_close) struct world world;

	world_open(&world);
	add(&world, 1110, 16);
	add(&world, 1112, 16);
	add(&world, 1120, 16);
	world.in.word[1130] = at(1112);
	world.in.word[1500] = at(1120);
	source.memory = &world.in.memory;
	CU_ASSERT_PTR_NULL_FATAL(packed_sort(&world.held, NULL));
	source.list = &world.held;
	CU_ASSERT_PTR_NULL_FATAL(reach_run(&source, &world.result));
	CU_ASSERT_EQUAL(kind_of(&world, 0), LEAK_REACHABLE);
	CU_ASSERT_EQUAL(kind_of(&world, 1), LEAK_REACHABLE);
	CU_ASSERT_EQUAL(kind_of(&world, 2), LEAK_REACHABLE);
	CU_ASSERT_EQUAL(world.result.heap_bytes, 1000 * 8 - 48);
	CU_ASSERT_EQUAL(world.result.root_bytes, 0);
	reach_free(&world.result);
	source.next_present = next_present;
	source.ctx = &present;
	CU_ASSERT_PTR_NULL_FATAL(reach_run(&source, &world.result));
	CU_ASSERT_EQUAL(kind_of(&world, 1), LEAK_REACHABLE);
	CU_ASSERT_EQUAL(kind_of(&world, 2), LEAK_DEFINITE);
	reach_free(&world.result);
	cancel_request();
	CU_ASSERT_EQUAL(reach_run(&source, &world.result)->code, ERR_CANCELLED);
	cancel_clear();
}

/* Wide blocks, each of which points to the one before it; the last one is reached, but for a gap. */
TEST("wide")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	for (size_t i = 0; i < 10; i++) {
		add(&world, 100 + i * 10000, 80000);
		if (i && i != 3)
			world.in.word[100 + i * 10000 + 9000] = at(100 + (i - 1) * 10000);
	}
	world.in.word[3] = at(100 + 9 * 10000);
	check_kinds(&world, "iidrrrrrrr");
}

/* Blocks that a damaged log has by the million where nothing can be read take no read each. */
TEST("holes")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	world.in.hole = BASE + 0x20000;
	world.in.hole_end = BASE + 0x24000;
	for (size_t i = 0; i < 1024; i++)
		push(&world, (struct block){ .address = world.in.hole + i * 16, .size = 16 });
	run(&world);
	CU_ASSERT(world.in.reads < 64);
	CU_ASSERT_EQUAL(kind_of(&world, 1023), LEAK_DEFINITE);
	CU_ASSERT_EQUAL(world.result.unread_blocks.bytes, 1024 * 16);
}

TEST("unmapped")
{
	CLEANUP(world_close) struct world world;
	struct reach_source source =
 { .unasked = UINT64_MAX, .memory = &world.in.memory, .list = &world.held,
				      .next_mapped = words_mapped };
	const uint64_t far = 1ull << 40;

	world_open(&world);
	add(&world, 100, 16);
	for (size_t i = 0; i < 1000; i++)
		push(&world, (struct block){ .address = far + i * 0x20000,
					     .size = i % 2 ? 16 : 0x18000 });
	CU_ASSERT_PTR_NULL_FATAL(packed_sort(&world.held, NULL));
	CU_ASSERT_PTR_NULL_FATAL(reach_run(&source, &world.result));
	CU_ASSERT(world.in.reads < 8);
	CU_ASSERT_EQUAL(kind_of(&world, 1000), LEAK_DEFINITE);
	CU_ASSERT_EQUAL(world.result.unread_blocks.bytes, 500 * 16 + 500 * 0x18000);
}

TEST("nothing")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	world.in.word[0] = 5;
	check_kinds(&world, "");
}

TEST("ranges")
{
	struct reach_ranges ranges = { VEC_INIT }, out = { VEC_INIT };
	static const struct reach_range in[] = { { 50, 60 }, { 10, 20 }, { 20, 40 }, { 70, 70 } };
	static const struct reach_range take[] = { { 55, 100 }, { 0, 12 }, { 15, 18 }, { 14, 16 } };
	static const struct reach_range want[] = { { 12, 14 }, { 18, 40 }, { 50, 55 } };

	for (size_t i = 0; i < ARRAY_SIZE(in); i++)
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&ranges.vec, in[i]));
	for (size_t i = 0; i < ARRAY_SIZE(take); i++)
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&out.vec, take[i]));
	CU_ASSERT_PTR_NULL_FATAL(reach_ranges_subtract(&ranges, &out));
	CU_ASSERT_EQUAL_FATAL(ranges.vec.nr, ARRAY_SIZE(want));
	CU_ASSERT_EQUAL(memcmp(ranges.vec.at, want, sizeof(want)), 0);
	vec_free(&ranges.vec);
	vec_free(&out.vec);
}
