/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of names (expr_name.h). */

#include "type/expr_name.h"

#include <stdio.h>

#include "symbol/symbol.h"
#include "type/frame.h"
#include "type/locals.h"
#include "type/type_index.h"

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

struct err *expr_name_value(const struct value_world *world, const char *file, const char *name,
			    char unknown[EXPR_UNKNOWN], struct value *ret)
{
	const char *last = type_index_last(name);
	struct named named;
	bool found = false;
	struct err *err = file ? NULL : local_value(world, name, unknown, ret, &found);

	if (err || found)
		return err;
	err = types_find(world->types, file, name, &named, &found);

	if (!err && !found && last != name) {
		struct str outer AUTO_STR = STR_INIT;

		err = str_add_bytes(&outer, name, (size_t)(last - name) - 2);
		if (!err && outer.len)
			err = types_find_inner(world->types, outer.at, last, &named.is, &found);
		named.kind = NAME_VARIABLE;
	}
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
