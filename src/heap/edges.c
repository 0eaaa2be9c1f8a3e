/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pointers from block to block (edges.h). */

#include "heap/edges.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "heap/held.h"

#define LAST	1u

void edges_init(struct edges *edges, size_t nr_blocks)
{
	*edges = (struct edges){ .room = MIN(nr_blocks + nr_blocks / 4 + 64, (size_t)UINT32_MAX) };
	/* What is not used of it takes up no memory. */
	edges->at = malloc(edges->room * sizeof(*edges->at));
	edges->group = malloc((nr_blocks / EDGES_GROUP + 1) * sizeof(*edges->group));
	if (!edges->at || !edges->group) {
		edges_free(edges);
		return;
	}
	for (size_t i = 0; i <= nr_blocks / EDGES_GROUP; i++)
		edges->group[i] = UINT32_MAX;
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
	uint32_t edge = to << 2 | (uint32_t)strong << 1;

	if (edges->nr > edges->begun && edges->at[edges->nr - 1] == edge)
		return;
	edges->full |= edges->nr == edges->room;
	if (!edges->full)
		edges->at[edges->nr++] = edge;
}

enum edges_kept edges_end(struct edges *edges, uint32_t block)
{
	if (edges->full) {
		edges->nr = edges->begun;
		return EDGES_UNREAD;
	}
	if (edges->nr == edges->begun)
		return EDGES_NONE;
	edges->at[edges->nr - 1] |= LAST;
	if (edges->group[block / EDGES_GROUP] == UINT32_MAX)
		edges->group[block / EDGES_GROUP] = (uint32_t)edges->begun;
	return EDGES_KEPT;
}

struct edge_at edges_of(const struct edges *edges, const struct held_list *list, uint32_t block)
{
	size_t next = edges->group[block / EDGES_GROUP];

	for (uint32_t i = block / EDGES_GROUP * EDGES_GROUP; i < block; i++) {
		if (held_at(list, i)->kept != EDGES_KEPT)
			continue;
		while (!(edges->at[next++] & LAST))
			;
	}
	return (struct edge_at){ next, false };
}
