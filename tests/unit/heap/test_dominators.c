/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What blocks keep: graphs that are known, and random ones by cutting each vertex out. */

#include "heap/reach/dominators.h"

#include <stdio.h>

#include "owner_world.h"

/* The world keeps its pointers. */
static void build(const struct owner_world *world, struct dominators *ret)
{
	struct block_graph graph = { .nr = world->graph.nr, .roots.at = world->graph.roots.at,
				     .roots.nr = world->graph.roots.nr,
				     .nr_firm = world->graph.nr_firm };
	uint32_t group_of[16];
	const struct dominators_source source = { .graph = &graph, .list = &world->list,
						  .group_of = group_of,
						  .nr_groups = world->nr_groups };

	for (size_t i = 0; i < world->group_of.nr; i++)
		group_of[i] = world->group_of.at[i];

	graph.first = malloc((graph.nr + 1) * sizeof(*graph.first));
	memcpy(graph.first, world->graph.first, (graph.nr + 1) * sizeof(*graph.first));
	CU_ASSERT_PTR_NULL_FATAL(vec_reserve(&graph.to, world->graph.to.nr + 1));
	vec_each_value(to, &world->graph.to)
		graph.to.at[graph.to.nr++] = to;
	CU_ASSERT_PTR_NULL_FATAL(dominators_build(&source, ret));
	turned_graph_free(&graph.turned);
}

/* The dominator of each block: a number, g and that of a group, t: top. */
static void check(const struct owner_world *world, const char *want)
{
	struct dominators is;
	char got[256] = "";

	build(world, &is);
	for (uint32_t i = 0; i < is.nr; i++) {
		char *end = got + strlen(got);
		size_t room = sizeof(got) - (size_t)(end - got);

		if (is.of[i] == is.top)
			snprintf(end, room, " t");
		else if (is.of[i] == dominators_lost(&is))
			snprintf(end, room, " lost");
		else
			snprintf(end, room, is.of[i] < is.nr ? " %u" : " g%u",
				 is.of[i] < is.nr ? is.of[i] : is.of[i] - is.nr);
	}
	if (strcmp(got + 1, want))
		fprintf(stderr, "got%s, want %s\n", got, want);
	CU_ASSERT_STRING_EQUAL(got + 1, want);
	dominators_free(&is);
}

TEST("a diamond, and two roots to one block")
{
	CLEANUP(owner_world_close) struct owner_world world;
	struct dominators is;

	owner_world_draw(&world, 6, "0>1 0>2 1>3 2>3 3>4 g0>0 g0>5 g1>5");
	check(&world, "g0 0 0 0 3 t");
	build(&world, &is);
	CU_ASSERT_EQUAL(dominators_bytes(&is, 0), 1 + 2 + 3 + 4 + 5);
	CU_ASSERT_EQUAL(is.blocks[3], 2);
	CU_ASSERT_EQUAL(dominators_bytes(&is, dominators_group(&is, 0)), 15);
	CU_ASSERT_EQUAL(dominators_bytes(&is, dominators_group(&is, 1)), 0);
	CU_ASSERT_EQUAL(dominators_bytes(&is, is.top), 21);
	CU_ASSERT_EQUAL(is.blocks[is.top], 6);
	dominators_free(&is);
}

TEST("a ring counts once")
{
	CLEANUP(owner_world_close) struct owner_world world;

	owner_world_draw(&world, 4, "0>1 1>2 2>0 2>3 g0>1");
	check(&world, "2 g0 1 2");
}

TEST("a word of a stack does not own what another root leads to")
{
	CLEANUP(owner_world_close) struct owner_world world;

	owner_world_draw(&world, 5, "0>1 1>2 3>4 g0>0 s1>2 s1>3 s2>4");
	check(&world, "g0 0 1 g1 3");
}

TEST("lost blocks hang on the first of each ring")
{
	CLEANUP(owner_world_close) struct owner_world world;

	/* Block 3 leads to block 1, and block 0 is in use. */
	owner_world_draw(&world, 7, "1>2 3>4 4>3 4>1 5>0 g0>0");
	check(&world, "g0 4 1 lost 3 lost lost");
}

/* Each block keeps those behind it. */
TEST("more than four gigabytes")
{
	CLEANUP(owner_world_close) struct owner_world world;
	const uint64_t big = 3ull << 30;
	struct dominators is;

	owner_world_open(&world, 4);
	packed_free(&world.list);
	for (uint32_t i = 0; i < 4; i++)
		if (packed_add(&world.list, &(struct block){ .address = (i + 1) * (big + 64),
							     .size = i ? big + i : 2 * big }))
			abort();
	CU_ASSERT_PTR_NULL_FATAL(packed_sort(&world.list, NULL));
	for (uint32_t i = 0; i < 3; i++)
		owner_world_point(&world, i, i + 1);
	owner_world_root(&world, 0, 0, true);
	build(&world, &is);
	CU_ASSERT_EQUAL(dominators_bytes(&is, 3), big + 3);
	CU_ASSERT_EQUAL(dominators_bytes(&is, 2), 2 * big + 5);
	CU_ASSERT_EQUAL(dominators_bytes(&is, 1), 3 * big + 6);
	CU_ASSERT_EQUAL(dominators_bytes(&is, 0), 5 * big + 6);
	CU_ASSERT_EQUAL(dominators_bytes(&is, is.top), 5 * big + 6);
	dominators_free(&is);
}

TEST("nothing at all")
{
	CLEANUP(owner_world_close) struct owner_world world;
	struct dominators is;

	owner_world_open(&world, 0);
	build(&world, &is);
	CU_ASSERT_EQUAL(dominators_bytes(&is, is.top), 0);
	dominators_free(&is);
}

/* A list of so many blocks, each of which points back as well: nothing may be recursive. */
TEST("a long list")
{
	CLEANUP(owner_world_close) struct owner_world world;
	struct dominators is;
	uint32_t nr = 200000;

	owner_world_open(&world, nr);
	world.graph.first[0] = 0;
	for (uint32_t i = 0; i < nr; i++) {
		if (i && vec_push(&world.graph.to, i - 1))
			abort();
		if (i + 1 < nr && vec_push(&world.graph.to, i + 1))
			abort();
		world.graph.first[i + 1] = (uint32_t)world.graph.to.nr;
	}
	owner_world_root(&world, 0, 0, true);
	build(&world, &is);
	CU_ASSERT_EQUAL(is.of[nr - 1], nr - 2);
	CU_ASSERT_EQUAL(is.blocks[1], nr - 1);
	dominators_free(&is);
}

/* Reach what a block leads to, but for `cut`. */
static void flood(const struct owner_world *world, uint32_t block, uint32_t cut, bool *reached)
{
	const struct block_graph *graph = &world->graph;

	if (block == cut || reached[block])
		return;
	reached[block] = true;
	for (uint32_t i = graph->first[block]; i < graph->first[block + 1]; i++)
		flood(world, graph->to.at[i], cut, reached);
}

/* The roots that count, in the order of their groups; then the lost ones. */
static void choose_roots(const struct owner_world *world, bool *counts, bool *source)
{
	const struct block_graph *graph = &world->graph;
	bool reached[OWNER_WORLD_MOST] = { false };

	for (uint32_t group = 0; group < world->nr_groups; group++) {
		for (size_t i = 0; i < graph->roots.nr; i++) {
			uint32_t block = graph->roots.at[i].block;

			if (world->group_of.at[i] != group)
				continue;
			counts[i] = i < graph->nr_firm || !reached[block];
			flood(world, block, UINT32_MAX, reached);
		}
	}
	for (uint32_t i = 0; i < graph->nr; i++) {
		bool from[OWNER_WORLD_MOST] = { false };

		/* Does another lost block lead to it that it does not lead to, or that is before? */
		source[i] = !reached[i];
		flood(world, i, UINT32_MAX, from);
		for (uint32_t other = 0; other < graph->nr && source[i]; other++) {
			bool to[OWNER_WORLD_MOST] = { false };

			if (reached[other] || other == i)
				continue;
			flood(world, other, UINT32_MAX, to);
			source[i] = !to[i] || (from[other] && other > i);
		}
	}
}

/* The blocks that are reached without `cut`: from roots, or, if `lost`, from lost ones. */
static void reach_without(const struct owner_world *world, const bool *counts, const bool *source,
			  uint32_t cut, bool lost, bool *reached)
{
	const struct block_graph *graph = &world->graph;

	for (size_t i = 0; i < graph->roots.nr && !lost; i++)
		if (counts[i] && graph->nr + world->group_of.at[i] != cut)
			flood(world, graph->roots.at[i].block, cut, reached);
	for (uint32_t i = 0; i < graph->nr && lost; i++)
		if (source[i] && graph->nr + world->nr_groups != cut)
			flood(world, i, cut, reached);
}

/* The bytes that go with a vertex. What lost blocks point to does not depend on them. */
static uint64_t gone_with(const struct owner_world *world, const bool *counts, const bool *source,
			  uint32_t cut)
{
	bool alive[OWNER_WORLD_MOST] = { false }, held[OWNER_WORLD_MOST] = { false }, lost[OWNER_WORLD_MOST] = { false };
	uint64_t bytes = 0;

	reach_without(world, counts, source, UINT32_MAX, false, alive);
	reach_without(world, counts, source, cut, false, held);
	reach_without(world, counts, source, cut, true, lost);
	for (uint32_t i = 0; i < world->graph.nr; i++)
		bytes += (alive[i] ? held[i] : lost[i]) ? 0 : i + 1;
	return bytes;
}

TEST("random graphs, by cutting")
{
	uint64_t state = 1;

	for (unsigned round = 0; round < 1000; round++) {
		bool counts[16], source[OWNER_WORLD_MOST];
		struct owner_world world;
		struct dominators is;

		owner_world_random(&world, &state);
		choose_roots(&world, counts, source);
		build(&world, &is);
		for (uint32_t i = 0; i < is.top; i++) {
			uint64_t want = gone_with(&world, counts, source, i);

			if (dominators_bytes(&is, i) != want)
				fprintf(stderr, "round %u, vertex %u: %d, not %d\n", round, i,
					(int)dominators_bytes(&is, i), (int)want);
			CU_ASSERT_EQUAL_FATAL(dominators_bytes(&is, i), want);
		}
		dominators_free(&is);
		owner_world_close(&world);
	}
}

/* By the dominators of each block that counts, one by one. */
static void check_sum(const struct owner_world *world, const struct dominators *is, uint64_t *state)
{
	uint64_t bytes[OWNER_WORLD_MOST + 16] = { 0 };
	uint32_t blocks[OWNER_WORLD_MOST + 16] = { 0 };
	uint8_t counts[OWNER_WORLD_MOST];
	struct dominator_sums sums;

	for (uint32_t i = 0; i < is->nr; i++) {
		counts[i] = (uint8_t)owner_world_below(state, 2);
		for (uint32_t at = i; counts[i]; at = is->of[at]) {
			bytes[at] += i + 1;
			blocks[at]++;
			if (at == is->top)
				break;
		}
	}
	CU_ASSERT_PTR_NULL_FATAL(dominators_sum(is, &world->list, counts, &sums));
	CU_ASSERT(!memcmp(bytes, sums.bytes, (is->top + 1) * sizeof(*bytes)));
	CU_ASSERT(!memcmp(blocks, sums.blocks, (is->top + 1) * sizeof(*blocks)));
	dominator_sums_free(&sums);
}

TEST("what is kept of some of the blocks")
{
	uint64_t state = 11;

	for (unsigned i = 0; i < 1000; i++) {
		CLEANUP(owner_world_close) struct owner_world world;
		struct dominators is;

		owner_world_random(&world, &state);
		build(&world, &is);
		check_sum(&world, &is, &state);
		dominators_free(&is);
	}
}
