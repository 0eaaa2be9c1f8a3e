/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packed lists of who points to a vertex: what comes out is what was put in. */

#include "heap/reach/turned_graph.h"

#include "owner_world.h"

#define MOST	300u

static void check_list(struct turned_at at, const uint32_t *from, uint32_t nr)
{
	uint32_t got;

	for (uint32_t i = 0; i < nr; i++) {
		CU_ASSERT_FATAL(turned_graph_next(&at, &got));
		CU_ASSERT_EQUAL(got, from[i]);
	}
	CU_ASSERT(!turned_graph_next(&at, &got));
}

/* Each list by itself, and all of them from the last one down. */
static void check(uint32_t nr, const uint32_t *first, const uint32_t *from)
{
	struct turned_graph graph;
	struct turned_at at;

	CU_ASSERT_PTR_NULL_FATAL(turned_graph_build(nr, first, from, &graph));
	at = turned_graph_list(&graph, nr - 1);
	for (uint32_t i = nr; i--; at = i ? turned_graph_below(at) : at) {
		check_list(turned_graph_list(&graph, i), from ? from + first[i] : NULL, first[i + 1] - first[i]);
		CU_ASSERT_EQUAL(at.number, i);
		for (uint32_t j = first[i], got; turned_graph_next(&at, &got); j++)
			CU_ASSERT_EQUAL(got, from[j]);
	}
	CU_ASSERT_EQUAL(turned_graph_vertex(&graph, nr - 1), nr - 1);
	turned_graph_free(&graph);
}

TEST("no pointer, and one")
{
	check(1, (uint32_t[]){ 0, 0 }, NULL);
	check(2, (uint32_t[]){ 0, 1, 1 }, (uint32_t[]){ 1 });
	check(2, (uint32_t[]){ 0, 0, 1 }, (uint32_t[]){ 0 });
}

/* Numbers as far apart as there are: the list of one block alone is asked for. */
TEST("the longest distances")
{
	uint32_t far[] = { 1, UINT32_MAX, UINT32_MAX / 2, 64, 65, 8191, 8192 };
	uint32_t first[] = { 0, 7 };

	check(1, first, far);
}

TEST("lists at random")
{
	uint64_t state = 3;

	for (unsigned round = 0; round < 100; round++) {
		uint32_t first[MOST + 1] = { 0 }, from[4 * MOST], nr = 2 + round * 2;

		for (uint32_t i = 0; i < nr; i++) {
			uint32_t few = owner_world_below(&state, 4);

			first[i + 1] = first[i];
			while (few--)
				from[first[i + 1]++] = (i + 1 + owner_world_below(&state, nr - 1)) % nr;
		}
		check(nr, first, from);
	}
}
