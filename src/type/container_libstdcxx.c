/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Containers of libstdc++ (container.h). */

#include <stdio.h>
#include <string.h>

#include "type/container_look.h"

#define DEQUE_BLOCK	512u	/* bytes of a block of a deque */
#define STEPS	256u	/* from a node of a tree to the next one */

static bool look_string(const struct container_look *look)
{
	struct type *of = container_look_argument(look->type, 0);
	bool is = of && type_plain(of)->size == 1;

	look->to->style = CONTAINER_TEXT;
	look->to->at = container_look_word(look->memory, look->value, &is, "_M_dataplus._M_p");
	look->to->count = container_look_word(look->memory, look->value, &is, "_M_string_length");
	return is;
}

static bool look_bits(const struct container_look *look)
{
	struct container *to = look->to;
	bool is = true;
	uint64_t end, first, last, room;

	to->at = container_look_word(look->memory, look->value, &is, "_M_impl._M_start._M_p");
	end = container_look_word(look->memory, look->value, &is, "_M_impl._M_finish._M_p");
	first = container_look_word(look->memory, look->value, &is, "_M_impl._M_start._M_offset");
	last = container_look_word(look->memory, look->value, &is, "_M_impl._M_finish._M_offset");
	room = container_look_word(look->memory, look->value, &is, "_M_impl._M_end_of_storage");
	to->count = 8 * (end - to->at) + last - first;
	to->bits = true;
	to->element = type_builtin(look->type->pool, BUILTIN_BOOL);
	to->offset = first;
	container_look_title(look, "std::vector<bool> of length %" PRIu64 ", capacity %" PRIu64, to->count,
	      8 * (room - to->at));
	return is && end >= to->at;
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
	to->at = container_look_word(look->memory, look->value, &is, "_M_impl._M_start");
	end = container_look_word(look->memory, look->value, &is, "_M_impl._M_finish");
	room = container_look_word(look->memory, look->value, &is, "_M_impl._M_end_of_storage");
	return is && container_look_vector(look, end, room);
}

/* A node of a tree of libstdc++: colour, parent, left, right. */
static struct err *tree_word(struct memory *memory, uint64_t node, unsigned nr, uint64_t *ret)
{
	return memory_read_u64(memory, node + 8 * nr, ret);
}

static struct err *tree_advance(struct memory *memory, struct container *container)
{
	uint64_t node = container->at, next;
	struct err *err = tree_word(memory, node, 3, &next);

	if (err)
		return err;
	if (next) {
		for (unsigned i = 0; next && !err && i < STEPS; i++) {
			node = next;
			err = tree_word(memory, node, 2, &next);
		}
		container->at = node;
		return err;
	}
	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t right = 0;

		err = tree_word(memory, node, 1, &next);
		if (!err)
			err = tree_word(memory, next, 3, &right);
		if (err)
			return err;
		if (right != node)
			break;
		node = next;
	}
	container->at = next;
	return NULL;
}

/* Where a container has its table, and that its count and its first node. */
struct nodes {
	const char *table, *count, *first;
	uint32_t offset;	/* of an element in its node */
	struct err *(*advance)(struct memory *memory, struct container *container);
};

static bool look_nodes(const struct container_look *look, const struct nodes *nodes)
{
	struct container *to = look->to;
	bool is = true;
	struct value table = container_look_inner(look->memory, look->value, &is, nodes->table);

	to->element = is ? container_look_argument(type_plain(table.type), 1) : NULL;
	to->count = container_look_word(look->memory, table, &is, nodes->count);
	to->at = container_look_word(look->memory, table, &is, nodes->first);
	to->offset = nodes->offset;
	to->advance = nodes->advance;
	container_look_elements(look);
	return is && to->element;
}

static bool look_tree(const struct container_look *look)
{
	static const struct nodes nodes = { "_M_t", "_M_impl._M_node_count",
					    "_M_impl._M_header._M_left", 32, tree_advance };

	return look_nodes(look, &nodes);
}

static bool look_hash(const struct container_look *look)
{
	static const struct nodes nodes = { "_M_h", "_M_element_count", "_M_before_begin._M_nxt", 8,
					    container_look_chain };

	return look_nodes(look, &nodes);
}

static bool look_list(const struct container_look *look)
{
	struct container *to = look->to;
	bool is = true;

	to->element = container_look_argument(look->type, 0);
	to->count = container_look_word(look->memory, look->value, &is, "_M_impl._M_node._M_size");
	to->at = container_look_word(look->memory, look->value, &is, "_M_impl._M_node._M_next");
	to->offset = 16;
	to->advance = container_look_chain;
	to->style = CONTAINER_NUMBERED;
	container_look_title(look, to->count ? "std::__cxx11::list" : "empty std::__cxx11::list");
	return is && to->element;
}

static bool look_unique(const struct container_look *look)
{
	bool is = true, found = false;
	struct value at = container_look_inner(look->memory, look->value, &is, "_M_t._M_t");

	/* A tuple: its first base is that of the deleter, its last that of the pointer. */
	for (unsigned i = 0; is && !found && i < 4; i++) {
		const struct members *members = type_members(type_plain(at.type));
		const struct member *last = NULL;

		vec_each(member, &members->vec)
			if (member->base)
				last = member;
		if (!last)
			return false;
		found = last->type->name && strstr(last->type->name, "_Head_base<0");
		is = !value_member(look->memory, &at, last, &at);
	}
	container_look_pointer(look, container_look_inner(look->memory, at, &is, "_M_head_impl"));
	return is;
}

static bool look_shared(const struct container_look *look)
{
	struct container *to = look->to;
	struct value counts;
	bool is = true;
	uint64_t uses, weak, at;
	size_t len;

	container_look_pointer(look, container_look_inner(look->memory, look->value, &is, "_M_ptr"));
	counts = container_look_inner(look->memory, look->value, &is, "_M_refcount._M_pi");
	len = strlen(to->title);
	if (!is || value_pointer(look->memory, &counts, &at))
		return false;
	if (!at) {
		snprintf(to->title + len, sizeof(to->title) - len, " (empty)");
		return true;
	}
	counts = value_at(type_target(type_plain(counts.type)), at);
	uses = container_look_word(look->memory, counts, &is, "_M_use_count");
	weak = container_look_word(look->memory, counts, &is, "_M_weak_count");
	if (uses)
		snprintf(to->title + len, sizeof(to->title) - len,
			 " (use count %" PRId64 ", weak count %" PRId64 ")", (int64_t)uses,
			 (int64_t)weak - 1);
	else
		snprintf(to->title + len, sizeof(to->title) - len,
			 " (expired, weak count %" PRId64 ")", (int64_t)weak);
	return is;
}

static bool look_deque(const struct container_look *look)
{
	struct container *to = look->to;
	bool is = true;
	struct value impl = container_look_inner(look->memory, look->value, &is, "_M_impl");
	uint64_t first_end = container_look_word(look->memory, impl, &is, "_M_start._M_last");
	uint64_t last = container_look_word(look->memory, impl, &is, "_M_finish._M_cur");
	uint64_t last_first = container_look_word(look->memory, impl, &is, "_M_finish._M_first");
	uint64_t last_node = container_look_word(look->memory, impl, &is, "_M_finish._M_node");

	to->element = container_look_argument(look->type, 0);
	to->at = container_look_word(look->memory, impl, &is, "_M_start._M_cur");
	to->node = container_look_word(look->memory, impl, &is, "_M_start._M_node");
	to->advance = container_look_blocks;
	to->style = CONTAINER_LIST;
	if (!is || !to->element || type_size(to->element, &to->step) || !to->step ||
	    first_end <= to->at || last < last_first || last_node < to->node)
		return false;
	to->room = to->step < DEQUE_BLOCK ? DEQUE_BLOCK / to->step : 1;
	to->left = (first_end - to->at) / to->step;
	to->count = last_node == to->node ? (last - to->at) / to->step :
		to->left + ((last_node - to->node) / sizeof(uint64_t) - 1) * to->room +
		(last - last_first) / to->step;
	container_look_title(look, "std::deque with %" PRIu64 " element%s", to->count,
			     to->count == 1 ? "" : "s");
	return true;
}

static bool look_optional(const struct container_look *look)
{
	struct container *to = look->to;
	bool is = true;

	to->count = container_look_word(look->memory, look->value, &is, "_M_payload._M_engaged") != 0;
	container_look_optional(look, container_look_inner(look->memory, look->value, &is,
							   "_M_payload._M_payload._M_value"));
	return is;
}

/* A union of the first and the rest, as deep as its index says. */
static bool look_variant(const struct container_look *look)
{
	bool is = true;
	uint64_t index = container_look_word(look->memory, look->value, &is, "_M_index");
	struct value at = container_look_inner(look->memory, look->value, &is, "_M_u");

	if (is && index == UINT8_MAX)
		return container_look_variant(look, index, NULL);
	is &= index < CONTAINER_VARIANTS;
	for (uint64_t i = 0; is && i < index; i++)
		at = container_look_inner(look->memory, at, &is, "_M_rest");
	at = container_look_inner(look->memory, at, &is, "_M_first");
	at.type = is ? container_look_argument(type_plain(at.type), 0) : NULL;
	return at.type && container_look_variant(look, index, &at);
}

static bool look_view(const struct container_look *look)
{
	struct type *of = container_look_argument(look->type, 0);
	bool is = of && type_plain(of)->size == 1;

	look->to->style = CONTAINER_TEXT;
	look->to->at = container_look_word(look->memory, look->value, &is, "_M_str");
	look->to->count = container_look_word(look->memory, look->value, &is, "_M_len");
	return is;
}

const struct container_kind container_libstdcxx_kinds[] = {
	{ "std::__cxx11::basic_string<", look_string },
	{ "std::basic_string_view<", look_view },
	{ "std::vector<", look_vector },
	{ "std::deque<", look_deque },
	{ "std::map<", look_tree },
	{ "std::multimap<", look_tree },
	{ "std::set<", look_tree },
	{ "std::multiset<", look_tree },
	{ "std::unordered_map<", look_hash },
	{ "std::unordered_multimap<", look_hash },
	{ "std::unordered_set<", look_hash },
	{ "std::unordered_multiset<", look_hash },
	{ "std::__cxx11::list<", look_list },
	{ "std::unique_ptr<", look_unique },
	{ "std::shared_ptr<", look_shared },
	{ "std::weak_ptr<", look_shared },
	{ "std::optional<", look_optional },
	{ "std::variant<", look_variant },
	{ NULL, NULL },
};
