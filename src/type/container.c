/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Containers (container.h). */

#include "type/container.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "type/die.h"
#include "type/type_name.h"

#define STEPS	256u	/* from a node of a tree to the next one */

static struct type *argument(struct type *type, unsigned nr)
{
	Dwarf_Die die;

	if (type->die.addr && dwarf_child(&type->die, &die) == 0)
		do
			if (dwarf_tag(&die) == DW_TAG_template_type_parameter && !nr--)
				return type_of(type->pool, &die);
		while (die_next(&die));
	return NULL;
}

/* Follow names of members; *is is false from then on if one is missing. */
static struct value inner(struct memory *memory, struct value from, bool *is, const char *names)
{
	struct value to = from;
	char name[64];

	while (*is && *names) {
		const struct member *member = NULL;
		size_t len = strcspn(names, ".");

		snprintf(name, sizeof(name), "%.*s", (int)len, names);
		*is = !value_find_member(memory, &from, name, &to, &member) && member &&
		      !member->is_static;
		from = to;
		names += len + (names[len] == '.');
	}
	return to;
}

static uint64_t word(struct memory *memory, struct value from, bool *is, const char *names)
{
	struct value value = inner(memory, from, is, names);
	struct number number = { .integer = 0 };

	if (*is)
		*is = !value_number(memory, &value, &number);
	return number.integer;
}

/* All that a recognised kind of container does: false is said by *is. */
struct look {
	struct memory *memory;
	struct value value;
	struct type *type;
	struct container *to;
};

static void title(const struct look *look, const char *fmt, ...) PRINTF(2, 3);

static void title(const struct look *look, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(look->to->title, sizeof(look->to->title), fmt, ap);
	va_end(ap);
}

static bool look_string(const struct look *look)
{
	struct type *of = argument(look->type, 0);
	bool is = of && type_plain(of)->size == 1;

	look->to->style = CONTAINER_TEXT;
	look->to->at = word(look->memory, look->value, &is, "_M_dataplus._M_p");
	look->to->count = word(look->memory, look->value, &is, "_M_string_length");
	return is;
}

static bool look_bits(const struct look *look)
{
	struct container *to = look->to;
	bool is = true;
	uint64_t end, first, last, room;

	to->at = word(look->memory, look->value, &is, "_M_impl._M_start._M_p");
	end = word(look->memory, look->value, &is, "_M_impl._M_finish._M_p");
	first = word(look->memory, look->value, &is, "_M_impl._M_start._M_offset");
	last = word(look->memory, look->value, &is, "_M_impl._M_finish._M_offset");
	room = word(look->memory, look->value, &is, "_M_impl._M_end_of_storage");
	to->count = 8 * (end - to->at) + last - first;
	to->bits = true;
	to->element = type_builtin(look->type->pool, BUILTIN_BOOL);
	to->offset = first;
	title(look, "std::vector<bool> of length %" PRIu64 ", capacity %" PRIu64, to->count,
	      8 * (room - to->at));
	return is && end >= to->at;
}

static bool look_vector(const struct look *look)
{
	struct container *to = look->to;
	uint64_t end, room, size = 0;
	bool is = true;

	to->element = argument(look->type, 0);
	to->style = CONTAINER_LIST;
	if (!to->element)
		return false;
	if (type_plain(to->element)->kind == TYPE_BOOL)
		return look_bits(look);
	to->at = word(look->memory, look->value, &is, "_M_impl._M_start");
	end = word(look->memory, look->value, &is, "_M_impl._M_finish");
	room = word(look->memory, look->value, &is, "_M_impl._M_end_of_storage");
	if (!is || type_size(to->element, &size) || !size || end < to->at || room < end)
		return false;
	to->count = (end - to->at) / size;
	to->step = size;
	title(look, "std::vector of length %" PRIu64 ", capacity %" PRIu64, to->count,
	      (room - to->at) / size);
	return true;
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

struct bare_name {
	char text[64];
};

static struct bare_name bare_name(const struct type *type)
{
	struct bare_name name;

	snprintf(name.text, sizeof(name.text), "%.*s", (int)strcspn(type->name, "<"), type->name);
	return name;
}

/* Trees and tables of hashes alike. */
static void name_elements(const struct look *look)
{
	struct container *to = look->to;
	struct bare_name name = bare_name(look->type);

	to->style = strstr(name.text, "map") ? CONTAINER_MAP : CONTAINER_NUMBERED;
	title(look, "%s with %" PRIu64 " element%s", name.text, to->count,
	      to->count == 1 ? "" : "s");
}

static struct err *chain_advance(struct memory *memory, struct container *container)
{
	return memory_read_u64(memory, container->at, &container->at);
}

/* Where a container has its table, and that its count and its first node. */
struct nodes {
	const char *table, *count, *first;
	uint32_t offset;	/* of an element in its node */
	struct err *(*advance)(struct memory *memory, struct container *container);
};

static bool look_nodes(const struct look *look, const struct nodes *nodes)
{
	struct container *to = look->to;
	bool is = true;
	struct value table = inner(look->memory, look->value, &is, nodes->table);

	to->element = is ? argument(type_plain(table.type), 1) : NULL;
	to->count = word(look->memory, table, &is, nodes->count);
	to->at = word(look->memory, table, &is, nodes->first);
	to->offset = nodes->offset;
	to->advance = nodes->advance;
	name_elements(look);
	return is && to->element;
}

static bool look_tree(const struct look *look)
{
	static const struct nodes nodes = { "_M_t", "_M_impl._M_node_count",
					    "_M_impl._M_header._M_left", 32, tree_advance };

	return look_nodes(look, &nodes);
}

static bool look_hash(const struct look *look)
{
	static const struct nodes nodes = { "_M_h", "_M_element_count", "_M_before_begin._M_nxt", 8,
					    chain_advance };

	return look_nodes(look, &nodes);
}

static bool look_list(const struct look *look)
{
	struct container *to = look->to;
	bool is = true;

	to->element = argument(look->type, 0);
	to->count = word(look->memory, look->value, &is, "_M_impl._M_node._M_size");
	to->at = word(look->memory, look->value, &is, "_M_impl._M_node._M_next");
	to->offset = 16;
	to->advance = chain_advance;
	to->style = CONTAINER_NUMBERED;
	title(look, to->count ? "std::__cxx11::list" : "empty std::__cxx11::list");
	return is && to->element;
}

/* Name of the first template argument, for titles. */
static void add_argument(const struct look *look, const char *what)
{
	struct str text AUTO_STR = STR_INIT;
	struct type *of = argument(look->type, 0);

	if (of && type_name_add(of, &text))
		of->pool->nomem = true;
	title(look, "%s<%s>", what, str_text(&text));
}

static bool look_unique(const struct look *look)
{
	struct container *to = look->to;
	bool is = true, found = false;
	struct value at = inner(look->memory, look->value, &is, "_M_t._M_t");

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
	to->one = inner(look->memory, at, &is, "_M_head_impl");
	to->style = CONTAINER_NAMED;
	to->item_name = "get()";
	to->count = 1;
	add_argument(look, "std::unique_ptr");
	return is;
}

static bool look_shared(const struct look *look)
{
	struct container *to = look->to;
	struct value counts;
	bool is = true;
	uint64_t uses, weak, at;
	size_t len;

	to->one = inner(look->memory, look->value, &is, "_M_ptr");
	counts = inner(look->memory, look->value, &is, "_M_refcount._M_pi");
	to->style = CONTAINER_NAMED;
	to->item_name = "get()";
	to->count = 1;
	add_argument(look, bare_name(look->type).text);
	len = strlen(to->title);
	if (!is || value_pointer(look->memory, &counts, &at))
		return false;
	if (!at) {
		snprintf(to->title + len, sizeof(to->title) - len, " (empty)");
		return true;
	}
	counts = value_at(type_target(type_plain(counts.type)), at);
	uses = word(look->memory, counts, &is, "_M_use_count");
	weak = word(look->memory, counts, &is, "_M_weak_count");
	if (uses)
		snprintf(to->title + len, sizeof(to->title) - len,
			 " (use count %" PRId64 ", weak count %" PRId64 ")", (int64_t)uses,
			 (int64_t)weak - 1);
	else
		snprintf(to->title + len, sizeof(to->title) - len,
			 " (expired, weak count %" PRId64 ")", (int64_t)weak);
	return is;
}

/* The first pointer in a struct of Rust's, in which one type wraps the other. */
static bool rust_pointer(struct memory *memory, struct value value, unsigned depth, uint64_t *ret)
{
	struct type *type = type_plain(value.type);
	struct value in;

	if (type->kind == TYPE_POINTER)
		return !value_pointer(memory, &value, ret);
	if (depth == 8 || !type_is_struct(type))
		return false;
	vec_each(member, &type_members(type)->vec)
		if (!member->is_static && !value_member(memory, &value, member, &in) &&
		    rust_pointer(memory, in, depth + 1, ret))
			return true;
	return false;
}

static bool look_rust_vec(const struct look *look)
{
	struct container *to = look->to;
	bool is = true;
	struct value buf = inner(look->memory, look->value, &is, "buf");

	to->count = word(look->memory, look->value, &is, "len");
	to->element = argument(look->type, 0);
	to->style = CONTAINER_LIST;
	title(look, "Vec(size=%" PRIu64 ")", to->count);
	return is && to->element && !type_size(to->element, &to->step) &&
	       rust_pointer(look->memory, buf, 0, &to->at);
}

static bool look_rust_string(const struct look *look)
{
	struct container *to = look->to;
	bool is = true;
	struct value buf = inner(look->memory, look->value, &is, "vec.buf");

	to->count = word(look->memory, look->value, &is, "vec.len");
	to->style = CONTAINER_TEXT;
	return is && rust_pointer(look->memory, buf, 0, &to->at);
}

static bool look_rust_str(const struct look *look)
{
	bool is = true;

	look->to->style = CONTAINER_TEXT;
	look->to->at = word(look->memory, look->value, &is, "data_ptr");
	look->to->count = word(look->memory, look->value, &is, "length");
	return is;
}

static const struct {
	const char *name;	/* up to the template's arguments */
	bool (*look)(const struct look *look);
} kinds[] = {
	{ "std::__cxx11::basic_string<", look_string },
	{ "std::vector<", look_vector },
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
	{ "alloc::vec::Vec<", look_rust_vec },
	{ "alloc::string::String", look_rust_string },
	{ "&str", look_rust_str },
};

struct err *container_of_value(struct memory *memory, const struct value *value, struct type *plain,
			       struct container *ret, bool *is_ret)
{
	struct look look = { memory, *value, plain, ret };

	*is_ret = false;
	if (!plain->cxx || !plain->name || !value->lvalue)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(kinds) && !*is_ret; i++) {
		if (strncmp(plain->name, kinds[i].name, strlen(kinds[i].name)))
			continue;
		*ret = (struct container){ .item_name = NULL };
		*is_ret = kinds[i].look(&look);
	}
	return NULL;
}

/* The number of a bit in a vector<bool>. */
static struct err *next_bit(struct memory *memory, struct container *container,
			    struct container_item *ret)
{
	uint64_t bit = container->offset++;
	uint8_t byte;
	struct err *err = memory_read(memory, container->at + bit / 8, &byte, 1);

	if (!err)
		ret->value = value_of_integer(container->element, byte >> (bit % 8) & 1);
	return err;
}

static struct err *split_pair(struct memory *memory, struct container_item *item)
{
	bool is = true;
	struct value pair = item->value;

	item->key = inner(memory, pair, &is, "first");
	item->value = inner(memory, pair, &is, "second");
	return is ? NULL : err_create(ERR_FORMAT, "a map without pairs");
}

struct err *container_next(struct memory *memory, struct container *container,
			   struct container_item *ret)
{
	struct err *err = NULL;

	ret->is = container->done < container->count;
	if (!ret->is)
		return NULL;
	if (container->style == CONTAINER_NAMED) {
		ret->value = container->one;
	} else if (container->bits) {
		err = next_bit(memory, container, ret);
	} else {
		if (container->done && container->advance)
			err = container->advance(memory, container);
		else if (container->done)
			container->at += container->step;
		ret->value = value_at(container->element, container->at + container->offset);
		if (!err && container->style == CONTAINER_MAP)
			err = split_pair(memory, ret);
	}
	container->done++;
	return err;
}
