/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dominators of the graph of blocks (theory in dominators.h). */

#include "heap/reach/dominators.h"

#include "base/cancel.h"
#include "heap/reach/source_blocks.h"

#define NONE	UINT32_MAX
#define PARENTS	256u	/* that are looked for at once */
#define STEPS	65536u	/* between two looks whether the user has interrupted */

/*
 * A vertex has a number in the order in which the search in depth comes to it; that of top is 0.
 * Arrays are freed as soon as they are not needed.
 */
struct search {
	const struct dominators_source *source;
	struct block_graph *graph;
	uint32_t nr_groups, nr, top;	/* nr: vertices */
	uint32_t *group_first, *root;	/* roots by group; NONE: it does not count */
	struct source_blocks lost;

	/* By vertex, during the search in depth. */
	uint32_t *number;
	uint32_t *next;		/* of its pointers */
	uint32_t *parent;	/* in the tree of the search */
	uint32_t nr_seen, lost_from;	/* the first number of what is lost */

	uint32_t *first, *from;	/* who points to a number, until that is packed */
	struct turned_graph turned;

	/* By number. They come to be linked, from the highest one down. */
	uint32_t *semi;		/* the semidominator; later the dominator */
	uint32_t *label;	/* the least semidominator of it and of some ancestors */
	uint32_t *ancestor;	/* first its parent; later one nearer to top */
	uint32_t *depth, *jump;	/* in the tree of dominators: how deep, and some ancestor */
	VEC(uint32_t) path;	/* that is being compressed */
};

static void drop(uint32_t **array)
{
	free(*array);
	*array = NULL;
}

static void search_free(struct search *search)
{
	drop(&search->group_first);
	drop(&search->root);
	drop(&search->number);
	drop(&search->next);
	drop(&search->parent);
	drop(&search->first);
	drop(&search->from);
	turned_graph_free(&search->turned);
	drop(&search->semi);
	drop(&search->label);
	drop(&search->ancestor);
	drop(&search->depth);
	drop(&search->jump);
	vec_free(&search->lost.vec);
	vec_free(&search->path);
}

static struct err *make(uint64_t nr, uint32_t **ret)
{
	*ret = malloc((nr + 1) * sizeof(**ret));
	return *ret ? NULL : err_nomem;
}

/* Put the roots of each group side by side; they keep their order. */
static struct err *sort_roots(struct search *search)
{
	const uint32_t *group_of = search->source->group_of;
	size_t nr = search->graph->roots.nr;
	struct err *err = make(nr, &search->root);

	search->group_first = calloc(search->nr_groups + 2ull, sizeof(*search->group_first));
	if (err || !search->group_first)
		return err_nomem;
	for (size_t i = 0; i < nr; i++)
		if (group_of[i] != DOMINATORS_NO_GROUP)
			search->group_first[group_of[i] + 2]++;
	for (uint32_t i = 2; i < search->nr_groups + 2; i++)
		search->group_first[i] += search->group_first[i - 1];
	/* Each begins one place further up, which is moved to its end now: the next one's begin. */
	for (size_t i = 0; i < nr; i++)
		if (group_of[i] != DOMINATORS_NO_GROUP)
			search->root[search->group_first[group_of[i] + 1]++] = (uint32_t)i;
	return NULL;
}

static bool is_lost(const struct search *search, uint32_t vertex)
{
	return vertex == search->top - 1;
}

/* Where the pointers of a vertex begin and end, for target. */
static void bounds(const struct search *search, uint32_t vertex, uint32_t *first_ret,
		   uint32_t *end_ret)
{
	uint32_t nr = search->graph->nr;

	*first_ret = 0;
	if (vertex < nr) {
		*first_ret = search->graph->first[vertex];
		*end_ret = search->graph->first[vertex + 1];
	} else if (vertex == search->top) {
		*end_ret = search->nr_groups;
	} else if (is_lost(search, vertex)) {
		*end_ret = (uint32_t)search->lost.vec.nr;
	} else {
		*first_ret = search->group_first[vertex - nr];
		*end_ret = search->group_first[vertex - nr + 1];
	}
}

/* The vertex that pointer i of a vertex leads to, or NONE. */
static uint32_t target(const struct search *search, uint32_t vertex, uint32_t i)
{
	uint32_t nr = search->graph->nr;

	if (vertex < nr)
		return search->graph->to.at[i];
	if (vertex == search->top)
		return nr + i;
	if (is_lost(search, vertex))
		return search->lost.vec.at[i];
	return search->root[i] == NONE ? NONE : search->graph->roots.at[search->root[i]].block;
}

/* A word of a stack or register does not count if its block has been reached. */
static bool counts(struct search *search, uint32_t vertex, uint32_t i, uint32_t to)
{
	if (search->number[to] == NONE)
		return true;
	if (vertex >= search->graph->nr && vertex < search->top - 1 &&
	    search->root[i] >= search->graph->nr_firm) {
		search->source->group_of[search->root[i]] = DOMINATORS_NO_GROUP;
		search->root[i] = NONE;
	}
	return false;
}

/* All that any root leads to has a number by now: what has none is lost. */
static struct err *find_lost(struct search *search)
{
	uint32_t *queue;
	struct err *err = make(search->nr - search->nr_seen, &queue);

	if (!err)
		err = source_blocks_find(search->graph, search->number, queue, &search->lost);
	drop(&queue);
	search->lost_from = search->nr_seen;
	return err;
}

static struct err *enter(struct search *search, uint32_t vertex, uint32_t parent)
{
	struct err *err = is_lost(search, vertex) ? find_lost(search) : NULL;
	uint32_t end;

	if (err)
		return err;
	bounds(search, vertex, &search->next[vertex], &end);
	search->number[vertex] = search->nr_seen++;
	search->parent[vertex] = parent;
	return search->nr_seen % STEPS ? NULL : cancel_check();
}

/* The next vertex that the search goes on to from here, or NONE: all have been seen. */
static uint32_t step(struct search *search, uint32_t vertex)
{
	uint32_t first, end;

	bounds(search, vertex, &first, &end);
	while (search->next[vertex] < end) {
		uint32_t i = search->next[vertex]++;
		uint32_t to = target(search, vertex, i);

		if (counts(search, vertex, i, to))
			return to;
	}
	return NONE;
}

static struct err *search_in_depth(struct search *search)
{
	uint32_t at = search->top;
	struct err *err = make(search->nr, &search->number);

	if (!err)
		err = make(search->nr, &search->next);
	if (!err)
		err = make(search->nr, &search->parent);
	if (err)
		return err;
	memset(search->number, 0xff, search->nr * sizeof(*search->number));
	err = enter(search, at, at);
	while (!err) {
		uint32_t to = step(search, at);

		if (to == NONE && at == search->top)
			break;
		if (to != NONE)
			err = enter(search, to, at);
		at = to != NONE ? to : search->parent[at];
	}
	drop(&search->next);
	drop(&search->parent);
	return err;
}

/* What lost blocks point to is kept by others: they count among each other alone. */
static bool is_pointer(const struct search *search, uint32_t at, uint32_t to)
{
	return to != NONE && (at <= search->lost_from || search->number[to] > search->lost_from);
}

/* Count the pointers to each number, or, with `from`, put them there. */
static void turn(struct search *search)
{
	for (uint32_t vertex = 0; vertex < search->nr; vertex++) {
		uint32_t at = search->number[vertex], i, end;

		for (bounds(search, vertex, &i, &end); i < end; i++) {
			uint32_t to = target(search, vertex, i);

			if (!is_pointer(search, at, to))
				continue;
			if (search->from)
				search->from[search->first[search->number[to] + 1]++] = at;
			else
				search->first[search->number[to] + 2]++;
		}
	}
}

/* As in sort_roots, each place is moved up to where the next one's begin. */
static struct err *make_turned(struct search *search)
{
	struct err *err = make(search->nr + 2ull, &search->first);

	if (err)
		return err;
	memset(search->first, 0, (search->nr + 2ull) * sizeof(*search->first));
	turn(search);
	for (uint32_t i = 2; i < search->nr + 2; i++)
		search->first[i] += search->first[i - 1];
	err = make(search->first[search->nr + 1], &search->from);
	if (!err)
		turn(search);
	if (!search->source->keep) {
		drop(&search->graph->first);
		vec_free(&search->graph->to);
	}
	return err ? err : turned_graph_build(search->nr, search->first, search->from,
					      &search->turned);
}

static struct err *turn_round(struct search *search)
{
	struct err *err = make_turned(search);

	drop(&search->first);
	drop(&search->from);
	if (!err)
		err = make(search->nr, &search->turned.vertex);
	for (uint32_t vertex = 0; vertex < search->nr && !err; vertex++)
		search->turned.vertex[search->number[vertex]] = vertex;
	drop(&search->number);
	return err ? err : cancel_check();
}

/*
 * The least semidominator of a linked vertex and of its ancestors below the first that is not linked
 * yet. Vertices from `linked` on are.
 */
static struct err *evaluate(struct search *search, uint32_t vertex, uint32_t linked, uint32_t *ret)
{
	uint32_t *ancestor = search->ancestor, *label = search->label, at = vertex;
	struct err *err = NULL;

	vec_clear(&search->path);
	while (ancestor[at] >= linked && !err) {
		err = vec_push(&search->path, at);
		at = ancestor[at];
	}
	for (size_t i = search->path.nr; i-- && !err;) {
		uint32_t below = search->path.at[i];

		label[below] = MIN(label[below], label[at]);
		ancestor[below] = ancestor[at];
		at = below;
	}
	*ret = label[vertex];
	return err;
}

/*
 * Among those who point to a vertex, a lower number is that of an ancestor in the tree of the
 * search, since it had been come to first; the nearest is the parent.
 */
static uint32_t nearest(uint32_t parent, uint32_t number, uint32_t from)
{
	return from < number ? MAX(parent, from) : parent;
}

/* The list is that of the vertex, and is read to its end. */
static struct err *link_vertex(struct search *search, struct turned_at *list)
{
	uint32_t at = list->number, semi = at, parent = 0, from;
	struct err *err = NULL;

	while (!err && turned_graph_next(list, &from)) {
		uint32_t least = from;

		parent = nearest(parent, at, from);
		if (from > at)
			err = evaluate(search, from, at + 1, &least);
		semi = MIN(semi, least);
	}
	search->semi[at] = search->label[at] = semi;
	search->ancestor[at] = parent;
	return err;
}

static struct err *find_semidominators(struct search *search)
{
	struct turned_at list = turned_graph_list(&search->turned, search->nr - 1);
	struct err *err = make(search->nr, &search->semi);

	if (!err)
		err = make(search->nr, &search->label);
	if (!err)
		err = make(search->nr, &search->ancestor);
	for (; list.number && !err; list = turned_graph_below(list)) {
		err = link_vertex(search, &list);
		if (!err && list.number % STEPS == 0)
			err = cancel_check();
	}
	drop(&search->label);
	drop(&search->ancestor);
	return err;
}

/* The parents of nr numbers from `first` on: their lists lie the other way round. */
static void find_parents(const struct search *search, uint32_t first, uint32_t nr, uint32_t *parent)
{
	struct turned_at list = turned_graph_list(&search->turned, first + nr - 1);

	for (uint32_t i = nr; i--; list = i ? turned_graph_below(list) : list) {
		parent[i] = 0;
		for (uint32_t from; turned_graph_next(&list, &from);)
			parent[i] = nearest(parent[i], first + i, from);
	}
}

/* The first of a vertex and its dominators, upward, that is not above a number. */
static uint32_t first_within(const struct search *search, uint32_t at, uint32_t number)
{
	while (at > number)
		at = search->jump[at] > number ? search->jump[at] : search->semi[at];
	return at;
}

/*
 * From one vertex two ways lead upward: to its dominator, and by a jump. A jump is as long as the
 * next two together, if these are alike; so any of its dominators is O(log) steps away (Myers, 1983).
 */
static void put_below(struct search *search, uint32_t at, uint32_t dominator)
{
	const uint32_t *jump = search->jump, *depth = search->depth;
	uint32_t to = jump[dominator];
	bool alike = depth[dominator] - depth[to] == depth[to] - depth[jump[to]];

	search->semi[at] = dominator;
	search->depth[at] = depth[dominator] + 1;
	search->jump[at] = alike ? jump[to] : dominator;
}

static struct err *find_dominators(struct search *search)
{
	struct err *err = find_semidominators(search);
	uint32_t parent[PARENTS];

	if (!err)
		err = make(search->nr, &search->depth);
	if (!err)
		err = make(search->nr, &search->jump);
	if (err)
		return err;
	search->semi[0] = search->depth[0] = search->jump[0] = 0;
	for (uint32_t at = 1; at < search->nr && !err; at++) {
		uint32_t i = (at - 1) % PARENTS;

		if (!i)
			find_parents(search, at, MIN(PARENTS, search->nr - at), parent);
		put_below(search, at, first_within(search, parent[i], search->semi[at]));
		if (at % STEPS == 0)
			err = cancel_check();
	}
	drop(&search->depth);
	drop(&search->jump);
	return err;
}

static struct err *take_dominators(struct search *search, struct dominators *ret)
{
	const uint32_t *vertex = search->turned.vertex;
	struct err *err = make(search->nr, &ret->of);

	for (uint32_t at = 0; at < search->nr && !err; at++)
		ret->of[vertex[at]] = vertex[search->semi[at]];
	drop(&search->semi);
	return err ? err : cancel_check();
}

static struct err *add_bytes(struct dominators *dominators, uint32_t vertex, uint64_t bytes)
{
	uint32_t *some = &dominators->some[vertex];
	struct err *err;

	if (*some >= DOMINATORS_LARGE) {
		dominators->large.at[*some - DOMINATORS_LARGE] += bytes;
		return NULL;
	}
	if (bytes < DOMINATORS_LARGE - *some) {
		*some += (uint32_t)bytes;
		return NULL;
	}
	err = vec_push(&dominators->large, *some + bytes);
	if (!err)
		*some = DOMINATORS_LARGE + (uint32_t)(dominators->large.nr - 1);
	return err;
}

/* A vertex comes behind its dominator: from the last one on, each is added to that. */
static struct err *add_up(struct search *search, struct dominators *ret)
{
	const struct packed_list *list = search->source->list;
	struct err *err = NULL;

	ret->blocks = calloc(search->nr + 1ull, sizeof(*ret->blocks));
	ret->some = calloc(search->nr + 1ull, sizeof(*ret->some));
	if (!ret->blocks || !ret->some)
		return err_nomem;
	for (uint32_t at = search->nr; at-- && !err;) {
		uint32_t vertex = search->turned.vertex[at], of = ret->of[vertex];

		if (vertex < search->graph->nr) {
			err = add_bytes(ret, vertex, packed_size(list, packed_at(list, vertex)));
			ret->blocks[vertex]++;
		}
		if (at && !err) {
			err = add_bytes(ret, of, dominators_bytes(ret, vertex));
			ret->blocks[of] += ret->blocks[vertex];
		}
	}
	return err ? err : cancel_check();
}

static struct err *run(struct search *search, struct dominators *ret)
{
	struct err *err = sort_roots(search);

	if (!err)
		err = search_in_depth(search);
	if (!err)
		err = turn_round(search);
	if (!err)
		err = find_dominators(search);
	if (!err)
		err = take_dominators(search, ret);
	return err ? err : add_up(search, ret);
}

struct err *dominators_build(const struct dominators_source *source, struct dominators *ret)
{
	struct block_graph *graph = source->graph;
	struct search search = { .source = source, .graph = graph,
				 .nr_groups = source->nr_groups + 1 };
	struct dominators dominators = { .nr = graph->nr, .nr_groups = search.nr_groups };
	struct err *err;

	if (source->nr_groups > PACKED_MOST || graph->roots.nr > BLOCK_GRAPH_MOST - graph->to.nr)
		return err_create(ERR_RANGE, "there are too many roots");
	search.top = dominators.top = graph->nr + search.nr_groups;
	search.nr = search.top + 1;
	err = run(&search, &dominators);
	if (err) {
		dominators_free(&dominators);
	} else {
		turned_graph_free(&graph->turned);
		graph->turned = search.turned;
		search.turned = (struct turned_graph){ .nr = 0 };
		*ret = dominators;
	}
	search_free(&search);
	return err;
}

/*
 * A vertex is added to its dominator when all that it dominates has been added to it: when as many
 * have been as name it. *left counts down.
 */
static void sum_up(const struct dominators *dominators, uint32_t *left,
		   struct dominator_sums *sums)
{
	for (uint32_t i = 0; i < dominators->top; i++)
		left[dominators->of[i]]++;
	for (uint32_t i = 0; i < dominators->top; i++) {
		/* From each leaf up, as far as it was the last one. NONE: it has been added. */
		for (uint32_t at = i; at != dominators->top && !left[at];) {
			uint32_t of = dominators->of[at];

			sums->bytes[of] += sums->bytes[at];
			sums->blocks[of] += sums->blocks[at];
			left[at] = NONE;
			left[of]--;
			at = of;
		}
	}
}

struct err *dominators_sum(const struct dominators *dominators, const struct packed_list *list,
			   const uint8_t *counts, struct dominator_sums *ret)
{
	size_t nr = dominators->top + 1ull;
	struct dominator_sums sums = { calloc(nr, sizeof(*sums.bytes)),
				       calloc(nr, sizeof(*sums.blocks)) };
	uint32_t *left = calloc(nr, sizeof(*left));

	if (!sums.bytes || !sums.blocks || !left) {
		dominator_sums_free(&sums);
		free(left);
		return err_nomem;
	}
	for (uint32_t i = 0; i < dominators->nr; i++) {
		sums.bytes[i] = counts[i] ? packed_size(list, packed_at(list, i)) : 0;
		sums.blocks[i] = counts[i] != 0;
	}
	sum_up(dominators, left, &sums);
	free(left);
	*ret = sums;
	return NULL;
}

void dominator_sums_free(struct dominator_sums *sums)
{
	free(sums->bytes);
	free(sums->blocks);
	*sums = (struct dominator_sums){ NULL, NULL };
}

void dominators_free(struct dominators *dominators)
{
	free(dominators->of);
	free(dominators->some);
	vec_free(&dominators->large);
	free(dominators->blocks);
	*dominators = (struct dominators){ .nr = 0 };
}
