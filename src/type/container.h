/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Containers of libstdc++, libc++ (LLVM 14) and Rust: what is in them, in place of how they are made. Titles are
 * those of libstdc++'s printers for gdb: "std::vector of length 3, capacity 4".
 *
 * A container is known by its type's name and by members that must be there; where one is missing
 * (another library, or another version) the value is a struct like any other. What a damaged one
 * leads to is bounded by its own count, and by what can be read.
 */
#pragma once

#include "type/value.h"

enum container_style {
	CONTAINER_TEXT,		/* count bytes at `at` */
	CONTAINER_LIST,		/* values alone */
	CONTAINER_NUMBERED,	/* values with their numbers */
	CONTAINER_MAP,
	CONTAINER_NAMED,	/* one value, item_name */
};

/* A tree whose nodes have arrays of keys and of values: offsets in a node, and a place in it. */
struct container_tree {
	uint64_t parent, parent_index, len, keys, values, edges;
	uint64_t key_size, height, index;
};

struct container {
	enum container_style style;
	char title[512];
	const char *item_name;
	uint64_t count, done;
	uint64_t at;			/* of the next element, or its node */
	uint64_t offset;		/* from a node to its value; the bit of a vector<bool> */
	uint64_t step;			/* bytes of an element */
	struct type *element;
	struct value one;		/* of CONTAINER_NAMED */
	/* Go to the next node; NULL: the elements lie one behind the other. */
	struct err *(*advance)(struct memory *memory, struct container *container);
	bool bits;
	/* Elements in blocks, or in a table: where it is, the place in it, and how many are left there. */
	uint64_t table, node, left;
	uint64_t room;			/* of a block */
	struct container_tree tree;
	/* Of a map whose keys are not beside their values: of the next element. NULL: they are. */
	struct type *key_type;
	uint64_t key_at;
	/* Names of members: of an element that wraps its value, and of the key and the value of a pair. */
	const char *wraps, *key, *mapped;
};

struct container_item {
	bool is;			/* false: there is no other */
	struct value key, value;
};

/* *is_ret is false if it is no container. plain is the value's type. */
struct err *container_of_value(struct memory *memory, const struct value *value, struct type *plain,
			       struct container *ret, bool *is_ret) MUST_CHECK;
struct err *container_next(struct memory *memory, struct container *container,
			   struct container_item *ret) MUST_CHECK;
