/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Containers of Rust (container.h). Titles are those of Rust's own printers for gdb: "Vec(size=3)",
 * "HashMap(size=2)", "Rc(strong=1, weak=0)".
 */

#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "type/container_look.h"

#define DEPTH	8u	/* types that wrap one another */
#define GROUP	64u	/* bytes of a table of hashes that are read at once */

/* The first value of these kinds in a struct, in which one type wraps the other. */
static bool first_of(struct memory *memory, struct value value, bool (*is)(const struct type *plain),
		     unsigned depth, struct value *ret)
{
	struct type *type = type_plain(value.type);
	struct value in;

	*ret = value;
	if (is(type))
		return true;
	if (depth == DEPTH || !type_is_struct(type))
		return false;
	vec_each(member, &type_members(type)->vec)
		if (!member->is_static && !value_member(memory, &value, member, &in) &&
		    first_of(memory, in, is, depth + 1, ret))
			return true;
	return false;
}

static bool is_pointer(const struct type *plain)
{
	return plain->kind == TYPE_POINTER;
}

static bool rust_pointer(struct memory *memory, struct value value, uint64_t *ret)
{
	struct value pointer;

	return first_of(memory, value, is_pointer, 0, &pointer) &&
	       !value_pointer(memory, &pointer, ret);
}

static bool look_vec(const struct container_look *look)
{
	struct container *to = look->to;
	bool is = true;
	struct value buf = container_look_inner(look->memory, look->value, &is, "buf");

	to->count = container_look_word(look->memory, look->value, &is, "len");
	to->element = container_look_argument(look->type, 0);
	to->style = CONTAINER_LIST;
	container_look_title(look, "Vec(size=%" PRIu64 ")", to->count);
	return is && to->element && !type_size(to->element, &to->step) &&
	       rust_pointer(look->memory, buf, &to->at);
}

static bool is_number(const struct type *plain)
{
	return plain->kind == TYPE_INT;
}

/* A ring: table is its buffer, of room elements, and node the place in it. */
static struct err *ring_advance(struct memory *memory UNUSED, struct container *container)
{
	container->node = container->node + 1 == container->room ? 0 : container->node + 1;
	container->at = container->table + container->node * container->step;
	return NULL;
}

static bool look_deque(const struct container_look *look)
{
	struct container *to = look->to;
	bool is = true;
	struct value buf = container_look_inner(look->memory, look->value, &is, "buf"), room;
	struct number number;

	to->count = container_look_word(look->memory, look->value, &is, "len");
	to->node = container_look_word(look->memory, look->value, &is, "head");
	to->element = container_look_argument(look->type, 0);
	to->style = CONTAINER_LIST;
	to->advance = ring_advance;
	container_look_title(look, "VecDeque(size=%" PRIu64 ")", to->count);
	if (!is || !to->element || type_size(to->element, &to->step) ||
	    !rust_pointer(look->memory, buf, &to->table) ||
	    !first_of(look->memory, buf, is_number, 0, &room) ||
	    value_number(look->memory, &room, &number))
		return false;
	/* Elements without bytes have no room. */
	to->room = to->step ? number.integer : UINT64_MAX;
	to->at = to->table + to->node * to->step;
	return to->count <= to->room && (to->node < to->room || !to->count);
}

static bool look_string(const struct container_look *look)
{
	struct container *to = look->to;
	bool is = true;
	struct value buf = container_look_inner(look->memory, look->value, &is, "vec.buf");

	to->count = container_look_word(look->memory, look->value, &is, "vec.len");
	to->style = CONTAINER_TEXT;
	return is && rust_pointer(look->memory, buf, &to->at);
}

static bool look_str(const struct container_look *look)
{
	bool is = true;

	look->to->style = CONTAINER_TEXT;
	look->to->at = container_look_word(look->memory, look->value, &is, "data_ptr");
	look->to->count = container_look_word(look->memory, look->value, &is, "length");
	return is;
}

/*
 * A table of hashes: a byte for each slot, whose highest bit says that nothing is in it, and before the
 * first of them the elements, the last one first. node: the next slot; left: how many there are behind.
 */
static struct err *table_advance(struct memory *memory, struct container *container)
{
	uint8_t bytes[GROUP];

	while (container->left) {
		size_t nr = MIN(container->left, sizeof(bytes));
		struct err *err = memory_read(memory, container->table + container->node, bytes, nr);

		for (size_t i = 0; i < nr && !err; i++) {
			container->node++;
			container->left--;
			if (bytes[i] & 0x80)
				continue;
			container->at = container->table - container->node * container->step;
			return NULL;
		}
		if (!err)
			err = cancel_check();
		if (err)
			return err;
	}
	return err_create(ERR_FORMAT, "a table with fewer elements than it says");
}

static bool take_table(const struct container_look *look, const char *path, const char *title)
{
	struct container *to = look->to;
	bool is = true;
	struct value table = container_look_inner(look->memory, look->value, &is, path);
	uint64_t mask = container_look_word(look->memory, table, &is, "table.bucket_mask");
	struct value ctrl = container_look_inner(look->memory, table, &is, "table.ctrl");
	struct err *err;

	to->count = container_look_word(look->memory, table, &is, "table.items");
	to->element = is ? container_look_argument(type_plain(table.type), 0) : NULL;
	container_look_title(look, "%s(size=%" PRIu64 ")", title, to->count);
	if (!to->element || type_size(to->element, &to->step) || mask == UINT64_MAX ||
	    to->count > mask + 1 || !rust_pointer(look->memory, ctrl, &to->table))
		return false;
	to->left = mask + 1;
	to->advance = table_advance;
	to->key = "__0";
	to->mapped = "__1";
	err = to->count ? table_advance(look->memory, to) : NULL;
	if (err)
		err_ignore(err);	/* that the user has interrupted is noticed again */
	return !err;
}

static bool look_map(const struct container_look *look)
{
	look->to->style = CONTAINER_MAP;
	return take_table(look, "base.table", "HashMap");
}

/* Elements are pairs of a key and nothing. */
static bool look_set(const struct container_look *look)
{
	struct container *to = look->to;

	to->style = CONTAINER_LIST;
	if (!take_table(look, "base.map.table", "HashSet"))
		return false;
	to->wraps = "__0";
	return true;
}

static bool count_of(struct memory *memory, struct value counted, const char *name, uint64_t *ret)
{
	bool is = true;
	struct value count = container_look_inner(memory, counted, &is, name), in;
	struct number number;

	if (!is || !first_of(memory, count, is_number, 0, &in) || value_number(memory, &in, &number))
		return false;
	*ret = number.integer;
	return true;
}

/* What a pointer that is counted leads to has the counts, of which the strong ones are one weak. */
static bool take_counted(const struct container_look *look, const char *title, const char *value)
{
	struct container *to = look->to;
	struct value pointer, counted;
	uint64_t at, strong, weak;
	bool is = first_of(look->memory, look->value, is_pointer, 0, &pointer) &&
		  !value_pointer(look->memory, &pointer, &at);

	if (!is || !type_is_struct(type_plain(type_target(type_plain(pointer.type)))))
		return false;
	counted = value_at(type_target(type_plain(pointer.type)), at);
	if (!count_of(look->memory, counted, "strong", &strong) ||
	    !count_of(look->memory, counted, "weak", &weak))
		return false;
	to->one = container_look_inner(look->memory, counted, &is, value);
	to->style = CONTAINER_NAMED;
	to->item_name = "value";
	to->count = strong != 0;
	container_look_title(look, "%s(strong=%" PRIu64 ", weak=%" PRIu64 ")", title, strong,
			     weak - (weak && strong));
	return is;
}

static bool look_rc(const struct container_look *look)
{
	return take_counted(look, "Rc", "value");
}

static bool look_arc(const struct container_look *look)
{
	return take_counted(look, "Arc", "data");
}

const struct container_kind container_rust_kinds[] = {
	{ "alloc::vec::Vec<", look_vec },
	{ "alloc::collections::vec_deque::VecDeque<", look_deque },
	{ "alloc::string::String", look_string },
	{ "&str", look_str },
	{ "std::collections::hash::map::HashMap<", look_map },
	{ "std::collections::hash::set::HashSet<", look_set },
	{ "alloc::collections::btree::map::BTreeMap<", container_btree_map },
	{ "alloc::collections::btree::set::BTreeSet<", container_btree_set },
	{ "alloc::rc::Rc<", look_rc },
	{ "alloc::sync::Arc<", look_arc },
	{ NULL, NULL },
};
