/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rust's BTreeMap and BTreeSet (container.h). A node has up to 11 keys and values, in arrays of their own,
 * and its place in its parent; one that is no leaf begins with what a leaf has, and behind that are its
 * children, one more than its keys.
 */

#include <string.h>

#include "type/container_look.h"
#include "type/variant.h"

#define HEIGHT	64u	/* no tree is as high */

static struct err *read_short(struct memory *memory, uint64_t address, uint64_t *ret)
{
	uint16_t number = 0;
	struct err *err = memory_read(memory, address, &number, sizeof(number));

	*ret = number;
	return err;
}

/* Go to the first key of what is below the child of that number. */
static struct err *descend(struct memory *memory, struct container *container, uint64_t child)
{
	struct container_tree *tree = &container->tree;
	struct err *err = NULL;

	while (!err && tree->height) {
		err = memory_read_u64(memory, container->node + tree->edges + 8 * child, &container->node);
		tree->height--;
		child = 0;
	}
	tree->index = 0;
	return err;
}

static void take_place(struct container *container)
{
	const struct container_tree *tree = &container->tree;

	container->key_at = container->node + tree->keys + tree->index * tree->key_size;
	container->at = container->key_type ?
		container->node + tree->values + tree->index * container->step : container->key_at;
}

static struct err *tree_advance(struct memory *memory, struct container *container)
{
	struct container_tree *tree = &container->tree;
	struct err *err = NULL;
	uint64_t len = 0;

	if (tree->height) {
		err = descend(memory, container, tree->index + 1);
	} else {
		tree->index++;
		err = read_short(memory, container->node + tree->len, &len);
		/* Up to a node that has another key. */
		while (!err && tree->index >= len) {
			if (++tree->height == HEIGHT)
				return err_create(ERR_FORMAT, "a tree that is too high");
			err = read_short(memory, container->node + tree->parent_index, &tree->index);
			if (!err)
				err = memory_read_u64(memory, container->node + tree->parent,
						      &container->node);
			if (!err)
				err = read_short(memory, container->node + tree->len, &len);
		}
	}
	take_place(container);
	return err;
}

/* Where the parts of a node are. */
static bool take_layout(const struct container_look *look, struct type *leaf)
{
	struct container_tree *tree = &look->to->tree;
	const struct value at = value_at(leaf, 0);
	uint64_t size = 0;
	bool is = true;

	tree->parent = container_look_inner(look->memory, at, &is, "parent").address;
	tree->parent_index = container_look_inner(look->memory, at, &is, "parent_idx").address;
	tree->len = container_look_inner(look->memory, at, &is, "len").address;
	tree->keys = container_look_inner(look->memory, at, &is, "keys").address;
	tree->values = container_look_inner(look->memory, at, &is, "vals").address;
	if (!is || type_size(leaf, &size))
		return false;
	tree->edges = ALIGN_UP(size, 8);
	return true;
}

static bool take_root(const struct container_look *look, const struct value *map)
{
	struct container *to = look->to;
	bool is = true;
	struct value root = container_look_inner(look->memory, *map, &is, "root"), some, node;
	struct member variant;
	struct err *err = NULL;

	if (is)
		err = variant_of_value(look->memory, &root, type_plain(root.type), &variant, &is);
	if (!err && is && variant.type)
		err = value_member(look->memory, &root, &variant, &some);
	if (err)
		err_ignore(err);
	if (err || !is || !variant.type)
		return false;
	to->tree.height = container_look_word(look->memory, some, &is, "__0.height");
	node = container_look_inner(look->memory, some, &is, "__0.node.pointer");
	to->node = container_look_word(look->memory, node, &is, "");
	if (!is || to->tree.height >= HEIGHT ||
	    !take_layout(look, type_target(type_plain(node.type))))
		return false;
	err = descend(look->memory, to, 0);
	if (err)
		err_ignore(err);
	take_place(to);
	return !err;
}

static bool look_tree(const struct container_look *look, const struct value *map, const char *title)
{
	struct container *to = look->to;
	struct type *key = container_look_argument(look->type, 0);
	bool is = true;

	to->count = container_look_word(look->memory, *map, &is, "length");
	to->advance = tree_advance;
	container_look_title(look, "%s(size=%" PRIu64 ")", title, to->count);
	return is && key && !type_size(key, &to->tree.key_size) && (!to->count || take_root(look, map));
}

bool container_btree_map(const struct container_look *look)
{
	struct container *to = look->to;

	to->style = CONTAINER_MAP;
	to->key_type = container_look_argument(look->type, 0);
	to->element = container_look_argument(look->type, 1);
	return to->element && !type_size(to->element, &to->step) &&
	       look_tree(look, &look->value, "BTreeMap");
}

bool container_btree_set(const struct container_look *look)
{
	bool is = true;
	struct value map = container_look_inner(look->memory, look->value, &is, "map");

	look->to->style = CONTAINER_LIST;
	look->to->element = container_look_argument(look->type, 0);
	return is && look_tree(look, &map, "BTreeSet");
}
