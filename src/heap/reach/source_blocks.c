/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks through which others are lost (source_blocks.h). */

#include "heap/reach/source_blocks.h"

#include "base/cancel.h"

#define SEEN	(SOURCE_ASKED - 1)	/* by the first round */
#define STEPS	4096u			/* between two looks whether the user has interrupted */

/* Give `block`, and everything of state `from` that it leads to, the state below. */
static uint32_t flood(const struct block_graph *graph, uint32_t block, uint32_t *state,
		      uint32_t from, uint32_t *queue, uint32_t nr)
{
	uint32_t next = nr;

	state[block] = from - 1;
	queue[nr++] = block;
	while (next < nr) {
		uint32_t of = queue[next++];

		for (uint32_t i = graph->first[of]; i < graph->first[of + 1]; i++) {
			uint32_t to = graph->to.at[i];

			if (state[to] != from)
				continue;
			state[to] = from - 1;
			queue[nr++] = to;
		}
	}
	return nr;
}

/* The first round: each block that no earlier one leads to. */
static struct err *find_first(const struct block_graph *graph, uint32_t *state, uint32_t *queue,
			      struct source_blocks *ret)
{
	struct err *err = NULL;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < graph->nr && !err; i++) {
		if (state[i] == SOURCE_ASKED) {
			nr = flood(graph, i, state, SOURCE_ASKED, queue, nr);
			err = vec_push(&ret->vec, i);
		}
		if (!err && i % STEPS == 0)
			err = cancel_check();
	}
	return err;
}

/*
 * The second round, from the last of these back: one that none behind it leads to is a source, since
 * those before it do not lead to it either. The others are dropped.
 */
static void find_sources(const struct block_graph *graph, uint32_t *state, uint32_t *queue,
			 struct source_blocks *ret)
{
	size_t kept = ret->vec.nr;
	uint32_t nr = 0;

	for (size_t i = ret->vec.nr; i--;) {
		uint32_t block = ret->vec.at[i];

		if (state[block] != SEEN)
			continue;
		nr = flood(graph, block, state, SEEN, queue, nr);
		ret->vec.at[--kept] = block;
	}
	memmove(ret->vec.at, ret->vec.at + kept, (ret->vec.nr - kept) * sizeof(*ret->vec.at));
	ret->vec.nr -= kept;
	for (uint32_t i = 0; i < nr; i++)
		state[queue[i]] = SOURCE_ASKED;
}

struct err *source_blocks_find(const struct block_graph *graph, uint32_t *state, uint32_t *queue,
			       struct source_blocks *ret)
{
	struct err *err = find_first(graph, state, queue, ret);

	if (!err && ret->vec.nr)
		find_sources(graph, state, queue, ret);
	return err;
}
