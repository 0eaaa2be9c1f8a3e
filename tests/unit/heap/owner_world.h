/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A graph of blocks that is made up: no memory is behind it. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"
#include "heap/reach/block_graph.h"

struct owner_world {
	struct block_graph graph;
	struct packed_list list;
	VEC(uint32_t) group_of;
	uint32_t nr_groups;
};

/* So many blocks; block i has i + 1 bytes. */
static inline void owner_world_open(struct owner_world *world, uint32_t nr)
{
	*world = (struct owner_world){ .graph.nr = nr };
	world->graph.first = calloc(nr + 1, sizeof(*world->graph.first));
	for (uint32_t i = 0; i < nr; i++)
		if (packed_add(&world->list,
			       &(struct block){ .address = 0x1000 + 64 * i, .size = i + 1 }))
			abort();
	CU_ASSERT_PTR_NULL_FATAL(packed_sort(&world->list, NULL));
}

static inline void owner_world_close(struct owner_world *world)
{
	block_graph_free(&world->graph);
	packed_free(&world->list);
	vec_free(&world->group_of);
}

/* The pointers of block `from`: those of the blocks before it have been added. */
static inline void owner_world_point(struct owner_world *world, uint32_t from, uint32_t to)
{
	struct block_graph *graph = &world->graph;

	if (vec_push(&graph->to, to))
		abort();
	for (uint32_t i = from + 1; i <= graph->nr; i++)
		graph->first[i] = (uint32_t)graph->to.nr;
}

/* A root; those of stacks come behind all others. */
static inline void owner_world_root(struct owner_world *world, uint32_t group, uint32_t to,
				    bool firm)
{
	struct graph_root root = { 0x100 + 8 * world->graph.roots.nr, to,
				   firm ? WORD_ROOT : WORD_STACK };

	if (vec_push(&world->graph.roots, root) || vec_push(&world->group_of, group))
		abort();
	world->graph.nr_firm += firm;
	world->nr_groups = MAX(world->nr_groups, group + 1);
}

/*
 * So many blocks, and the pointers of a text: "0>1" is one from block 0 to block 1, "g0>1" is a root
 * of group 0 to block 1, "s0>1" is one in a stack.
 */
static inline void owner_world_draw(struct owner_world *world, uint32_t nr, const char *text)
{
	uint32_t from, to;
	char kind;
	int len;

	owner_world_open(world, nr);
	for (; *text; text += len) {
		if (sscanf(text, " %u>%u%n", &from, &to, &len) == 2)
			owner_world_point(world, from, to);
		else if (sscanf(text, " %c%u>%u%n", &kind, &from, &to, &len) == 3)
			owner_world_root(world, from, to, kind == 'g');
		else
			abort();
	}
}

#define OWNER_WORLD_MOST	24u	/* blocks of a random one */

static inline uint32_t owner_world_below(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33) % below;
}

static inline void owner_world_random(struct owner_world *world, uint64_t *state)
{
	uint32_t nr = 1 + owner_world_below(state, OWNER_WORLD_MOST);
	uint32_t dense = 1 + owner_world_below(state, 3);
	uint32_t roots = owner_world_below(state, 6), loose = owner_world_below(state, 4);

	owner_world_open(world, nr);
	for (uint32_t i = 0; i < nr; i++)
		for (uint32_t n = nr > 1 ? owner_world_below(state, 2 * dense) : 0; n; n--)
			owner_world_point(world, i, (i + 1 + owner_world_below(state, nr - 1)) % nr);
	for (uint32_t i = 0; i < roots; i++)
		owner_world_root(world, owner_world_below(state, 3), owner_world_below(state, nr),
				 true);
	for (uint32_t i = 0; i < loose; i++)
		owner_world_root(world, 3 + owner_world_below(state, 2),
				 owner_world_below(state, nr), false);
}
