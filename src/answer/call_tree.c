/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the tree of calls (theory in call_tree.h). */

#include "answer/call_tree.h"

#include <stdlib.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/text_set.h"
#include "heap/interner.h"
#include "log/log.h"
#include "session/session.h"

#define NODES_MOST	(4u << 20)	/* some 500 MB */

#define IS(kind, member)	COLUMN(kind, struct call_row, member)
#define ALL_TIME		COLUMN_WITH(struct call_row, all_time)

static const struct column call_columns[] = {
	{ "node", ">NODE", "the number of the row, from 1", IS(NUMBER, node) },
	{ "parent", ">PARENT", "its parent's number; 0: it is a root", IS(NUMBER, parent) },
	{ "depth", ">DEPTH", "0: it is a root", IS(NUMBER, depth), .flags = COLUMN_BRIEF },
	{ "bytes", ">BYTES", "held, with all that was called", IS(BYTES, bytes),
	  .flags = COLUMN_BRIEF },
	{ "count", ">COUNT", "held", IS(NUMBER, count), .flags = COLUMN_BRIEF },
	{ "own", ">OWN", "of bytes: what is in no child; from the top, what it has allocated itself", IS(BYTES, own) },
	{ "total", ">TOTAL", "blocks of all time", IS(NUMBER, total), ALL_TIME,
	  .flags = COLUMN_BRIEF },
	{ "totalbytes", NULL, NULL, IS(BYTES, total_bytes), ALL_TIME },
	{ "freed", ">FREED", "of total", IS(NUMBER, freed), ALL_TIME },
	{ "stack", NULL, "the heaviest one that goes through it", IS(STACK, stack) },
	{ "function", "FUNCTION", "with the place of the call, unless by function",
	  IS(TEXT, function), .flags = COLUMN_BRIEF },
};

const struct relation call_relation = RELATION("tree", call_columns, struct call_row);

struct builder {
	struct stack_names *names;
	const struct call_tree_spec *spec;
	struct call_tree *tree;		/* its rows are the nodes, in order of their coming */
	struct interner nodes;		/* parent << 32 | text -> node - 1 */
	VEC(uint64_t) heaviest;		/* by node: the weight of its stack */
	VEC(uint32_t) path;		/* texts of the stack in hand, its own frame first */
	uint32_t row;			/* that was given last */
};

static void builder_free(struct builder *builder)
{
	interner_free(&builder->nodes);
	vec_free(&builder->heaviest);
	vec_free(&builder->path);
}

uint64_t call_tree_weight(const struct call_row *row, enum site_sort sort)
{
	switch (sort) {
	case SITE_SORT_COUNT:
		return row->count;
	case SITE_SORT_TOTAL:
		return row->total_bytes;
	case SITE_SORT_CALLS:
	case SITE_SORT_CALLRATE:
		return row->total;
	case SITE_SORT_TEMPORARY:
		return row->freed;
	default:
		return row->bytes;
	}
}

static struct err *add_step(void *ctx, const struct symbol_frame *frame)
{
	struct builder *builder = ctx;
	enum symbol_names form = session_naming(builder->names->session)->names;
	const char *name = symbol_frame_name(frame, form);
	AUTO_STR struct str text = STR_INIT;
	struct err *err;
	uint32_t number;

	if (name && builder->spec->by_function)
		err = str_add(&text, name);
	else
		err = function_text(&text, frame, form);
	if (!err)
		err = text_set_copy(builder->tree->texts, str_text(&text), &number);
	return err ? err : vec_push(&builder->path, number);
}

static struct err *find_node(struct builder *builder, uint32_t parent, uint32_t text,
			     uint32_t *ret)
{
	struct call_tree *tree = builder->tree;
	uint32_t number;
	struct err *err = interner_number(&builder->nodes, (uint64_t)parent << 32 | text, &number);

	*ret = number + 1;
	if (err || number < tree->vec.nr)
		return err;
	if (number == NODES_MOST)
		return err_hint(err_create(ERR_RANGE, "the tree has more than %u places", NODES_MOST),
				"use a filter, or `by function`");
	err = vec_push(&builder->heaviest, 0);
	return err ? err : vec_push(&tree->vec, ((struct call_row){
		.function = tree->texts->vec.at[text], .node = number + 1, .parent = parent,
		.depth = parent ? tree->vec.at[parent - 1].depth + 1 : 0 }));
}

static void add_figures(struct builder *builder, uint32_t node, const struct call_row *figures)
{
	struct call_row *row = &builder->tree->vec.at[node - 1];
	uint64_t weight = call_tree_weight(figures, builder->spec->sort) + 1;

	row->bytes += figures->bytes;
	row->count += figures->count;
	row->total += figures->total;
	row->total_bytes += figures->total_bytes;
	row->freed += figures->freed;
	row->all_time = figures->all_time;
	if (weight > builder->heaviest.at[node - 1]) {
		builder->heaviest.at[node - 1] = weight;
		row->stack = figures->stack;
	}
}

static struct err *add_site(struct builder *builder, const struct site *site, bool all_time)
{
	const struct call_row figures = {
		.bytes = site->bytes, .count = site->count, .total = site->total,
		.total_bytes = site->total_bytes, .freed = site->freed, .stack = site->stack,
		.all_time = all_time,
	};
	bool callers = builder->spec->callers;
	uint32_t node = 0;
	size_t nr;
	struct err *err;

	vec_clear(&builder->path);
	err = stack_names_each(builder->names, site->stack, add_step, builder);
	if (!err && !builder->path.nr) {
		uint32_t unknown;

		err = text_set_copy(builder->tree->texts, "(no stack)", &unknown);
		if (!err)
			err = vec_push(&builder->path, unknown);
	}
	nr = builder->path.nr;
	for (size_t i = 0; !err && i < nr; i++) {
		err = find_node(builder, node, builder->path.at[callers ? i : nr - 1 - i], &node);
		if (!err)
			add_figures(builder, node, &figures);
	}
	if (!err)
		builder->tree->vec.at[node - 1].own += site->bytes;
	builder->tree->weight += call_tree_weight(&figures, builder->spec->sort);
	return err;
}

/* The heaviest first; of equal ones the one that came first, as a parent does before its children. */
static int by_weight(const void *va, const void *vb, void *ctx)
{
	const struct call_row *a = va, *b = vb;
	enum site_sort sort = *(const enum site_sort *)ctx;
	uint64_t one = call_tree_weight(a, sort), other = call_tree_weight(b, sort);

	if (one != other)
		return one > other ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

/* Keep the heaviest nodes, which are in this order. */
static void cut(struct builder *builder)
{
	struct call_tree *tree = builder->tree;
	const struct call_tree_spec *spec = builder->spec;
	double least = spec->least * (double)tree->weight;
	size_t nr = MIN(tree->vec.nr, spec->limit);

	while (nr && (double)call_tree_weight(&tree->vec.at[nr - 1], spec->sort) < least)
		nr--;
	tree->left_out = tree->vec.nr - nr;
	tree->vec.nr = nr;
}

/* Children of a node, or the roots, as a list of places of rows + 1, the heaviest first. */
struct lists {
	uint32_t *first;	/* by number of the parent */
	uint32_t *next;		/* by place */
	uint32_t *number;	/* that a node has got, by its old one */
	struct call_row *rows;	/* in their new order */
};

static void make_lists(const struct call_tree *tree, struct lists *lists)
{
	/* From the lightest on, so that each list begins with the heaviest. */
	for (uint32_t i = (uint32_t)tree->vec.nr; i-- > 0;) {
		uint32_t parent = tree->vec.at[i].parent;

		lists->next[i] = lists->first[parent];
		lists->first[parent] = i + 1;
	}
}

static struct err *walk_lists(const struct call_tree *tree, struct lists *lists)
{
	VEC(uint32_t) waiting = VEC_INIT;
	struct err *err = lists->first[0] ? vec_push(&waiting, lists->first[0]) : NULL;
	uint32_t nr = 0;

	while (!err && waiting.nr) {
		uint32_t at = waiting.at[--waiting.nr] - 1;
		struct call_row row = tree->vec.at[at];
		uint32_t child = lists->first[row.node];

		lists->number[row.node] = ++nr;
		row.node = nr;
		row.parent = row.parent ? lists->number[row.parent] : 0;
		lists->rows[nr - 1] = row;
		if (lists->next[at])
			err = vec_push(&waiting, lists->next[at]);
		if (!err && child)
			err = vec_push(&waiting, child);
	}
	vec_free(&waiting);
	return err;
}

/* Put the rows, which are in order of weight, into depth-first order. */
static struct err *order(struct builder *builder)
{
	struct call_tree *tree = builder->tree;
	size_t nodes = builder->heaviest.nr + 1, nr = tree->vec.nr + 1;
	AUTO_FREE uint32_t *first = calloc(nodes, sizeof(*first));
	AUTO_FREE uint32_t *next = calloc(nr, sizeof(*next));
	AUTO_FREE uint32_t *number = calloc(nodes, sizeof(*number));
	AUTO_FREE struct call_row *rows = calloc(nr, sizeof(*rows));
	struct lists lists = { first, next, number, rows };
	struct err *err;

	if (!first || !next || !number || !rows)
		return err_nomem;
	make_lists(tree, &lists);
	err = walk_lists(tree, &lists);
	if (!err && tree->vec.nr)
		memcpy(tree->vec.at, rows, tree->vec.nr * sizeof(*rows));
	return err;
}

struct err *call_tree_build(struct stack_names *names, const struct sites *sites,
			    const struct call_tree_spec *spec, struct call_tree *ret)
{
	CLEANUP(builder_free) struct builder builder = { .names = names, .spec = spec, .tree = ret };
	enum site_sort sort = spec->sort;
	struct err *err = NULL;

	*ret = (struct call_tree){ .vec = VEC_INIT };
	ret->texts = calloc(1, sizeof(*ret->texts));
	if (!ret->texts)
		return err_nomem;
	vec_each_while(site, &sites->vec, !err) {
		err = add_site(&builder, site, sites->all_time);
		if (!err)
			err = cancel_check();
	}
	if (err)
		return err;
	if (ret->vec.nr)
		qsort_r(ret->vec.at, ret->vec.nr, sizeof(*ret->vec.at), by_weight, &sort);
	cut(&builder);
	return order(&builder);
}

void call_tree_free(struct call_tree *tree)
{
	if (tree->texts)
		text_set_free(tree->texts);
	free(tree->texts);
	vec_free(&tree->vec);
}

static void free_rows(void *ctx)
{
	call_tree_free(ctx);
	free(ctx);
}

struct err *call_tree_rows(struct call_tree *tree, struct answer *ret)
{
	struct call_tree *kept = malloc(sizeof(*kept));

	if (!kept)
		return err_nomem;
	*kept = *tree;
	*tree = (struct call_tree){ .vec = VEC_INIT };
	*ret = (struct answer){ .of = &call_relation, .nr = kept->vec.nr, .at = kept->vec.at,
				.free = free_rows, .ctx = kept };
	return NULL;
}
