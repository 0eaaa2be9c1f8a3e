/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shortest ways to a block (block_path.h). */

#include "heap/reach/block_path.h"

#include "base/cancel.h"
#include "heap/reach/source_blocks.h"

#define NONE	UINT32_MAX
#define STEPS	65536u	/* between two looks whether the user has interrupted */
#define FIRM	1u	/* in `rooted`: a root points to the block */
#define LOOSE	2u	/* a word of a stack or register does */

struct search {
	const struct block_graph *graph;
	uint32_t block;
	size_t limit;
	struct block_path *ret;
	uint32_t *first, *from;	/* who points to a block: from[first[i] .. first[i + 1]] */
	uint32_t *queue;
	uint32_t nr;		/* in it */
	uint8_t *rooted;	/* by block */
};

static void search_free(struct search *search)
{
	free(search->first);
	free(search->from);
	free(search->queue);
	free(search->rooted);
}

/* As in dominators.c, each place is moved up to where the next block's begin. */
static struct err *turn_round(struct search *search)
{
	const struct block_graph *graph = search->graph;
	uint32_t nr = graph->nr;

	search->first = calloc(nr + 3ull, sizeof(*search->first));
	search->from = malloc((graph->to.nr + 1) * sizeof(*search->from));
	if (!search->first || !search->from)
		return err_nomem;
	vec_each_value(to, &graph->to)
		search->first[to + 2]++;
	for (uint32_t i = 2; i < nr + 2; i++)
		search->first[i] += search->first[i - 1];
	for (uint32_t block = 0; block < nr; block++)
		for (uint32_t i = graph->first[block]; i < graph->first[block + 1]; i++)
			search->from[search->first[graph->to.at[i] + 1]++] = block;
	return cancel_check();
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

/* From the block backward, until there are more ways than wanted. */
static struct err *walk(struct search *search)
{
	uint32_t *next = search->ret->next;
	struct err *err = NULL;

	memset(next, 0xff, search->graph->nr * sizeof(*next));
	next[search->block] = search->block;
	search->queue[search->nr++] = search->block;
	for (uint32_t done = 0; done < search->nr && !search->ret->more && !err; done++) {
		uint32_t block = search->queue[done];

		if (search->rooted[block] & FIRM)
			err = take_roots(search, block, true);
		for (uint32_t i = search->first[block]; i < search->first[block + 1]; i++) {
			uint32_t from = search->from[i];

			if (next[from] != NONE)
				continue;
			next[from] = block;
			search->queue[search->nr++] = from;
		}
		if (!err && done % STEPS == 0)
			err = cancel_check();
	}
	return err;
}

static struct err *take_loose(struct search *search)
{
	struct err *err = NULL;

	for (uint32_t i = 0; i < search->nr && !search->ret->more && !err; i++)
		if (search->rooted[search->queue[i]] & LOOSE)
			err = take_roots(search, search->queue[i], false);
	return err;
}

/* Nothing but blocks of the queue leads to it. */
static struct err *take_lost(struct search *search)
{
	uint32_t nr = search->graph->nr, *state = calloc(nr + 1ull, sizeof(*state));
	struct source_blocks sources = { VEC_INIT };
	struct err *err = state ? NULL : err_nomem;

	for (uint32_t i = 0; i < search->nr && !err; i++)
		state[search->queue[i]] = SOURCE_ASKED;
	if (!err)
		err = source_blocks_find(search->graph, state, search->queue, &sources);
	vec_each_while(at, &sources.vec, !err) {
		bool ring = search->first[*at] < search->first[*at + 1];

		search->ret->more = search->ret->ways.nr == search->limit;
		if (search->ret->more)
			break;
		err = vec_push(&search->ret->ways,
			       ((struct block_way){ BLOCK_PATH_LOST, *at, ring }));
	}
	vec_free(&sources.vec);
	free(state);
	return err;
}

static struct err *run(struct search *search)
{
	uint64_t room = search->graph->nr + 1ull;
	struct err *err = turn_round(search);

	search->queue = malloc(room * sizeof(*search->queue));
	search->ret->next = malloc(room * sizeof(*search->ret->next));
	if (!err && (!search->queue || !search->ret->next))
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
	free(path->next);
	*path = (struct block_path){ .ways = VEC_INIT };
}
