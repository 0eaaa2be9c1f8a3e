/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes layouts of types (layout.h). */

#include "type/layout.h"

#include <string.h>

#include "base/cancel.h"
#include "type/die.h"
#include "type/type_name.h"

#define POINTERS_MOST	4096u	/* of one layout; what is behind them is not followed */
#define STEPS_MOST	65536u	/* members and elements that are looked at for one layout */
#define WORD		8u

/* A type without const and the like, by the name that it was given. */
static struct type *unqualified(struct type *type)
{
	for (unsigned i = 0; type->kind == TYPE_QUALIFIED && i < TYPE_DEPTH; i++)
		type = type_target(type);
	return type;
}

static bool is_pointer(const struct type *plain)
{
	return plain->kind == TYPE_POINTER || type_is_reference(plain);
}

/* Does a pointer to it say what a block is? */
static bool tells(struct type *plain, uint64_t *size)
{
	struct err *err;

	if (plain->kind == TYPE_VOID || plain->kind == TYPE_CHAR || plain->kind == TYPE_FUNCTION ||
	    plain->kind == TYPE_UNKNOWN || plain->kind == TYPE_MEMBER_POINTER || plain->declared)
		return false;
	err = type_size(plain, size);
	if (err)
		err_ignore(err);
	return !err && *size > 1;
}

static struct err *name_of(struct type *type, struct type *plain, struct str *ret)
{
	return type_name_add(plain->name || !type_is_struct(plain) ? plain : unqualified(type), ret);
}

static struct err *add_layout(struct layouts *layouts, struct type *plain, const char *name,
			      uint64_t size, uint32_t *ret)
{
	struct type_layout layout = { .size = size, .begins_with = LAYOUT_NONE,
				      .begins_others = text_set_has(&layouts->begun, name) };
	uint32_t number;
	struct err *err;

	*ret = LAYOUT_NONE;
	if (layouts->ret->vec.nr == LAYOUTS_MOST)
		return NULL;
	err = text_set_copy(&layouts->names, name, &number);
	if (err)
		return err;
	if (number < layouts->ret->vec.nr) {
		/* Another one of that name is another type. */
		*ret = layouts->ret->vec.at[number].size == size ? number : LAYOUT_NONE;
		return NULL;
	}
	err = vec_push(&layouts->of, plain);
	if (!err)
		err = vec_push(&layouts->ret->vec, layout);
	*ret = number;
	return err;
}

struct err *layouts_of(struct layouts *layouts, struct type *type, uint32_t *ret)
{
	struct type *plain = type_plain(type);
	uintptr_t known = (uintptr_t)map_get(&layouts->by_type, (uintptr_t)type);
	AUTO_STR struct str name = STR_INIT;
	uint64_t size;
	struct err *err;

	*ret = LAYOUT_NONE;
	if (known) {
		*ret = (uint32_t)(known - 1);
		return NULL;
	}
	if (tells(plain, &size)) {
		err = name_of(type, plain, &name);
		/* A struct without a name is one of many. */
		if (!err && !strstr(str_text(&name), "{...}"))
			err = add_layout(layouts, plain, str_text(&name), size, ret);
		if (err)
			return err;
	}
	return map_put(&layouts->by_type, (uintptr_t)type, (void *)((uintptr_t)*ret + 1));
}

struct err *layouts_of_target(struct layouts *layouts, struct type *pointer, uint32_t *ret)
{
	struct type *plain = type_plain(pointer);

	*ret = LAYOUT_NONE;
	return is_pointer(plain) ? layouts_of(layouts, type_target(plain), ret) : NULL;
}

/* A layout that is being made. */
struct making {
	struct layouts *layouts;
	uint32_t layout, steps;
};

static struct err *add_part(struct making *making, struct type *type, uint64_t offset,
			    unsigned depth);

static struct err *add_pointer(struct making *making, struct type *plain, uint64_t offset)
{
	struct type_layouts *ret = making->layouts->ret;
	struct type_layout *layout;
	uint32_t to;
	struct err *err = layouts_of_target(making->layouts, plain, &to);

	layout = &ret->vec.at[making->layout];
	if (err || to == LAYOUT_NONE || offset % WORD || offset > UINT32_MAX - WORD ||
	    layout->nr == POINTERS_MOST || ret->pointers.nr == LAYOUT_POINTERS_MOST)
		return err;
	layout->nr++;
	return vec_push(&ret->pointers, ((struct layout_pointer){ (uint32_t)offset, to }));
}

static bool leads_to_end(const struct member *member)
{
	static const char *const names[] = { "_M_finish", "_M_end_of_storage", "__end_",
					     "__end_cap_" };

	for (size_t i = 0; member->name && i < ARRAY_SIZE(names); i++)
		if (!strcmp(member->name, names[i]))
			return true;
	return false;
}

static struct err *add_members(struct making *making, struct type *plain, uint64_t offset,
			       unsigned depth)
{
	const struct members *members = type_members(plain);
	struct err *err = NULL;

	for (size_t i = 0; !err && i < members->vec.nr; i++) {
		const struct member *member = &members->vec.at[i];

		if (!member->is_static && !member->bit_size && !member->is_virtual &&
		    !leads_to_end(member))
			err = add_part(making, member->type, offset + member->offset, depth + 1);
	}
	return err;
}

static struct err *add_elements(struct making *making, struct type *plain, uint64_t offset,
				unsigned depth)
{
	struct type *element = type_target(plain);
	uint64_t size;
	struct err *err = type_size(element, &size);

	if (err || !plain->counted || !size) {
		err_ignore(err);
		return NULL;
	}
	for (uint64_t i = 0; !err && i < plain->count && making->steps < STEPS_MOST; i++)
		err = add_part(making, element, offset + i * size, depth + 1);
	return err;
}

static struct err *add_part(struct making *making, struct type *type, uint64_t offset,
			    unsigned depth)
{
	struct type *plain = type_plain(type);

	if (depth == TYPE_DEPTH || making->steps++ >= STEPS_MOST)
		return NULL;
	if (is_pointer(plain))
		return add_pointer(making, plain, offset);
	if (plain->kind == TYPE_STRUCT || plain->kind == TYPE_CLASS)
		return add_members(making, plain, offset, depth);
	return plain->kind == TYPE_ARRAY ? add_elements(making, plain, offset, depth) : NULL;
}

/* Does it end with an array that is as long as its block has room for? */
static bool is_flexible(struct type *plain)
{
	const struct members *members = type_is_struct(plain) ? type_members(plain) : NULL;
	const struct member *last = members && members->vec.nr ?
		&members->vec.at[members->vec.nr - 1] : NULL;
	struct type *array = last && !last->is_static ? type_plain(last->type) : NULL;

	return array && array->kind == TYPE_ARRAY && (!array->counted || array->count <= 1);
}

static struct type *first_member(struct type *plain)
{
	const struct members *members = plain->kind == TYPE_STRUCT || plain->kind == TYPE_CLASS ?
		type_members(plain) : NULL;

	for (size_t i = 0; members && i < members->vec.nr; i++) {
		const struct member *member = &members->vec.at[i];

		if (!member->is_static && !member->is_virtual && !member->offset)
			return type_is_struct(type_plain(member->type)) ? member->type : NULL;
	}
	return NULL;
}

static struct err *finish_one(struct layouts *layouts, uint32_t number)
{
	struct making making = { .layouts = layouts, .layout = number };
	struct type *plain = layouts->of.at[number], *first = first_member(plain);
	struct type_layout *layout = &layouts->ret->vec.at[number];
	uint32_t begins_with = LAYOUT_NONE;
	struct err *err;

	layout->flexible = is_flexible(plain);
	layout->first = (uint32_t)layouts->ret->pointers.nr;
	err = add_part(&making, plain, 0, 0);
	if (!err && first)
		err = layouts_of(layouts, first, &begins_with);
	layouts->ret->vec.at[number].begins_with = begins_with;
	return err;
}

struct err *layouts_finish(struct layouts *layouts)
{
	struct err *err = NULL;

	while (!err && layouts->done < layouts->ret->vec.nr) {
		err = finish_one(layouts, (uint32_t)layouts->done++);
		if (!err)
			err = cancel_check();
	}
	return err ? err : types_pool(layouts->types)->nomem ? err_nomem : NULL;
}

static struct err *add_variable(void *ctx, const struct variable *variable)
{
	struct layouts *layouts = ctx;
	uint32_t layout;
	struct err *err = layouts_of(layouts, variable->type, &layout);

	return err || layout == LAYOUT_NONE ? err :
		vec_push(&layouts->ret->roots, ((struct layout_root){ variable->address, layout }));
}

struct err *layouts_add_variables(struct layouts *layouts)
{
	return types_each_variable(layouts->types, add_variable, layouts);
}

/* Note what a struct begins with, by names alone: there may be 100,000 of them. */
static struct err *note_begun(void *ctx, Dwarf_Die *die)
{
	struct layouts *layouts = ctx;
	int tag = dwarf_tag(die);
	AUTO_STR struct str name = STR_INIT;
	struct type *first = NULL;
	struct err *err;
	uint32_t number;

	if (tag == DW_TAG_structure_type || tag == DW_TAG_class_type)
		first = first_member(type_at(types_pool(layouts->types), die));
	if (!first)
		return NULL;
	err = name_of(first, type_plain(first), &name);
	return err ? err : text_set_copy(&layouts->begun, str_text(&name), &number);
}

struct err *layouts_begin(struct types *types, struct type_layouts *to, struct layouts *ret)
{
	*ret = (struct layouts){ .types = types, .ret = to, .by_type = MAP_INIT };
	return types_each_type(types, note_begun, ret);
}

void layouts_free(struct layouts *layouts)
{
	vec_free(&layouts->of);
	text_set_free(&layouts->names);
	text_set_free(&layouts->begun);
	map_free(&layouts->by_type, NULL);
}
