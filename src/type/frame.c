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
		*ret = value_of_integer(i == FRAME_RA ? type_pointer(type_builtin(pool, BUILTIN_CODE)) :
					i == FRAME_SP || i == FRAME_FP ? type_pointer(pool->nothing) :
					type_builtin(pool, BUILTIN_LONG),
					world->frame->at.regs[i]);
		ret->nowhere = !(world->frame->at.known >> i & 1);
		ret->why = "the register is not known in this frame";
	}
	return NULL;
}
