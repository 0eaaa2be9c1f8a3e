/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of names (expr_name.h). */

#include "type/expr_name.h"

#include <stdio.h>

#include "base/compiler.h"
#include "symbol/symbol.h"
#include "type/die.h"
#include "type/frame.h"
#include "type/locals.h"
#include "type/type_index.h"
#include "type/type_scope.h"

/* What takes no memory, as sizeof, needs no thread. */
static struct err *thread_value(const struct value_world *world, const char *name,
				const struct variable *variable, char unknown[EXPR_UNKNOWN],
				struct value *ret)
{
	const struct frame *frame = world->frame;
	uint64_t start = 0;
	struct err *err = NULL;

	if (world->memory != value_zeros() && (!frame || !frame->thread_data)) {
		snprintf(unknown, EXPR_UNKNOWN, "%s", name);
		return err_hint(err_create(ERR_NOTFOUND, "%s is thread-local, and no thread is looked at",
					   name), "`thread` shows the threads");
	}
	if (world->memory != value_zeros())
		err = frame->thread_data(frame->ctx, variable->module, &start);
	*ret = value_at(variable->type, start + variable->address);
	return err ? err_wrap(err, "%s", name) : NULL;
}

struct err *expr_name_variable(const struct value_world *world, const char *name,
			       const struct variable *variable, char unknown[EXPR_UNKNOWN],
			       struct value *ret)
{
	switch (variable->where) {
	case VARIABLE_ADDRESS:
		*ret = value_at(variable->type, variable->address);
		return NULL;
	case VARIABLE_CONSTANT:
		*ret = value_of_integer(type_plain(variable->type), (uint64_t)variable->value);
		ret->type = variable->type;
		return NULL;
	case VARIABLE_THREAD:
		return thread_value(world, name, variable, unknown, ret);
	default:
		*ret = (struct value){ .type = variable->type, .nowhere = true };
		return NULL;
	}
}

/* A symbol alone says where something is, not what. */
static struct err *symbol_value(const struct value_world *world, const char *name, char *unknown,
				struct value *ret)
{
	struct type_pool *pool = types_pool(world->types);
	uint64_t address, size;

	if (symbols_find(types_symbols(world->types), name, &address, &size)) {
		snprintf(unknown, EXPR_UNKNOWN, "%s", name);
		return err_create(ERR_NOTFOUND, "no variable, function or type %.200s", name);
	}
	*ret = value_at(symbol_data_is_function(types_symbols(world->types), address,
						world->generation) ?
			type_builtin(pool, BUILTIN_CODE) : pool->unknown, address);
	return NULL;
}

/* A register, or a local variable. */
static struct err *local_value(const struct value_world *world, const char *name, char *unknown,
			       struct value *ret, bool *found_ret)
{
	struct err *err = NULL;

	if (*name != '$')
		return world->frame ? locals_find(world, name, ret, found_ret) : NULL;
	if (world->frame)
		err = frame_register(world, name + 1, ret, found_ret);
	if (err || *found_ret)
		return err;
	snprintf(unknown, EXPR_UNKNOWN, "%s", name);
	return err_create(ERR_NOTFOUND, "no register %.200s", name);
}

/* With its scopes, of which the last one may be a class or a function. */
static struct err *find_whole(const struct value_world *world, const char *file, const char *name,
			      struct named *ret, bool *found_ret)
{
	const char *last = type_index_last(name);
	struct str outer AUTO_STR = STR_INIT;
	struct err *err = types_find(world->types, file, name, ret, found_ret);

	if (err || *found_ret || last == name)
		return err;
	err = str_add_bytes(&outer, name, (size_t)(last - name) - 2);
	if (!err && outer.len)
		err = types_find_inner(world->types, outer.at, last, &ret->is, found_ret);
	ret->kind = NAME_VARIABLE;
	return err;
}

/* "ns::Class::" of the frame's function; a definition outside of its class leads to what is declared. */
static struct err *scopes_of_frame(const struct value_world *world, struct str *ret)
{
	static const unsigned leads[] = { DW_AT_abstract_origin, DW_AT_specification };
	Dwarf_Attribute mem;
	Dwarf_Die die;

	if (!world->frame || !frame_has_function(world, world->frame))
		return NULL;
	die = world->frame->function.die;
	for (size_t i = 0; i < ARRAY_SIZE(leads); i++)
		dwarf_formref_die(dwarf_attr(&die, leads[i], &mem), &die);
	return type_scope_add(&die, ret);
}

/* In the scopes of the frame's function, from the innermost on, then in no scope. */
static struct err *find_name(const struct value_world *world, const char *file, const char *name,
			     struct named *ret, bool *found_ret)
{
	struct str scope AUTO_STR = STR_INIT;
	struct err *err = file || *name == ':' ? NULL : scopes_of_frame(world, &scope);

	while (!err && !*found_ret && scope.len) {
		struct str whole AUTO_STR = STR_INIT;

		err = str_addf(&whole, "%s%s", scope.at, name);
		if (!err)
			err = find_whole(world, NULL, whole.at, ret, found_ret);
		/* Without the last scope, and the `::` behind it. */
		scope.len -= 2;
		scope.at[scope.len] = '\0';
		scope.len = (size_t)(type_index_last(scope.at) - scope.at);
		scope.at[scope.len] = '\0';
	}
	return err || *found_ret ? err : find_whole(world, file, name, ret, found_ret);
}

struct err *expr_name_value(const struct value_world *world, const char *file, const char *name,
			    char unknown[EXPR_UNKNOWN], struct value *ret)
{
	struct named named;
	bool found = false;
	struct err *err = file ? NULL : local_value(world, name, unknown, ret, &found);

	if (err || found)
		return err;
	err = find_name(world, file, name, &named, &found);
	if (err)
		return err;
	if (found && named.kind == NAME_TYPE)
		return err_create(ERR_USAGE, "%.200s is a type, not a value", name);
	if (found)
		return expr_name_variable(world, name, &named.is, unknown, ret);
	if (file)
		return err_create(ERR_NOTFOUND, "no variable %.200s in a file %.200s", name, file);
	return symbol_value(world, name, unknown, ret);
}
