/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pointers from block to block (edges.h). */

#include "heap/edges.h"

#include <stdlib.h>

#include "base/compiler.h"

void edges_init(struct edges *edges, size_t nr_blocks)
{
	*edges = (struct edges){ .room = MIN(nr_blocks + nr_blocks / 4 + 64, (size_t)UINT32_MAX) };
	/* The part that is not used takes up no memory. */
	edges->at = malloc(edges->room * sizeof(*edges->at));
	edges->group = calloc(nr_blocks / EDGES_GROUP + 1, sizeof(*edges->group));
	if (!edges->at || !edges->group)
		edges_free(edges);
}

void edges_free(struct edges *edges)
{
	free(edges->at);
	free(edges->group);
	*edges = (struct edges){ .at = NULL };
}

void edges_begin(struct edges *edges)
{
	edges->begun = edges->nr;
	edges->full = false;
}

void edges_add(struct edges *edges, uint32_t to, bool strong)
{
	uint32_t edge = to << 2 | (strong ? EDGES_STRONG : 0);

	if (edges->nr > edges->begun && edges->at[edges->nr - 1] == edge)
		return;
	edges->full |= edges->nr == edges->room;
	if (!edges->full)
		edges->at[edges->nr++] = edge;
}

enum edges_kept edges_end(struct edges *edges, uint32_t block)
{
	struct edges_group *group;

	if (edges->full) {
		edges->nr = edges->begun;
		return EDGES_UNREAD;
	}
	if (edges->nr == edges->begun)
		return EDGES_NONE;
	edges->at[edges->nr - 1] |= EDGES_LAST;
	group = &edges->group[block / EDGES_GROUP];
	if (!group->kept)
		group->first = (uint32_t)edges->begun;
	group->kept |= 1u << block % EDGES_GROUP;
	return EDGES_KEPT;
}
