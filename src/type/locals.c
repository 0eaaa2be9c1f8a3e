/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Local variables (locals.h). */

#include "type/locals.h"

#include <string.h>

#include "base/cancel.h"
#include "type/die.h"

#define DEPTH	128u

/* The blocks around a PC: scope[0] is the function. */
struct scopes {
	Dwarf_Die at[DEPTH];
	unsigned nr;
};

static bool is_scope(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* Go into the block of the last scope that has the PC. */
static bool go_in(struct scopes *scopes, uint64_t pc)
{
	Dwarf_Die die;

	if (scopes->nr == DEPTH || dwarf_child(&scopes->at[scopes->nr - 1], &die))
		return false;
	do {
		if (is_scope(dwarf_tag(&die)) && dwarf_haspc(&die, pc) > 0) {
			scopes->at[scopes->nr++] = die;
			return true;
		}
	} while (die_next(&die) && !cancel_requested());
	return false;
}

static Dwarf_Die *function_of(struct scopes *scopes, unsigned i)
{
	while (i && dwarf_tag(&scopes->at[i]) != DW_TAG_inlined_subroutine)
		i--;
	return &scopes->at[i];
}

struct err *locals_each(const struct value_world *world,
			struct err *(*fn)(void *ctx, const struct local *local, bool *end),
			void *ctx)
{
	struct frame *frame = world->frame;
	struct scopes scopes = { .nr = 1 };
	struct err *err = NULL;
	bool end = false;

	if (!frame || !frame_has_function(world, frame))
		return NULL;
	scopes.at[0] = frame->function.die;
	while (go_in(&scopes, frame_pc(frame) - frame->function.bias))
		;
	for (unsigned i = scopes.nr; i-- && !err && !end;) {
		Dwarf_Die die;

		if (dwarf_child(&scopes.at[i], &die))
			continue;
		do {
			int tag = dwarf_tag(&die);
			struct local local = {
				.die = &die, .function = function_of(&scopes, i),
				.parameter = tag == DW_TAG_formal_parameter,
			};

			if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter)
				continue;
			local.name = dwarf_diename(&die);
			local.inlined = dwarf_tag(local.function) == DW_TAG_inlined_subroutine;
			if (local.name)
				err = fn(ctx, &local, &end);
			if (!err)
				err = cancel_check();
		} while (!err && !end && die_next(&die));
	}
	return err;
}

struct search {
	const struct value_world *world;
	const char *name;
	struct value *ret;
	bool found;
};

static struct err *is_it(void *ctx, const struct local *local, bool *end)
{
	struct search *search = ctx;

	if (strcmp(local->name, search->name))
		return NULL;
	search->found = *end = true;
	return frame_place(search->world, local->die, search->ret);
}

static struct err *find(const struct value_world *world, const char *name, struct value *ret,
			bool *found_ret)
{
	struct search search = { world, name, ret, false };
	struct err *err = locals_each(world, is_it, &search);

	*found_ret = search.found;
	return err;
}

struct err *locals_find(const struct value_world *world, const char *name, struct value *ret,
			bool *found_ret)
{
	struct err *err = find(world, name, ret, found_ret);
	const struct member *member = NULL;
	struct value this;
	uint64_t address;
	bool is_method;

	if (err || *found_ret)
		return err;
	err = find(world, "this", &this, &is_method);
	if (err || !is_method || this.nowhere || type_plain(this.type)->kind != TYPE_POINTER)
		return err;
	err = value_pointer(world->memory, &this, &address);
	if (!err) {
		this = value_at(type_target(type_plain(this.type)), address);
		err = value_find_member(world->memory, &this, name, ret, &member);
	}
	*found_ret = member && !member->is_static;
	return err;
}
