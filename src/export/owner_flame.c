/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Owners and types as flame graphs (owner_flame.h). */

#include "export/owner_flame.h"

#include "answer/owner_rows.h"
#include "answer/stack_names.h"
#include "answer/type_rows.h"
#include "base/cancel.h"
#include "base/cleanup.h"

#define DEPTH		24u
#define NODES_MOST	200000u
#define NAME_MOST	400u
#define OWNERS_ROOM	(400u << 10)	/* bytes of frames */
#define TYPES_ROOM	(200u << 10)
#define NONE		UINT32_MAX
#define STEPS		65536u		/* between two looks whether the user has interrupted */

/* Blocks of one class that are kept by the same node; those of groups are kept by none. */
struct node {
	uint32_t parent, name, depth;
	uint64_t bytes, count;		/* of its own blocks */
};

struct building {
	struct flame_graph *graph;
	struct stack_names *names;
	const struct owners *owners;
	VEC(struct node) nodes;
	struct interner children;	/* node, by parent << 32 | name */
	struct interner classes;	/* index in class_name, by the key of a class */
	VEC(uint32_t) class_name;
	uint32_t *node_of;		/* by vertex; NONE: not known yet */
};

static void building_free(struct building *building)
{
	vec_free(&building->nodes);
	interner_free(&building->children);
	interner_free(&building->classes);
	vec_free(&building->class_name);
	free(building->node_of);
}

static struct err *class_of(struct building *building, uint32_t block, uint32_t *ret)
{
	const struct owner_graph *graph = &building->owners->graph;
	AUTO_STR struct str text = STR_INIT;
	uint32_t at, name;
	struct err *err = interner_number(&building->classes, root_names_class_key(graph, block), &at);

	if (!err && at < building->class_name.nr) {
		*ret = building->class_name.at[at];
		return NULL;
	}
	if (!err)
		err = root_names_class(building->names, graph, block, &text);
	if (!err)
		err = text_set_copy(&building->graph->names, str_text(&text), &name);
	if (!err)
		err = vec_push(&building->class_name, name);
	if (!err)
		*ret = name;
	return err;
}

/* The node of this name below parent; parent itself, where it goes no deeper. */
static struct err *child_of(struct building *building, uint32_t parent, uint32_t name,
			    uint32_t *ret)
{
	uint32_t depth = parent == NONE ? 1 : building->nodes.at[parent].depth + 1;
	struct err *err;

	*ret = parent;
	if (parent != NONE && (building->nodes.at[parent].name == name || depth > DEPTH ||
			       building->nodes.nr >= NODES_MOST))
		return NULL;
	err = interner_number(&building->children, (uint64_t)parent << 32 | name, ret);
	if (err || *ret < building->nodes.nr)
		return err;
	return vec_push(&building->nodes, ((struct node){ parent, name, depth, 0, 0 }));
}

static struct err *make_groups(struct building *building)
{
	const struct dominators *keeps = &building->owners->keeps;
	struct err *err = NULL;

	for (uint32_t i = keeps->nr; i <= keeps->top && !err; i++) {
		AUTO_STR struct str text = STR_INIT;
		uint32_t name;

		err = owner_rows_vertex(building->names, building->owners, i, &text);
		if (!err)
			err = text_set_copy(&building->graph->names, str_text(&text), &name);
		if (!err)
			err = child_of(building, NONE, name, &building->node_of[i]);
	}
	return err;
}

/* From the first dominator whose node is known down to the block: the tree may be as deep as a list. */
static struct err *make_node(struct building *building, uint32_t block, uint32_t *chain)
{
	const uint32_t *of = building->owners->keeps.of;
	size_t nr = 0;
	uint32_t at = block;
	struct err *err = NULL;

	for (; building->node_of[at] == NONE; at = of[at])
		chain[nr++] = at;
	while (nr-- && !err) {
		uint32_t name;

		err = class_of(building, chain[nr], &name);
		if (!err)
			err = child_of(building, building->node_of[of[chain[nr]]], name,
				       &building->node_of[chain[nr]]);
	}
	return err;
}

static struct err *add_blocks(struct building *building, uint32_t *chain)
{
	const struct packed_list *list = &building->owners->graph.in.held;
	struct err *err = NULL;

	for (uint32_t i = 0; i < list->nr && !err; i++) {
		struct node *node;

		err = make_node(building, i, chain);
		if (err)
			break;
		node = &building->nodes.at[building->node_of[i]];
		node->bytes += packed_size(list, packed_at(list, i));
		node->count++;
		if (i % STEPS == 0)
			err = cancel_check();
	}
	return err;
}

static struct err *add_frames(struct building *building)
{
	struct err *err = NULL;

	vec_each_while(node, &building->nodes, !err) {
		const struct flame_sums sums = { .bytes = node->bytes, .count = node->count };
		uint32_t names[DEPTH + 1], at = DEPTH + 1;

		names[--at] = node->name;
		for (uint32_t up = node->parent; up != NONE; up = building->nodes.at[up].parent)
			names[--at] = building->nodes.at[up].name;
		if (node->count)
			err = flame_add(&building->graph->flame, names + at, DEPTH + 1 - at, &sums);
	}
	return err;
}

struct err *owner_flame_build(const struct model *model, struct stack_names *names,
			      const struct owners *owners, struct flame_graph *ret)
{
	CLEANUP(building_free) struct building building = {
		.graph = ret, .names = names, .owners = owners,
		.children = INTERNER_INIT, .classes = INTERNER_INIT };
	size_t vertices = owners->keeps.top + 1ull;
	AUTO_FREE uint32_t *chain = malloc(vertices * sizeof(*chain));
	struct err *err = flame_svg_begin(model, FLAME_BYTES, NAME_MOST, ret);

	building.node_of = malloc(vertices * sizeof(*building.node_of));
	if (!err && (!chain || !building.node_of))
		err = err_nomem;
	if (err)
		return err;
	memset(building.node_of, 0xff, vertices * sizeof(*building.node_of));
	err = make_groups(&building);
	if (!err)
		err = add_blocks(&building, chain);
	if (!err)
		err = add_frames(&building);
	return err ? err : flame_svg_end(ret, OWNERS_ROOM);
}

struct err *owner_flame_build_types(const struct model *model, const struct type_sums *sums,
				    struct flame_graph *ret)
{
	struct err *err = flame_svg_begin(model, FLAME_BYTES, NAME_MOST, ret);

	vec_each_while(row, &sums->vec, !err) {
		const struct flame_sums is = { .bytes = row->bytes, .count = row->count };
		uint32_t names[2];
		size_t nr = *row->how ? 2 : 1;

		err = text_set_copy(&ret->names, row->type, &names[nr - 1]);
		if (!err && nr > 1)
			err = text_set_copy(&ret->names, row->how, &names[0]);
		if (!err)
			err = flame_add(&ret->flame, names, nr, &is);
	}
	return err ? err : flame_svg_end(ret, TYPES_ROOM);
}
