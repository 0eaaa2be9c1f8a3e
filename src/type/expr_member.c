/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Members in an expression (expr_member.h). */

#include "type/expr_member.h"

#include "type/container.h"

struct err *expr_member_unwrap(const struct value_world *world, struct value *value)
{
	struct container container;
	bool is = false;
	struct err *err = container_of_value(world->memory, value, type_plain(value->type),
					     &container, &is);

	if (!err && is && container.style == CONTAINER_NAMED && container.count)
		*value = container.one;
	return err;
}

static struct err *static_member(const struct value_world *world, const struct member *member,
				 char unknown[EXPR_UNKNOWN], struct value *ret)
{
	struct variable variable;
	bool found;
	struct err *err = types_find_static(world->types, member, &variable, &found);

	if (err)
		return err;
	if (!found)
		variable = (struct variable){ .type = member->type, .where = VARIABLE_NOWHERE };
	return expr_name_variable(world, member->name, &variable, unknown, ret);
}

struct err *expr_member_value(const struct value_world *world, const char *name,
			      char unknown[EXPR_UNKNOWN], struct value *value)
{
	struct type *type = type_plain(value->type);
	const struct member *member;
	struct value from = *value;
	uint64_t address;
	struct err *err = NULL;

	if (type->kind == TYPE_POINTER) {
		err = value_pointer(world->memory, value, &address);
		if (err)
			return err;
		from = value_at(type_target(type), address);
		type = type_plain(from.type);
	}
	if (!type_is_struct(type))
		return err_create(ERR_USAGE, "what has the member %s is no struct", name);
	if (type->declared)
		return err_create(ERR_UNSUPPORTED, "%s is an incomplete type: its members are not "
				  "known", type->name ? type->name : "this");
	err = value_find_member(world->memory, &from, name, value, &member);
	if (!err && !member)
		err = err_create(ERR_NOTFOUND, "there is no member %s in %s", name,
				 type->name ? type->name : "it");
	return err || !member->is_static ? err : static_member(world, member, unknown, value);
}
