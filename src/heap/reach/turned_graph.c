/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packed lists of who points to a vertex (turned_graph.h). */

#include "heap/reach/turned_graph.h"

#include "base/cancel.h"

#define EVERY	32u		/* lists between two that are looked up */
#define LONGEST	5u		/* bytes of a distance */
#define STEPS	65536u		/* between two looks whether the user has interrupted */

/* There is room for it. */
static void add(struct turned_graph *graph, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		graph->lists.at[graph->lists.nr++] = (uint8_t)(value | 0x80);
	graph->lists.at[graph->lists.nr++] = (uint8_t)value;
}

static uint64_t distance_to(uint32_t number, uint32_t from)
{
	return from < number ? 2ull * (number - from) - 1 : 2ull * (from - number);
}

static struct err *add_list(struct turned_graph *graph, uint32_t number, const uint32_t *from,
			    uint32_t nr)
{
	struct err *err = vec_reserve(&graph->lists, (nr + 1ull) * LONGEST);

	if (!err && (graph->nr - 1 - number) % EVERY == 0)
		err = vec_push(&graph->begin, graph->lists.nr);
	if (err)
		return err;
	if (!nr)
		add(graph, 0);
	for (uint32_t i = 0; i < nr; i++)
		add(graph, distance_to(number, from[i]) << 1 | (i + 1 == nr));
	return number % STEPS ? NULL : cancel_check();
}

struct err *turned_graph_build(uint32_t nr, const uint32_t *first, const uint32_t *from,
			       struct turned_graph *ret)
{
	struct turned_graph graph = { .nr = nr };
	struct err *err = NULL;

	for (uint32_t i = nr; i-- && !err;) {
		uint32_t pointers = first[i + 1] - first[i];

		err = add_list(&graph, i, pointers ? from + first[i] : NULL, pointers);
	}
	if (err)
		turned_graph_free(&graph);
	else
		*ret = graph;
	return err;
}

void turned_graph_free(struct turned_graph *graph)
{
	free(graph->vertex);
	vec_free(&graph->lists);
	vec_free(&graph->begin);
	*graph = (struct turned_graph){ .nr = 0 };
}

static struct turned_at list_at(const uint8_t *at, uint32_t number)
{
	return *at ? (struct turned_at){ at, number, true } :
		     (struct turned_at){ at + 1, number, false };
}

struct turned_at turned_graph_list(const struct turned_graph *graph, uint32_t number)
{
	uint32_t behind = graph->nr - 1 - number;
	struct turned_at at = list_at(graph->lists.at + graph->begin.at[behind / EVERY],
				      number + behind % EVERY);

	while (at.number != number) {
		for (uint32_t from; turned_graph_next(&at, &from);)
			;
		at = turned_graph_below(at);
	}
	return at;
}

struct turned_at turned_graph_below(struct turned_at at)
{
	return list_at(at.at, at.number - 1);
}

bool turned_graph_next(struct turned_at *at, uint32_t *number_ret)
{
	uint64_t value = 0, distance;
	unsigned shift = 0;

	if (!at->more)
		return false;
	do {
		value |= (uint64_t)(*at->at & 0x7f) << shift;
		shift += 7;
	} while (*at->at++ & 0x80);
	distance = value >> 1;
	at->more = !(value & 1);
	*number_ret = distance & 1 ? at->number - (uint32_t)((distance + 1) / 2) :
				     at->number + (uint32_t)(distance / 2);
	return true;
}
