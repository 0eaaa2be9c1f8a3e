/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Goes through all names of a process (types.h). */

#include <dwarf.h>

#include "base/cancel.h"
#include "type/die.h"
#include "type/types_private.h"

void types_each_name(struct types *types, bool (*fn)(void *ctx, const char *name), void *ctx)
{
	vec_each_value(file, &types->files)
		type_index_each_name(&file->index, fn, ctx);
}

/* What is to be done with each name of a kind. */
struct visit {
	struct seek seek;
	struct err *(*variable)(void *ctx, const struct variable *variable);
	struct err *(*type)(void *ctx, Dwarf_Die *die);
	void *ctx;
};

static struct err *visit_variable(struct visit *visit, Dwarf_Die *die)
{
	struct variable variable = { .where = VARIABLE_NOWHERE };
	struct err *err = NULL;

	if (!die_flag(die, DW_AT_declaration))
		err = types_describe(&visit->seek, die, &variable);
	return err || variable.where != VARIABLE_ADDRESS ? err :
		visit->variable(visit->ctx, &variable);
}

static struct err *visit_all(struct visit *visit)
{
	struct seek *seek = &visit->seek;
	struct err *err = NULL;
	size_t at = 0;

	while (!err && symbol_file_dwarf(seek->types->symbols, &at, &seek->file)) {
		struct names_of *file = NULL;
		size_t entry = 0;
		Dwarf_Die die;

		err = types_names_of(seek->types, seek->file.dwarf, &file);
		if (err)
			break;
		seek->index = &file->index;
		while (!err && type_index_next(seek->index, seek->kind, &entry, &die))
			err = cancel_requested() ? cancel_check() :
			      visit->type ? visit->type(visit->ctx, &die) :
					    visit_variable(visit, &die);
	}
	return err ? err : cancel_check();
}

struct err *types_each_variable(struct types *types,
				struct err *(*fn)(void *ctx, const struct variable *variable),
				void *ctx)
{
	return visit_all(&(struct visit){ .seek = { .types = types, .kind = INDEX_VARIABLE },
					  .variable = fn, .ctx = ctx });
}

struct err *types_each_type(struct types *types, struct err *(*fn)(void *ctx, Dwarf_Die *die),
			    void *ctx)
{
	return visit_all(&(struct visit){ .seek = { .types = types, .kind = INDEX_TYPE },
					  .type = fn, .ctx = ctx });
}
