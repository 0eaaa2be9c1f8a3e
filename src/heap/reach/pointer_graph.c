/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pointers from block to block (pointer_graph.h). */

#include "heap/reach/pointer_graph.h"

#include <stdlib.h>

#include "base/compiler.h"

void pointer_graph_init(struct pointer_graph *graph, size_t nr_blocks)
{
	*graph = (struct pointer_graph){ .room = MIN(nr_blocks + nr_blocks / 2 + 64,
						     (size_t)UINT32_MAX) };
	/* The part that is not used takes no memory. */
	graph->at = malloc(graph->room * sizeof(*graph->at));
	graph->group = calloc(nr_blocks / GRAPH_GROUP + 1, sizeof(*graph->group));
	if (!graph->at || !graph->group)
		pointer_graph_free(graph);
}

void pointer_graph_free(struct pointer_graph *graph)
{
	free(graph->at);
	free(graph->group);
	*graph = (struct pointer_graph){ .at = NULL };
}

void pointer_graph_begin(struct pointer_graph *graph)
{
	graph->begun = graph->nr;
	graph->full = false;
}

void pointer_graph_add(struct pointer_graph *graph, const struct graph_edge *edge)
{
	uint32_t to = edge->to << 2 | (edge->strong ? GRAPH_STRONG : 0), place = edge->offset << 2;

	if (graph->nr > graph->begun && graph->at[graph->last] == to &&
	    (edge->strong || graph->at[graph->last + 1] == place))
		return;
	graph->full |= graph->nr + 2 > graph->room;
	if (graph->full)
		return;
	graph->last = graph->nr;
	graph->at[graph->nr++] = to;
	if (!edge->strong)
		graph->at[graph->nr++] = place;
}

enum graph_kept pointer_graph_end(struct pointer_graph *graph, uint32_t block)
{
	struct graph_group *group;

	if (graph->full) {
		graph->nr = graph->begun;
		return GRAPH_UNREAD;
	}
	if (graph->nr == graph->begun)
		return GRAPH_NONE;
	graph->at[graph->nr - 1] |= GRAPH_LAST;
	group = &graph->group[block / GRAPH_GROUP];
	if (!group->kept)
		group->first = (uint32_t)graph->begun;
	group->kept |= 1u << block % GRAPH_GROUP;
	return GRAPH_KEPT;
}
