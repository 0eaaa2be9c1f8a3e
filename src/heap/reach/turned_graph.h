/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The pointers of a graph turned round, and packed: who points to a vertex.
 *
 * A vertex has a number. The lists are one behind the other, from that of the highest number down, so
 * that who goes through all of them in this order looks nothing up. A list is the distances to those
 * who point there, in bytes of seven bits, the lowest first: numbers that a search in depth has given
 * out lie near each other where one points to the other, and most distances take one byte in place of
 * the four of a number.
 *
 *	0				nobody points there
 *	distance << 1 | last		distance: 2 * d - 1 for a number that is d lower, 2 * d for
 *					one that is d higher
 */
#pragma once

#include <stdint.h>

#include "base/vec.h"

struct turned_graph {
	uint32_t nr;			/* vertices; 0: there is no graph */
	uint32_t *vertex;		/* by number; NULL: a vertex is its number */
	VEC(uint8_t) lists;
	VEC(uint64_t) begin;		/* of every 32nd list, from the highest number down */
};

/* A place in the lists. */
struct turned_at {
	const uint8_t *at;
	uint32_t number;		/* whose list it is */
	bool more;			/* there is something left of it */
};

static inline uint32_t turned_graph_vertex(const struct turned_graph *graph, uint32_t number)
{
	return graph->vertex ? graph->vertex[number] : number;
}

/*
 * Turn round: the list of number i is from[first[i] .. first[i + 1]]; nothing points to itself.
 * vertex is not set. ERR_CANCELLED; ERR_NOMEM.
 */
struct err *turned_graph_build(uint32_t nr, const uint32_t *first, const uint32_t *from,
			       struct turned_graph *ret) MUST_CHECK;
/* It may be called on zeros. */
void turned_graph_free(struct turned_graph *graph);

/* The list of a number. */
struct turned_at turned_graph_list(const struct turned_graph *graph, uint32_t number);
/* From a list that was read to its end to that of the next lower number. */
struct turned_at turned_graph_below(struct turned_at at);
/* The next one who points there. False: there is none. */
bool turned_graph_next(struct turned_at *at, uint32_t *number_ret);
