/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values as text (value_text.h). */

#include "type/value_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "type/container.h"
#include "type/enum_text.h"
#include "type/number_text.h"
#include "type/text_literal.h"
#include "type/type_name.h"
#include "type/types.h"
#include "type/variant.h"

#define DEPTH		20u
#define ELEMENTS	(1u << 14)	/* of an array that are looked at, ... */
#define STRING_BYTES	(64u << 10)	/* ... and of a string */

/* A text that is being made. */
struct showing {
	const struct value_world *world;
	char format;
	struct str *to;
};

/* Virtual bases of one object that were shown: each is there once, however many classes have it. */
struct bases {
	const struct type *seen[16];
	unsigned nr;
};

static struct err *show(const struct showing *s, const struct value *value, unsigned depth,
			bool top);
static struct err *show_struct(const struct showing *s, const struct value *value, struct type *type,
			       unsigned depth, struct bases *bases);

static struct err *show_pointer(const struct showing *s, struct type *type, uint64_t address,
				bool top)
{
	struct type *target = type_plain(type_target(type_plain(type)));
	bool text = target->kind == TYPE_CHAR && target->size == 1;
	struct err *err = NULL;

	if (top && !text) {
		err = str_add(s->to, "(");
		if (!err)
			err = type_name_add(type, s->to);
		if (!err)
			err = str_add(s->to, ") ");
	}
	if (!err)
		err = str_addf(s->to, "0x%" PRIx64, address);
	if (!err)
		err = number_text_symbol(s->world, address, s->to);
	if (err || !text || !address)
		return err;
	err = str_add(s->to, " ");
	return err ? err : number_text_string(s->world->memory, address, s->to);
}

/* A container is shown alike, whatever refers to it. */
static struct err *show_reference(const struct showing *s, const struct value *value, unsigned depth,
				  bool top)
{
	struct value to = *value;
	struct container container;
	bool is = false;
	struct err *err = value_follow(s->world->memory, &to);

	if (!err)
		err = container_of_value(s->world->memory, &to, type_plain(to.type), &container,
					 &is);
	if (!err && top && !is) {
		err = str_add(s->to, "(");
		if (!err)
			err = type_name_add(type_plain(value->type), s->to);
		if (!err)
			err = str_add(s->to, ") ");
	}
	if (!err && !is)
		err = str_addf(s->to, "@0x%" PRIx64 ": ", to.address);
	return err ? err : show(s, &to, depth + 1, false);
}

/* In C the types of wide characters are names of integers. */
static bool is_wide_char(struct type *type)
{
	static const char *const names[] = { "wchar_t", "char16_t", "char32_t" };

	for (unsigned i = 0; i < TYPE_DEPTH; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(names); j++)
			if (type->name && !strcmp(type->name, names[j]))
				return true;
		if (type->kind != TYPE_TYPEDEF && type->kind != TYPE_QUALIFIED)
			break;
		type = type_target(type);
	}
	return false;
}

static struct err *show_number(const struct showing *s, const struct value *value, struct type *type,
			       bool top)
{
	struct number number;
	struct err *err = value_number(s->world->memory, value, &number);

	if (err)
		return err;
	if (s->format && s->format != 's')
		return number_text_add(s->world, &number, s->format, s->to);
	switch (type->kind) {
	case TYPE_ENUM:
		return enum_text_add(type, (int64_t)number.integer, s->to);
	case TYPE_BOOL:
		if (number.integer < 2)
			return str_add(s->to, number.integer ? "true" : "false");
		break;
	case TYPE_CHAR:
		return number_text_char(type, &number, s->to);
	case TYPE_POINTER:
		return show_pointer(s, value->type, number.integer, top);
	default:
		break;
	}
	if (type->kind == TYPE_INT && type->name && !strcmp(type->name, "()"))
		return str_add(s->to, type->name);	/* Rust's value of no bytes */
	if (type->kind == TYPE_INT && is_wide_char(value->type))
		return number_text_char(type, &number, s->to);
	if (number.size == 16 && !number.is_float) {
		uint8_t bytes[16];

		err = value_read(s->world->memory, value, bytes, sizeof(bytes));
		return err ? err : number_text_wide(bytes, number.is_signed, s->to);
	}
	return number_text_add(s->world, &number, 0, s->to);
}

/* Strings are shown with their zeros, but for the last one; a run of one byte is shown as a whole. */
static struct err *show_string(const struct showing *s, const struct value *value, uint64_t count)
{
	size_t want = (size_t)MIN(count, (uint64_t)STRING_BYTES), len = want, shown;
	AUTO_FREE uint8_t *bytes = malloc(MAX(len, sizeof(value->bytes)));
	struct err *err = bytes ? NULL : err_nomem;

	if (!err)
		err = value->lvalue ? memory_read_some(s->world->memory, value->address, bytes, len, &len) :
				      value_read(s->world->memory, value, bytes, len);
	if (err)
		return err;
	if (count == len && len && !bytes[len - 1])
		len--;
	shown = text_literal_len(bytes, len);
	err = text_literal_string(bytes, shown, shown < len || count > len + 1, s->to);
	/* What is shown may end where nothing can be read. */
	return err || shown < len || want <= len + 1 ? err : number_text_unread(value->address + len, s->to);
}

/* Elements whose texts are the same are the same: that is what their reader sees. */
struct list {
	struct str last;	/* the text that was not yet added */
	uint64_t repeats;
	bool any;		/* texts were added */
	unsigned things;	/* how many, where a run is worth LITERAL_REPEATS */
};

/* *cut_ret: not all of a run were added. */
static struct err *list_flush(const struct showing *s, struct list *list, bool *cut_ret)
{
	struct err *err = NULL;

	*cut_ret = false;
	if (!list->repeats)
		return NULL;
	if (list->repeats >= LITERAL_REPEATS) {
		err = str_addf(s->to, "%s%s <repeats %" PRIu64 " times>", list->any ? ", " : "",
			       str_text(&list->last), list->repeats);
		list->things += LITERAL_REPEATS;
		list->any = true;
	} else {
		for (; list->repeats && list->things < LITERAL_MOST && !err; list->repeats--) {
			err = str_addf(s->to, "%s%s", list->any ? ", " : "", str_text(&list->last));
			list->things++;
			list->any = true;
		}
		*cut_ret = list->repeats;
	}
	list->repeats = 0;
	return err;
}

/* *full_ret: the text has no room any more. */
static struct err *list_add(const struct showing *s, struct list *list, struct str *text,
			    bool *full_ret)
{
	struct err *err = NULL;

	if (list->repeats && !strcmp(str_text(&list->last), str_text(text))) {
		list->repeats++;
		return NULL;
	}
	err = list_flush(s, list, full_ret);
	*full_ret |= list->things >= LITERAL_MOST;
	if (*full_ret)
		return err;
	str_clear(&list->last);
	if (!err)
		err = str_add(&list->last, str_text(text));
	list->repeats = 1;
	return err;
}

static struct err *show_elements(const struct showing *s, const struct value *value, uint64_t count,
				 unsigned depth)
{
	struct str text AUTO_STR = STR_INIT;
	struct showing inner = { s->world, s->format, &text };
	struct list list = { .last = STR_INIT };
	struct err *err = str_add(s->to, "{");
	bool full = false, cut = false;
	uint64_t i, unread = 0;		/* where the rest cannot be read */

	for (i = 0; i < count && !err && !full; i++) {
		struct value element = { .address = 0 };

		if (i == ELEMENTS || s->to->len > VALUE_TEXT_MOST)
			break;
		str_clear(&text);
		err = value_element(s->world->memory, value, (int64_t)i, &element);
		if (!err)
			err = show(&inner, &element, depth + 1, false);
		if (err && err->code == ERR_MEMORY && i) {
			err_ignore(err);
			err = NULL;
			unread = element.address;
			break;
		}
		if (!err)
			err = list_add(s, &list, &text, &full);
		if (!err)
			err = cancel_check();
	}
	if (!err)
		err = list_flush(s, &list, &cut);
	str_free(&list.last);
	if (!err && unread && !full && !cut) {
		err = str_add(s->to, ", ");
		if (!err)
			err = number_text_unread(unread, s->to);
	}
	return err ? err : str_add(s->to, i < count || full || cut ? "...}" : "}");
}

/* Of an array without a length, at the end of a struct, gdb shows where it is. */
static struct err *show_array(const struct showing *s, const struct value *value, struct type *type,
			      unsigned depth)
{
	struct type *of = type_plain(type_target(type));
	struct err *err;

	if (!type->counted || !type->count) {
		err = str_addf(s->to, "0x%" PRIx64, value->address);
		return err ? err : number_text_symbol(s->world, value->address, s->to);
	}
	if (of->kind == TYPE_CHAR && of->size == 1 && (!s->format || s->format == 's'))
		return show_string(s, value, type->count);
	return show_elements(s, value, type->count, depth);
}

static struct err *show_static(const struct showing *s, const struct member *member, unsigned depth)
{
	struct variable variable;
	struct value value;
	bool found = false;
	struct err *err = types_find_static(s->world->types, member, &variable, &found);

	if (err)
		return err;
	if (!found || variable.where == VARIABLE_NOWHERE || variable.where == VARIABLE_THREAD)
		return str_add(s->to, "<optimized out>");
	value = variable.where == VARIABLE_ADDRESS ? value_at(variable.type, variable.address) :
		value_of_integer(variable.type, (uint64_t)variable.value);
	/* A struct may have a static member of its own type. */
	if (type_is_struct(type_plain(variable.type)))
		return str_add(s->to, "{...}");
	return show(s, &value, depth + 1, false);
}

static bool was_shown(struct bases *bases, const struct member *member)
{
	const struct type *type = type_plain(member->type);

	if (!member->base || !member->is_virtual)
		return false;
	for (unsigned i = 0; i < bases->nr; i++)
		if (bases->seen[i] == type)
			return true;
	if (bases->nr < ARRAY_SIZE(bases->seen))
		bases->seen[bases->nr++] = type;
	return false;
}

static struct err *show_member(const struct showing *s, const struct value *value,
			       const struct member *member, unsigned depth, struct bases *bases)
{
	struct err *err = NULL;
	struct value inner;

	if (member->base) {
		err = str_add(s->to, "<");
		if (!err)
			err = type_name_add(member->type, s->to);
		if (!err)
			err = str_add(s->to, "> = ");
	} else if (member->name) {
		err = str_addf(s->to, "%s%s = ", member->is_static ? "static " : "", member->name);
	}
	if (err)
		return err;
	if (member->is_static)
		return show_static(s, member, depth);
	err = value_member(s->world->memory, value, member, &inner);
	if (!err && member->base && depth < DEPTH)
		return show_struct(s, &inner, type_plain(member->type), depth + 1, bases);
	return err ? err : show(s, &inner, depth + 1, false);
}

/* gdb's printers leave out the base of a pair, which is empty. */
static bool is_left_out(const struct type *type, const struct member *member)
{
	if (member->base)
		return type->name && !strncmp(type->name, "std::pair<", 10);
	return !member->name && member->bit_size;
}

static struct err *show_struct(const struct showing *s, const struct value *value, struct type *type,
			       unsigned depth, struct bases *bases)
{
	const struct members *members = type_members(type);
	struct err *err = str_add(s->to, "{");
	bool any = false;

	if (!err && type->declared)
		err = str_add(s->to, "<incomplete type>");
	else if (!err && !members->vec.nr)
		err = str_add(s->to, "<No data fields>");
	vec_each_while(member, &members->vec, !err) {
		if (s->to->len > VALUE_TEXT_MOST) {
			err = str_add(s->to, "...");
			break;
		}
		if (is_left_out(type, member) || was_shown(bases, member))
			continue;
		if (any)
			err = str_add(s->to, ", ");
		any = true;
		if (!err)
			err = show_member(s, value, member, depth, bases);
	}
	return err ? err : str_add(s->to, "}");
}

/* "[key] = value" of maps, "[i] = value" of sets, or values alone. */
static struct err *show_items(const struct showing *s, struct container *container, unsigned depth)
{
	struct err *err = str_add(s->to, " = {");
	struct container_item item;
	unsigned nr = 0;

	while (!err && !(err = container_next(s->world->memory, container, &item)) && item.is) {
		if (nr == LITERAL_MOST || s->to->len > VALUE_TEXT_MOST)
			return str_add(s->to, "...}");
		err = str_add(s->to, nr ? ", " : "");
		if (!err && container->style == CONTAINER_MAP) {
			err = str_add(s->to, "[");
			if (!err)
				err = show(s, &item.key, depth + 1, false);
			if (!err)
				err = str_add(s->to, "] = ");
		} else if (!err && container->style == CONTAINER_NUMBERED) {
			err = str_addf(s->to, "[%u] = ", nr);
		} else if (!err && container->style == CONTAINER_NAMED) {
			err = str_addf(s->to, "%s = ", container->item_name);
		}
		if (!err)
			err = show(s, &item.value, depth + 1, false);
		if (!err)
			err = cancel_check();
		nr++;
	}
	return err ? err : str_add(s->to, "}");
}

static struct err *show_container(const struct showing *s, struct container *container,
				  unsigned depth)
{
	struct err *err;

	if (container->style == CONTAINER_TEXT) {
		uint8_t bytes[LITERAL_MOST];
		size_t len = (size_t)MIN(container->count, (uint64_t)LITERAL_MOST);

		err = len ? memory_read(s->world->memory, container->at, bytes, len) : NULL;
		return err ? err : text_literal_string(bytes, len, container->count > len, s->to);
	}
	err = str_add(s->to, container->title);
	if (err || !container->count)
		return err;
	return show_items(s, container, depth);
}

/* "Some {__0 = 5}", "None". A variant is a struct of the variant's name. */
static struct err *show_variant(const struct showing *s, const struct value *value,
				const struct member *member, unsigned depth)
{
	struct value inner;
	struct err *err;

	if (!member->type)
		return str_add(s->to, "<no variant has this discriminant>");
	err = str_add(s->to, member->name ? member->name : "");
	if (err || !type_members(type_plain(member->type))->vec.nr)
		return err;
	err = str_add(s->to, " ");
	if (!err)
		err = value_member(s->world->memory, value, member, &inner);
	return err ? err : show(s, &inner, depth + 1, false);
}

static struct err *show_aggregate(const struct showing *s, const struct value *value,
				  struct type *type, unsigned depth)
{
	struct bases bases = { .nr = 0 };
	struct container container;
	struct member variant;
	struct err *err;
	bool is;

	if (type->declared)
		return str_add(s->to, "<incomplete type>");
	err = container_of_value(s->world->memory, value, type, &container, &is);
	if (err || is)
		return err ? err : show_container(s, &container, depth);
	err = variant_of_value(s->world->memory, value, type, &variant, &is);
	if (err)
		return err;
	return is ? show_variant(s, value, &variant, depth) : show_struct(s, value, type, depth, &bases);
}

static struct err *show(const struct showing *s, const struct value *value, unsigned depth, bool top)
{
	struct type *type = type_plain(value->type);
	struct err *err;

	if (value->nowhere)
		return value->why ? str_addf(s->to, "<not known: %s>", value->why) :
			str_add(s->to, "<optimized out>");
	if (!type_is_struct(type) && type->kind != TYPE_ARRAY && type->sized &&
	    value_has_lost(value, MIN(type->size, sizeof(value->bytes))))
		return str_add(s->to, "<optimized out>");
	if (depth > DEPTH)
		return str_add(s->to, "{...}");
	switch (type->kind) {
	case TYPE_STRUCT:
	case TYPE_CLASS:
	case TYPE_UNION:
		return show_aggregate(s, value, type, depth);
	case TYPE_ARRAY:
		return show_array(s, value, type, depth);
	case TYPE_REFERENCE:
	case TYPE_RVALUE:
		return show_reference(s, value, depth, top);
	case TYPE_VOID:
		return str_add(s->to, "void");
	case TYPE_FUNCTION:
		err = str_add(s->to, "{");
		if (!err)
			err = type_name_add(type, s->to);
		if (!err)
			err = str_addf(s->to, "} 0x%" PRIx64, value->address);
		return err ? err : number_text_symbol(s->world, value->address, s->to);
	case TYPE_UNKNOWN:
	case TYPE_MEMBER_POINTER:
		if (top)
			return err_create(ERR_UNSUPPORTED, "its type is not known; cast it to its "
					  "declared type");
		return str_add(s->to, "<unknown type>");
	default:
		return show_number(s, value, type, top);
	}
}

struct err *value_text_add(const struct value_world *world, const struct value *value, char format,
			   struct str *to)
{
	struct showing s = { world, format, to };

	return show(&s, value, 0, true);
}
