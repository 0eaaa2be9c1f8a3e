/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shortest ways to a block, and the graph that they are found in. */

#include "heap/reach/block_path.h"

#include <stdio.h>

#include "heap/reach/dominators.h"
#include "owner_world.h"
#include "words.h"

/* Each way: r and the root's number, or lost, ring; then its blocks. */
static void check(const struct block_graph *graph, uint32_t block, size_t limit, const char *want)
{
	struct block_path path;
	char got[256] = "";

	CU_ASSERT_PTR_NULL_FATAL(block_path_find(graph, block, limit, &path));
	vec_each(way, &path.ways) {
		char *end = got + strlen(got);
		uint32_t at = way->block;

		if (way->root == BLOCK_PATH_LOST)
			end += sprintf(end, " %s", way->ring ? "ring" : "lost");
		else
			end += sprintf(end, " r%zu", way->root);
		for (;; at = block_path_next(&path, at)) {
			end += sprintf(end, ":%u", at);
			if (at == block)
				break;
		}
	}
	if (path.more)
		strcat(got, " ...");
	if (strcmp(got + 1, want))
		fprintf(stderr, "got%s, want %s\n", got, want);
	CU_ASSERT_STRING_EQUAL(got + 1, want);
	block_path_free(&path);
}

TEST("the shortest way, and all")
{
	CLEANUP(owner_world_close) struct owner_world world;

	owner_world_draw(&world, 6, "0>1 1>2 2>3 3>0 4>2 g0>0 g1>4 s2>3");
	check(&world.graph, 3, 20, "r1:4:2:3 r0:0:1:2:3");
	check(&world.graph, 3, 1, "r1:4:2:3 ...");
	check(&world.graph, 0, 20, "r0:0 r1:4:2:3:0");
	check(&world.graph, 5, 20, "lost:5");
}

TEST("words of stacks, if nothing else leads there")
{
	CLEANUP(owner_world_close) struct owner_world world;

	owner_world_draw(&world, 3, "0>1 1>2 s0>1 s1>0");
	check(&world.graph, 2, 20, "r0:1:2 r1:0:1:2");
	check(&world.graph, 0, 20, "r1:0");
}

TEST("lost blocks, and rings")
{
	CLEANUP(owner_world_close) struct owner_world world;

	owner_world_draw(&world, 6, "1>2 2>1 2>3 4>3");
	check(&world.graph, 3, 20, "ring:1:2:3 lost:4:3");
	check(&world.graph, 2, 20, "ring:1:2");
	check(&world.graph, 4, 20, "lost:4");
}

#define ROOTS	16u

/* How many blocks the first way has, and which roots and lost blocks the ways begin at. */
struct ways {
	uint32_t shortest;
	bool root[ROOTS], more;
	char lost[256];
};

static void find_ways(const struct block_graph *graph, uint32_t block, struct ways *ret)
{
	struct block_path path;

	*ret = (struct ways){ 0 };
	CU_ASSERT_PTR_NULL_FATAL(block_path_find(graph, block, 20, &path));
	CU_ASSERT_FATAL(path.ways.nr > 0);
	for (uint32_t at = path.ways.at[0].block; at != block; at = block_path_next(&path, at))
		ret->shortest++;
	vec_each(way, &path.ways) {
		if (way->root == BLOCK_PATH_LOST)
			sprintf(ret->lost + strlen(ret->lost), " %u%s", way->block,
				way->ring ? "r" : "");
		else
			ret->root[way->root] = true;
	}
	ret->more = path.more;
	block_path_free(&path);
}

/* By the graph itself, and by what dominators_build leaves of it. */
TEST("the same ways in a graph that was turned round before")
{
	uint64_t state = 7;

	for (unsigned round = 0; round < 1000; round++) {
		CLEANUP(owner_world_close) struct owner_world world;
		struct ways before[OWNER_WORLD_MOST], now;
		struct dominators dominators;
		struct dominators_source source = { .graph = &world.graph, .list = &world.list };

		owner_world_random(&world, &state);
		source.group_of = world.group_of.at;
		source.nr_groups = world.nr_groups;
		for (uint32_t i = 0; i < world.graph.nr; i++)
			find_ways(&world.graph, i, &before[i]);
		CU_ASSERT_PTR_NULL_FATAL(dominators_build(&source, &dominators));
		CU_ASSERT_PTR_NULL(world.graph.first);
		for (uint32_t i = 0; i < world.graph.nr; i++) {
			find_ways(&world.graph, i, &now);
			CU_ASSERT_EQUAL_FATAL(now.shortest, before[i].shortest);
			CU_ASSERT_EQUAL_FATAL(now.more, before[i].more);
			CU_ASSERT_FATAL(!memcmp(now.root, before[i].root, sizeof(now.root)));
			CU_ASSERT_STRING_EQUAL_FATAL(now.lost, before[i].lost);
		}
		dominators_free(&dominators);
	}
}

/* Words of a root, of blocks, of a nested one and of a heap; behind the end, and odd ones. */
TEST("a graph of memory")
{
	struct words in;
	struct packed_list held = PACKED_INIT;
	struct reach_range root = { BASE, at(20) }, heap = { at(90), at(300) };
	struct reach_range stack = { at(20), at(ROOT) };
	uint64_t word[2];
	struct block_graph graph;
	struct reach_source source = {
		.memory = &in.memory, .list = &held, .root = &root, .nr_roots = 1,
		.heap = &heap, .nr_heaps = 1, .stack = &stack, .nr_stacks = 1,
		.word = word, .nr_words = 2, .nr_certain = 1, .next_mapped = words_mapped,
	};

	words_open(&in);
	word[0] = at(200);
	word[1] = at(101);
	for (unsigned i = 0; i < 3; i++)
		CU_ASSERT_PTR_NULL_FATAL(packed_add(&held, &(struct block){
			.address = at(100 + 100 * i), .size = 80 }));
	CU_ASSERT_PTR_NULL_FATAL(packed_add(&held, &(struct block){
		.address = at(202), .size = 16, .heap = LOG_HEAP_USER }));
	CU_ASSERT_PTR_NULL_FATAL(packed_sort(&held, NULL));
	in.word[3] = at(105);		/* a root */
	in.word[4] = at(110);		/* behind its end */
	in.word[25] = at(300);		/* a stack */
	in.word[150] = at(300);		/* heap */
	in.word[102] = at(203);		/* in block 0, to the inner one */
	in.word[105] = at(101);		/* to itself */
	in.word[203] = at(300);		/* in the inner one */
	in.word[208] = at(202);		/* around it */
	in.word[309] = at(109) + 7;	/* the last byte of a block counts */
	CU_ASSERT_PTR_NULL_FATAL(block_graph_build(&source, &graph));
	CU_ASSERT_EQUAL(graph.nr, 4);
	CU_ASSERT_EQUAL(graph.roots.nr, 5);
	CU_ASSERT_EQUAL(graph.nr_firm, 3);
	CU_ASSERT_EQUAL(graph.roots.at[1].place, at(3));
	CU_ASSERT_EQUAL(graph.roots.at[4].in, WORD_ALONE);
	CU_ASSERT_EQUAL(graph.to.nr, 5);
	check(&graph, 0, 20, "r1:0 r2:2:0 r0:1:3:2:0");
	check(&graph, 3, 20, "r1:0:3 r0:1:3 r2:2:0:3");
	check(&graph, 2, 1, "r2:2 ...");
	block_graph_free(&graph);
	packed_free(&held);
	free(in.word);
}
