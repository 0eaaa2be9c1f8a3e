/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dominators of the graph of blocks (theory in dominators.h). */

#include "heap/reach/dominators.h"

#include "base/cancel.h"
#include "heap/reach/source_blocks.h"

#define NONE	UINT32_MAX
#define STEPS	65536u	/* between two looks whether the user has interrupted */

/*
 * A vertex has a number in the order in which the search in depth comes to it; that of top is 0.
 * Most arrays are by number, and freed as soon as they are not needed.
 */
struct search {
	const struct dominators_source *source;
	struct block_graph *graph;
	uint32_t nr_groups, nr, top;	/* nr: vertices */
	uint32_t *group_first, *root;	/* roots by group; NONE: it does not count */
	struct source_blocks lost;

	uint32_t *number;	/* by vertex */
	uint32_t *next;		/* by vertex: the next of its pointers */
	uint32_t *vertex;
	uint32_t *parent;	/* in the tree of the search; later some ancestor nearer to top */
	uint32_t nr_seen, lost_from;	/* the first number of what is lost */

	uint32_t *first, *from;	/* who points to a vertex: from[first[i] .. first[i + 1]] */
	uint32_t *semi, *label;
	uint32_t *bucket;	/* the first of the vertices whose semidominator this is */
	uint32_t *dom;		/* the next one in its bucket; later its dominator */
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
	drop(&search->vertex);
	drop(&search->parent);
	drop(&search->first);
	drop(&search->from);
	drop(&search->semi);
	drop(&search->label);
	drop(&search->bucket);
	drop(&search->dom);
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

static struct err *enter(struct search *search, uint32_t vertex, uint32_t parent)
{
	uint32_t end;

	/* All that any root leads to has a number by now. The free end of `vertex` is the queue. */
	if (is_lost(search, vertex)) {
		struct err *err = source_blocks_find(search->graph, search->number,
						     search->vertex + search->nr_seen + 1,
						     &search->lost);

		if (err)
			return err;
		search->lost_from = search->nr_seen;
	}
	bounds(search, vertex, &search->next[vertex], &end);
	search->number[vertex] = search->nr_seen;
	search->parent[search->nr_seen] = parent;
	search->vertex[search->nr_seen++] = vertex;
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
		err = make(search->nr, &search->vertex);
	if (!err)
		err = make(search->nr, &search->parent);
	if (err)
		return err;
	memset(search->number, 0xff, search->nr * sizeof(*search->number));
	err = enter(search, at, 0);
	while (!err) {
		uint32_t to = step(search, at);

		if (to == NONE && at == search->top)
			break;
		if (to != NONE)
			err = enter(search, to, search->number[at]);
		at = to != NONE ? to : search->vertex[search->parent[search->number[at]]];
	}
	drop(&search->next);
	return err;
}

/* What lost blocks point to is kept by others: they count among each other alone. */
static bool is_pointer(const struct search *search, uint32_t at, uint32_t to)
{
	return to != NONE && (at <= search->lost_from || search->number[to] > search->lost_from);
}

/* Count the pointers to each vertex, or, with `from`, put them there. */
static void turn(struct search *search)
{
	for (uint32_t at = 0; at < search->nr; at++) {
		uint32_t vertex = search->vertex[at], i, end;

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
static struct err *turn_round(struct search *search)
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
	drop(&search->number);
	if (!search->source->keep) {
		drop(&search->graph->first);
		vec_free(&search->graph->to);
	}
	return err ? err : cancel_check();
}

/*
 * Of the ancestors of a vertex below the first that is not linked yet, the one whose semidominator
 * has the smallest number. Vertices from `linked` on are.
 */
static struct err *evaluate(struct search *search, uint32_t vertex, uint32_t linked, uint32_t *ret)
{
	uint32_t *parent = search->parent, *label = search->label, at = vertex;
	struct err *err = NULL;

	vec_clear(&search->path);
	while (parent[at] >= linked && !err) {
		err = vec_push(&search->path, at);
		at = parent[at];
	}
	for (size_t i = search->path.nr; i-- && !err;) {
		uint32_t below = search->path.at[i];

		if (search->semi[label[at]] < search->semi[label[below]])
			label[below] = label[at];
		parent[below] = parent[at];
		at = below;
	}
	*ret = label[vertex];
	return err;
}

/* The vertices whose semidominator is `parent` get their dominator, or one that has the same. */
static struct err *empty_bucket(struct search *search, uint32_t parent, uint32_t linked)
{
	uint32_t vertex = search->bucket[parent];
	struct err *err = NULL;

	search->bucket[parent] = NONE;
	while (vertex != NONE && !err) {
		uint32_t next = search->dom[vertex], least;

		err = evaluate(search, vertex, linked, &least);
		search->dom[vertex] = search->semi[least] < search->semi[vertex] ? least : parent;
		vertex = next;
	}
	return err;
}

static struct err *find_semi(struct search *search, uint32_t at)
{
	uint32_t *semi = search->semi;
	struct err *err = NULL;

	for (uint32_t i = search->first[at]; i < search->first[at + 1] && !err; i++) {
		uint32_t least;

		err = evaluate(search, search->from[i], at + 1, &least);
		semi[at] = MIN(semi[at], semi[least]);
	}
	search->dom[at] = search->bucket[semi[at]];
	search->bucket[semi[at]] = at;
	return err;
}

static struct err *find_dominators(struct search *search)
{
	struct err *err = make(search->nr, &search->semi);

	if (!err)
		err = make(search->nr, &search->label);
	if (!err)
		err = make(search->nr, &search->bucket);
	if (!err)
		err = make(search->nr, &search->dom);
	if (err)
		return err;
	for (uint32_t i = 0; i < search->nr; i++) {
		search->semi[i] = search->label[i] = i;
		search->bucket[i] = NONE;
	}
	for (uint32_t at = search->nr; --at && !err;) {
		uint32_t parent = search->parent[at];

		err = find_semi(search, at);
		if (!err)
			err = empty_bucket(search, parent, at);
		if (!err && at % STEPS == 0)
			err = cancel_check();
	}
	search->dom[0] = 0;
	for (uint32_t at = 1; at < search->nr && !err; at++)
		if (search->dom[at] != search->semi[at])
			search->dom[at] = search->dom[search->dom[at]];
	drop(&search->first);
	drop(&search->from);
	drop(&search->parent);
	drop(&search->semi);
	drop(&search->label);
	drop(&search->bucket);
	return err;
}

/* A vertex comes behind its dominator: from the last one on, each is added to that. */
static struct err *add_up(struct search *search, struct dominators *ret)
{
	const struct packed_list *list = search->source->list;
	struct err *err = make(search->nr, &ret->of);

	if (!err)
		err = make(search->nr, &ret->blocks);
	ret->bytes = calloc(search->nr + 1ull, sizeof(*ret->bytes));
	if (err || !ret->bytes)
		return err_nomem;
	memset(ret->blocks, 0, search->nr * sizeof(*ret->blocks));
	for (uint32_t at = search->nr; at--;) {
		uint32_t vertex = search->vertex[at];
		uint32_t of = ret->of[vertex] = search->vertex[search->dom[at]];

		if (vertex < search->graph->nr) {
			ret->bytes[vertex] += packed_size(list, packed_at(list, vertex));
			ret->blocks[vertex]++;
		}
		if (at) {
			ret->bytes[of] += ret->bytes[vertex];
			ret->blocks[of] += ret->blocks[vertex];
		}
	}
	return cancel_check();
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
	search_free(&search);
	if (err)
		dominators_free(&dominators);
	else
		*ret = dominators;
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
	free(dominators->bytes);
	free(dominators->blocks);
	*dominators = (struct dominators){ .nr = 0 };
}
