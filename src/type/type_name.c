/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A type's name (type_name.h). C writes what a type is made of around the place of the name: a
 * `declarator` grows from the inside out, until there is a type that has a name.
 */

#include "type/type_name.h"

#include <inttypes.h>

#include "type/die.h"

#define STEPS	1000u	/* types in a name: parameters of parameters may be more than anybody reads */

struct reach {
	unsigned depth;
	unsigned *steps;
};

static struct reach deeper(struct reach reach)
{
	return (struct reach){ reach.depth + 1, reach.steps };
}

static struct err *add_type(struct type *type, const char *declarator, struct reach reach,
			    struct str *to);

static const char *keyword(const struct type *type)
{
	switch (type->kind) {
	case TYPE_STRUCT:
		return "struct ";
	case TYPE_CLASS:
		return "class ";
	case TYPE_UNION:
		return "union ";
	case TYPE_ENUM:
		return "enum ";
	default:
		return "";
	}
}

/* In C++ a name needs no keyword, but what has no name has one. */
static struct err *add_base(const struct type *type, const char *declarator, struct str *to)
{
	struct err *err;

	if (type->name)
		err = str_addf(to, "%s%s", type->cxx ? "" : keyword(type), type->name);
	else
		err = str_addf(to, "%s{...}", *keyword(type) ? keyword(type) : "<unnamed type> ");
	if (!err && *declarator)
		err = str_addf(to, " %s", declarator);
	return err;
}

static struct err *add_pointer(struct type *type, const char *sign, const char *declarator,
			       struct reach reach, struct str *to)
{
	struct type *target = type_target(type), *at = target;
	struct str next AUTO_STR = STR_INIT;
	struct err *err;
	bool around;

	for (unsigned i = 0; at->kind == TYPE_QUALIFIED && i < TYPE_DEPTH; i++)
		at = type_target(at);
	around = at->kind == TYPE_ARRAY || (at->kind == TYPE_FUNCTION && !at->name);
	err = str_addf(&next, "%s%s%s%s", around ? "(" : "", sign, declarator, around ? ")" : "");
	return err ? err : add_type(target, next.at, deeper(reach), to);
}

static struct err *add_qualified(struct type *type, const char *declarator, struct reach reach,
				 struct str *to)
{
	struct str next AUTO_STR = STR_INIT;
	bool is_const = false, is_volatile = false;
	struct type *element;
	struct err *err;

	for (unsigned i = 0; type->kind == TYPE_QUALIFIED && i < TYPE_DEPTH; i++) {
		is_const |= type->is_const;
		is_volatile |= type->is_volatile;
		type = type_target(type);
	}
	element = type;
	if (type->kind == TYPE_POINTER) {
		err = str_addf(&next, "*%s%s%s%s", is_const ? " const" : "",
			       is_volatile ? " volatile" : "", *declarator ? " " : "", declarator);
		return err ? err : add_type(type_target(type), next.at, deeper(reach), to);
	}
	/* Of an array that is const, its elements are. */
	for (unsigned i = 0; element->kind == TYPE_ARRAY && i < TYPE_DEPTH; i++)
		element = type_target(element);
	is_const &= !(element != type && element->kind == TYPE_QUALIFIED);
	err = str_addf(to, "%s%s", is_const ? "const " : "", is_volatile ? "volatile " : "");
	return err ? err : add_type(type, declarator, deeper(reach), to);
}

static struct err *add_array(struct type *type, const char *declarator, struct reach reach,
			     struct str *to)
{
	struct str next AUTO_STR = STR_INIT;
	struct err *err = type->counted ?
		str_addf(&next, "%s[%" PRIu64 "]", declarator, type->count) :
		str_addf(&next, "%s[]", declarator);

	return err ? err : add_type(type_target(type), next.at, deeper(reach), to);
}

static struct err *add_parameters(struct type *type, struct reach reach, struct str *to)
{
	bool any = false, prototyped = type->cxx || (type->die.addr && die_flag(&type->die, DW_AT_prototyped));
	struct err *err = NULL;
	Dwarf_Die die;

	if (type->die.addr && dwarf_child(&type->die, &die) == 0)
		do {
			int tag = dwarf_tag(&die);

			if (tag != DW_TAG_formal_parameter && tag != DW_TAG_unspecified_parameters)
				continue;
			if (any)
				err = str_add(to, ", ");
			any = true;
			if (!err)
				err = tag == DW_TAG_formal_parameter ?
					add_type(type_of(type->pool, &die), "", deeper(reach), to) :
					str_add(to, "...");
		} while (!err && *reach.steps < STEPS && die_next(&die));
	return err || any || !prototyped ? err : str_add(to, "void");
}

static struct err *add_function(struct type *type, const char *declarator, struct reach reach,
				struct str *to)
{
	struct str next AUTO_STR = STR_INIT;
	struct err *err = str_addf(&next, "%s(", declarator);

	if (!err)
		err = add_parameters(type, reach, &next);
	if (!err)
		err = str_add(&next, ")");
	return err ? err : add_type(type_target(type), next.at, deeper(reach), to);
}

static struct err *add_type(struct type *type, const char *declarator, struct reach reach,
			    struct str *to)
{
	if (reach.depth == TYPE_DEPTH || (*reach.steps)++ == STEPS)
		return str_add(to, "...");
	switch (type->kind) {
	case TYPE_POINTER:
		return add_pointer(type, "*", declarator, reach, to);
	case TYPE_REFERENCE:
		return add_pointer(type, "&", declarator, reach, to);
	case TYPE_RVALUE:
		return add_pointer(type, "&&", declarator, reach, to);
	case TYPE_QUALIFIED:
		return add_qualified(type, declarator, reach, to);
	case TYPE_ARRAY:
		return add_array(type, declarator, reach, to);
	case TYPE_FUNCTION:
		if (type->name)
			return add_base(type, declarator, to);
		return add_function(type, declarator, reach, to);
	case TYPE_MEMBER_POINTER:
		return str_addf(to, "<pointer to member>%s%s", *declarator ? " " : "", declarator);
	default:
		return add_base(type, declarator, to);
	}
}

struct err *type_name_add(struct type *type, struct str *to)
{
	unsigned steps = 0;

	return add_type(type, "", (struct reach){ 0, &steps }, to);
}
