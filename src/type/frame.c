/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The function and the registers of a frame (frame.h). */

#include "type/frame.h"

#include <string.h>

#include "arch/arch.h"
#include "type/types.h"

bool frame_has_function(const struct value_world *world, struct frame *frame)
{
	if (!frame->sought)
		frame->has_function = function_die_at(types_symbols(world->types), frame_pc(frame),
						      world->generation, &frame->function);
	frame->sought = true;
	return frame->has_function;
}

/* gdb has these for all processors. */
static const char *general_name(unsigned reg)
{
	return reg == FRAME_RA ? "pc" : reg == FRAME_SP ? "sp" : reg == FRAME_FP ? "fp" : "";
}

static struct value register_value(const struct value_world *world, unsigned i, struct type *type,
				   unsigned shift)
{
	struct value value = value_of_integer(type, world->frame->at.regs[i] >> shift);

	value.nowhere = !(world->frame->at.known >> i & 1);
	value.why = "the register is not known in this frame";
	return value;
}

/* As in gdb: C++ says that there are no parameters. */
static struct type *pointer_to_code(const struct value_world *world)
{
	struct type *function = type_builtin(types_pool(world->types), BUILTIN_FUNCTION);

	function->cxx = types_are_cxx(world->types);
	return type_pointer(function);
}

static bool part_of_register(const struct value_world *world, const char *name, struct value *ret)
{
	static const enum type_builtin types[] = {
		[1] = BUILTIN_INT8, [2] = BUILTIN_INT16, [4] = BUILTIN_INT32,
	};
	const struct register_part *part = world->frame->arch->parts;

	while (part->size && strcmp(part->name, name))
		part++;
	if (part->size)
		*ret = register_value(world, part->dwarf,
				      type_builtin(types_pool(world->types), types[part->size]),
				      part->shift);
	return part->size;
}

struct err *frame_register(const struct value_world *world, const char *name, struct value *ret,
			   bool *found_ret)
{
	const struct arch *arch = world->frame->arch;
	struct type_pool *pool = types_pool(world->types);

	*found_ret = false;
	for (unsigned i = 0; i < FRAME_REGS && !*found_ret; i++) {
		unsigned word = i == FRAME_RA ? arch->pc : arch->dwarf_to_word[i];

		if (word == 0xff || (strcmp(arch->reg_names[word], name) &&
				     strcmp(general_name(i), name)))
			continue;
		*found_ret = true;
		*ret = register_value(world, i, i == FRAME_RA ? pointer_to_code(world) :
				      i == FRAME_SP || i == FRAME_FP ? type_pointer(pool->nothing) :
				      type_builtin(pool, BUILTIN_INT64), 0);
	}
	if (!*found_ret)
		*found_ret = part_of_register(world, name, ret);
	return NULL;
}
