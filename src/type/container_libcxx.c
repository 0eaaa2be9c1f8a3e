/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Containers of libc++ (container.h), as LLVM 14 makes them. A pair that is compressed has its two
 * members in bases, the first of which is __value_.
 */

#include <stdio.h>
#include <string.h>

#include "type/container_look.h"

#define DEQUE_BLOCK	4096u	/* bytes of a block of a deque ... */
#define DEQUE_SMALL	256u	/* ... of elements that are smaller; of others ... */
#define DEQUE_LARGE	16u	/* ... it has so many */
#define STEPS		256u	/* from a node of a tree to the next one */

/* A short one has its length, doubled, in its first byte; the lowest bit says that it is long. */
static bool look_string(const struct container_look *look)
{
	struct container *to = look->to;
	struct type *of = container_look_argument(look->type, 0);
	bool is = of && type_plain(of)->size == 1;
	struct value rep = container_look_inner(look->memory, look->value, &is, "__r_.__value_");
	uint64_t first = container_look_word(look->memory, rep, &is, "__s.__size_");

	to->style = CONTAINER_TEXT;
	if (first & 1) {
		to->at = container_look_word(look->memory, rep, &is, "__l.__data_");
		to->count = container_look_word(look->memory, rep, &is, "__l.__size_");
	} else {
		to->at = container_look_inner(look->memory, rep, &is, "__s.__data_").address;
		to->count = first >> 1;
	}
	return is;
}

static bool look_view(const struct container_look *look)
{
	struct type *of = container_look_argument(look->type, 0);
	bool is = of && type_plain(of)->size == 1;

	look->to->style = CONTAINER_TEXT;
	look->to->at = container_look_word(look->memory, look->value, &is, "__data");
	look->to->count = container_look_word(look->memory, look->value, &is, "__size");
	return is;
}

static bool look_bits(const struct container_look *look)
{
	struct container *to = look->to;
	bool is = true;
	uint64_t room = container_look_word(look->memory, look->value, &is, "__cap_alloc_.__value_");

	to->at = container_look_word(look->memory, look->value, &is, "__begin_");
	to->count = container_look_word(look->memory, look->value, &is, "__size_");
	to->bits = true;
	to->element = type_builtin(look->type->pool, BUILTIN_BOOL);
	container_look_title(look, "std::vector<bool> of length %" PRIu64 ", capacity %" PRIu64,
			     to->count, 64 * room);
	return is && to->count <= 64 * room;
}

static bool look_vector(const struct container_look *look)
{
	struct container *to = look->to;
	uint64_t end, room;
	bool is = true;

	to->element = container_look_argument(look->type, 0);
	to->style = CONTAINER_LIST;
	if (!to->element)
		return false;
	if (type_plain(to->element)->kind == TYPE_BOOL)
		return look_bits(look);
	to->at = container_look_word(look->memory, look->value, &is, "__begin_");
	end = container_look_word(look->memory, look->value, &is, "__end_");
	room = container_look_word(look->memory, look->value, &is, "__end_cap_.__value_");
	return is && container_look_vector(look, end, room);
}

/*
 * The elements' place in a node, and their type: the allocator of a pair has the node's type as its
 * argument.
 */
static bool take_node(const struct container_look *look, const struct value *pair)
{
	struct type *allocator = container_look_argument(type_plain(pair->type), 1);
	struct type *node = allocator ? container_look_argument(type_plain(allocator), 0) : NULL;
	bool is = node;
	struct value value = { .type = NULL };

	if (is)
		value = container_look_inner(look->memory, value_at(node, 0), &is, "__value_");
	look->to->element = value.type;
	look->to->offset = value.address;
	return is;
}

/* Elements of a map are wrapped pairs. */
static void name_elements(const struct container_look *look)
{
	container_look_elements(look);
	if (look->to->style == CONTAINER_MAP)
		look->to->wraps = "__cc";
}

/* A node of a tree: left, right, parent. */
static struct err *tree_word(struct memory *memory, uint64_t node, unsigned nr, uint64_t *ret)
{
	return memory_read_u64(memory, node + 8 * nr, ret);
}

static struct err *leftmost(struct memory *memory, uint64_t node, uint64_t *ret)
{
	struct err *err = NULL;

	for (unsigned i = 0; node && !err && i < STEPS; i++) {
		*ret = node;
		err = tree_word(memory, node, 0, &node);
	}
	return err;
}

static struct err *tree_advance(struct memory *memory, struct container *container)
{
	uint64_t node = container->at, right, parent, left;
	struct err *err = tree_word(memory, node, 1, &right);

	if (err || right)
		return err ? err : leftmost(memory, right, &container->at);
	for (unsigned i = 0; i < STEPS; i++) {
		err = tree_word(memory, node, 2, &parent);
		if (!err)
			err = tree_word(memory, parent, 0, &left);
		if (err)
			return err;
		container->at = parent;
		if (left == node)
			break;
		node = parent;
	}
	return NULL;
}

static bool look_tree(const struct container_look *look)
{
	struct container *to = look->to;
	bool is = true;
	struct value tree = container_look_inner(look->memory, look->value, &is, "__tree_");
	struct value pair = container_look_inner(look->memory, tree, &is, "__pair1_");

	to->at = container_look_word(look->memory, tree, &is, "__begin_node_");
	to->count = container_look_word(look->memory, tree, &is, "__pair3_.__value_");
	to->advance = tree_advance;
	name_elements(look);
	return is && take_node(look, &pair);
}

static bool look_hash(const struct container_look *look)
{
	struct container *to = look->to;
	bool is = true;
	struct value table = container_look_inner(look->memory, look->value, &is, "__table_");
	struct value pair = container_look_inner(look->memory, table, &is, "__p1_");

	to->at = container_look_word(look->memory, pair, &is, "__value_.__next_");
	to->count = container_look_word(look->memory, table, &is, "__p2_.__value_");
	to->advance = container_look_chain;
	name_elements(look);
	return is && take_node(look, &pair);
}

static struct err *list_advance(struct memory *memory, struct container *container)
{
	return memory_read_u64(memory, container->at + 8, &container->at);
}

static bool look_list(const struct container_look *look)
{
	struct container *to = look->to;
	bool is = true;
	struct value pair = container_look_inner(look->memory, look->value, &is, "__size_alloc_");

	to->count = container_look_word(look->memory, pair, &is, "__value_");
	to->at = container_look_word(look->memory, look->value, &is, "__end_.__next_");
	to->advance = list_advance;
	to->style = CONTAINER_NUMBERED;
	container_look_title(look, to->count ? "std::list" : "empty std::list");
	return is && take_node(look, &pair);
}

static bool look_deque(const struct container_look *look)
{
	struct container *to = look->to;
	bool is = true;
	uint64_t begin = container_look_word(look->memory, look->value, &is, "__map_.__begin_");
	uint64_t end = container_look_word(look->memory, look->value, &is, "__map_.__end_");
	uint64_t start = container_look_word(look->memory, look->value, &is, "__start_");
	uint64_t nr = (end - begin) / sizeof(uint64_t);

	to->element = container_look_argument(look->type, 0);
	to->count = container_look_word(look->memory, look->value, &is, "__size_.__value_");
	to->style = CONTAINER_LIST;
	to->advance = container_look_blocks;
	container_look_title(look, "std::deque with %" PRIu64 " element%s", to->count,
			     to->count == 1 ? "" : "s");
	if (!is || !to->element || type_size(to->element, &to->step) || !to->step || end < begin)
		return false;
	to->room = to->step < DEQUE_SMALL ? DEQUE_BLOCK / to->step : DEQUE_LARGE;
	if (!to->count)
		return true;
	if (start / to->room >= nr || to->count > nr * to->room - start)
		return false;
	to->node = begin + start / to->room * sizeof(uint64_t);
	to->left = to->room - start % to->room;
	if (memory_read_u64(look->memory, to->node, &to->at))
		return false;
	to->at += start % to->room * to->step;
	return true;
}

static bool look_unique(const struct container_look *look)
{
	bool is = true;

	container_look_pointer(look, container_look_inner(look->memory, look->value, &is,
							  "__ptr_.__value_"));
	return is;
}

/* Counts are those of others: one less than there are. All that are strong have one weak. */
static bool look_shared(const struct container_look *look)
{
	struct container *to = look->to;
	bool is = true;
	struct value counts = container_look_inner(look->memory, look->value, &is, "__cntrl_");
	uint64_t uses, weak, at;
	size_t len;

	container_look_pointer(look, container_look_inner(look->memory, look->value, &is, "__ptr_"));
	len = strlen(to->title);
	if (!is || value_pointer(look->memory, &counts, &at))
		return false;
	if (!at) {
		snprintf(to->title + len, sizeof(to->title) - len, " (empty)");
		return true;
	}
	counts = value_at(type_target(type_plain(counts.type)), at);
	uses = container_look_word(look->memory, counts, &is, "__shared_owners_") + 1;
	weak = container_look_word(look->memory, counts, &is, "__shared_weak_owners_");
	if (uses)
		snprintf(to->title + len, sizeof(to->title) - len,
			 " (use count %" PRId64 ", weak count %" PRId64 ")", (int64_t)uses, (int64_t)weak);
	else
		snprintf(to->title + len, sizeof(to->title) - len,
			 " (expired, weak count %" PRId64 ")", (int64_t)weak + 1);
	return is;
}

static bool look_optional(const struct container_look *look)
{
	bool is = true;

	look->to->count = container_look_word(look->memory, look->value, &is, "__engaged_") != 0;
	container_look_optional(look, container_look_inner(look->memory, look->value, &is, "__val_"));
	return is;
}

static bool look_variant(const struct container_look *look)
{
	bool is = true;
	struct value impl = container_look_inner(look->memory, look->value, &is, "__impl");
	uint64_t index = container_look_word(look->memory, impl, &is, "__index");
	struct value at = container_look_inner(look->memory, impl, &is, "__data");

	if (is && index == UINT32_MAX)
		return container_look_variant(look, index, NULL);
	is &= index < CONTAINER_VARIANTS;
	for (uint64_t i = 0; is && i < index; i++)
		at = container_look_inner(look->memory, at, &is, "__tail");
	at = container_look_inner(look->memory, at, &is, "__head.__value");
	return is && container_look_variant(look, index, &at);
}

const struct container_kind container_libcxx_kinds[] = {
	{ "std::__1::basic_string<", look_string },
	{ "std::__1::basic_string_view<", look_view },
	{ "std::__1::vector<", look_vector },
	{ "std::__1::deque<", look_deque },
	{ "std::__1::map<", look_tree },
	{ "std::__1::multimap<", look_tree },
	{ "std::__1::set<", look_tree },
	{ "std::__1::multiset<", look_tree },
	{ "std::__1::unordered_map<", look_hash },
	{ "std::__1::unordered_multimap<", look_hash },
	{ "std::__1::unordered_set<", look_hash },
	{ "std::__1::unordered_multiset<", look_hash },
	{ "std::__1::list<", look_list },
	{ "std::__1::unique_ptr<", look_unique },
	{ "std::__1::shared_ptr<", look_shared },
	{ "std::__1::weak_ptr<", look_shared },
	{ "std::__1::optional<", look_optional },
	{ "std::__1::variant<", look_variant },
	{ NULL, NULL },
};
