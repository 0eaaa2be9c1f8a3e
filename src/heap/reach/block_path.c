/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shortest ways to a block (block_path.h). */

#include "heap/reach/block_path.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "heap/reach/source_blocks.h"

#define STEPS	65536u	/* between two looks whether the user has interrupted */
#define FIRM	1u	/* in `rooted`: a root points to the block */
#define LOOSE	2u	/* a word of a stack or register does */

struct search {
	const struct block_graph *graph;
	uint32_t block;
	size_t limit;
	struct block_path *ret;
	struct turned_graph turned;	/* that of `graph`, or made for this */
	uint32_t *queue;	/* numbers */
	uint32_t nr;		/* in it */
	uint8_t *rooted;	/* by block */
};

static void search_free(struct search *search)
{
	if (!search->graph->turned.nr)
		turned_graph_free(&search->turned);
	free(search->queue);
	free(search->rooted);
}

/* As in dominators.c, each place is moved up to where the next block's begin. */
static void turn(const struct block_graph *graph, uint32_t *first, uint32_t *from)
{
	uint32_t nr = graph->nr;

	vec_each_value(to, &graph->to)
		first[to + 2]++;
	for (uint32_t i = 2; i < nr + 2; i++)
		first[i] += first[i - 1];
	for (uint32_t block = 0; block < nr; block++)
		for (uint32_t i = graph->first[block]; i < graph->first[block + 1]; i++)
			from[first[graph->to.at[i] + 1]++] = block;
}

static struct err *turn_round(struct search *search)
{
	const struct block_graph *graph = search->graph;
	AUTO_FREE uint32_t *first = NULL, *from = NULL;

	search->turned = graph->turned;
	if (search->turned.nr)
		return NULL;
	first = calloc(graph->nr + 3ull, sizeof(*first));
	from = malloc((graph->to.nr + 1) * sizeof(*from));
	if (!first || !from)
		return err_nomem;
	turn(graph, first, from);
	return turned_graph_build(graph->nr, first, from, &search->turned);
}

static struct err *note_roots(struct search *search)
{
	const struct block_graph *graph = search->graph;

	search->rooted = calloc(graph->nr + 1ull, 1);
	if (!search->rooted)
		return err_nomem;
	for (size_t i = 0; i < graph->roots.nr; i++)
		search->rooted[graph->roots.at[i].block] |= i < graph->nr_firm ? FIRM : LOOSE;
	return NULL;
}

/* The roots that point to the block, and are wanted now. */
static struct err *take_roots(struct search *search, uint32_t block, bool firm)
{
	const struct block_graph *graph = search->graph;
	struct block_path *ret = search->ret;
	size_t end = firm ? graph->nr_firm : graph->roots.nr;
	struct err *err = NULL;

	for (size_t i = firm ? 0 : graph->nr_firm; i < end && !ret->more && !err; i++) {
		if (graph->roots.at[i].block != block)
			continue;
		if (ret->ways.nr == search->limit)
			ret->more = true;
		else
			err = vec_push(&ret->ways, ((struct block_way){ i, block, false }));
	}
	return err;
}

static bool is_block(const struct search *search, uint32_t vertex)
{
	return vertex < search->graph->nr;
}

/* The blocks that point to one are put into the queue, unless they have been there. */
static void take_from(struct search *search, uint32_t number)
{
	struct turned_at list = turned_graph_list(&search->turned, number);
	uint32_t *behind = search->ret->behind, block, from;

	block = turned_graph_vertex(&search->turned, number);
	while (turned_graph_next(&list, &from)) {
		uint32_t vertex = turned_graph_vertex(&search->turned, from);

		if (!is_block(search, vertex) || behind[vertex])
			continue;
		behind[vertex] = block + 1;
		search->queue[search->nr++] = from;
	}
}

static uint32_t number_of(const struct search *search, uint32_t block)
{
	uint32_t number = search->turned.vertex ? 0 : block;

	while (turned_graph_vertex(&search->turned, number) != block)
		number++;
	return number;
}

static uint32_t queued(const struct search *search, uint32_t i)
{
	return turned_graph_vertex(&search->turned, search->queue[i]);
}

/* From the block backward, until there are more ways than wanted. */
static struct err *walk(struct search *search)
{
	struct err *err = NULL;

	search->ret->behind[search->block] = search->block + 1;
	search->queue[search->nr++] = number_of(search, search->block);
	for (uint32_t done = 0; done < search->nr && !search->ret->more && !err; done++) {
		uint32_t block = queued(search, done);

		if (search->rooted[block] & FIRM)
			err = take_roots(search, block, true);
		take_from(search, search->queue[done]);
		if (!err && done % STEPS == 0)
			err = cancel_check();
	}
	return err;
}

static struct err *take_loose(struct search *search)
{
	struct err *err = NULL;

	for (uint32_t i = 0; i < search->nr && !search->ret->more && !err; i++)
		if (search->rooted[queued(search, i)] & LOOSE)
			err = take_roots(search, queued(search, i), false);
	return err;
}

/* Does a block point to it? *lost_ret: what is no block does, which for a lost block is that of all lost ones. */
static bool is_pointed_to(const struct search *search, uint32_t number, bool *lost_ret)
{
	struct turned_at list = turned_graph_list(&search->turned, number);
	bool blocks = false;

	*lost_ret = false;
	for (uint32_t from; turned_graph_next(&list, &from);) {
		bool block = is_block(search, turned_graph_vertex(&search->turned, from));

		blocks |= block;
		*lost_ret |= !block;
	}
	return blocks;
}

COMPARE_BY(by_block, struct block_way, x, x->block)

/* Blocks of the queue through which it is lost: dominators_build has found them. */
static struct err *find_lost(struct search *search, struct block_path *ret)
{
	struct err *err = NULL;

	for (uint32_t i = 0; i < search->nr && !err; i++) {
		bool lost, ring = is_pointed_to(search, search->queue[i], &lost);

		if (lost)
			err = vec_push(&ret->ways, ((struct block_way){ BLOCK_PATH_LOST,
									queued(search, i), ring }));
	}
	vec_sort(&ret->ways, by_block);
	return err;
}

/* The same of a graph that tells nothing of that. A block has its own number there. */
static struct err *find_sources(struct search *search, struct block_path *ret)
{
	uint32_t nr = search->graph->nr, *state = calloc(nr + 1ull, sizeof(*state));
	struct source_blocks sources = { VEC_INIT };
	struct err *err = state ? NULL : err_nomem;
	bool lost;

	for (uint32_t i = 0; i < search->nr && !err; i++)
		state[search->queue[i]] = SOURCE_ASKED;
	if (!err)
		err = source_blocks_find(search->graph, state, search->queue, &sources);
	vec_each_while(at, &sources.vec, !err) {
		err = vec_push(&ret->ways,
			       ((struct block_way){ BLOCK_PATH_LOST, *at,
						    is_pointed_to(search, *at, &lost) }));
	}
	vec_free(&sources.vec);
	free(state);
	return err;
}

/* Nothing but blocks of the queue leads to it. */
static struct err *take_lost(struct search *search)
{
	struct block_path *ret = search->ret;
	struct err *err = (search->turned.vertex ? find_lost : find_sources)(search, ret);

	ret->more = ret->ways.nr > search->limit;
	ret->ways.nr = MIN(ret->ways.nr, search->limit);
	return err;
}

static struct err *run(struct search *search)
{
	uint64_t room = search->graph->nr + 1ull;
	struct err *err = turn_round(search);

	search->queue = malloc(room * sizeof(*search->queue));
	search->ret->behind = calloc(room, sizeof(*search->ret->behind));
	if (!err && (!search->queue || !search->ret->behind))
		err = err_nomem;
	if (!err)
		err = note_roots(search);
	if (!err)
		err = walk(search);
	if (!err && !search->ret->ways.nr)
		err = take_loose(search);
	if (!err && !search->ret->ways.nr)
		err = take_lost(search);
	return err;
}

struct err *block_path_find(const struct block_graph *graph, uint32_t block, size_t limit,
			    struct block_path *ret)
{
	struct block_path path = { .ways = VEC_INIT };
	struct search search = { .graph = graph, .block = block, .limit = limit, .ret = &path };
	struct err *err = run(&search);

	search_free(&search);
	if (err)
		block_path_free(&path);
	else
		*ret = path;
	return err;
}

void block_path_free(struct block_path *path)
{
	vec_free(&path->ways);
	free(path->behind);
	*path = (struct block_path){ .ways = VEC_INIT };
}
