/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A frame of a stack, in which local variables have their places: by DWARF's expressions (DWARF 5,
 * 2.5 and 2.6), over the registers that a walk has found.
 *
 * What the compiler has left nowhere at that place is optimized out. What is in a register that a
 * function below may have changed, or behind an expression that is not known here, is not known: the
 * two have different texts.
 */
#pragma once

#include "symbol/function_die.h"
#include "type/number_text.h"
#include "unwind/walk.h"

struct arch;

#define FRAME_VECTOR	16u	/* bytes of a vector register that are looked at */

struct frame {
	struct walk_frame at;
	const struct arch *arch;
	struct frame *caller;		/* NULL: it is not known */
	/* The first vector registers, where they are known: only the innermost frame has its own. */
	const uint8_t (*vectors)[FRAME_VECTOR];
	uint32_t nr_vectors;
	/*
	 * Find where the data of the frame's thread begin that belong to the module which begins there;
	 * ERR_NOTFOUND. NULL: it cannot be asked.
	 */
	struct err *(*thread_data)(void *ctx, uint64_t module, uint64_t *ret);
	void *ctx;
	bool sought, has_function;	/* frame_has_function */
	struct function_die function;	/* at the frame's PC */
};

/* The address by which the frame's code is looked up: that of the call, in a caller. */
static inline uint64_t frame_pc(const struct frame *frame)
{
	return frame->at.pc - !frame->at.exact;
}

/* Find the function at the frame's PC, at the first question. False: no debug information of it. */
bool frame_has_function(const struct value_world *world, struct frame *frame);
/* The value of a variable or parameter whose DIE is visible in the frame: ERR_MEMORY. */
struct err *frame_place(const struct value_world *world, Dwarf_Die *die,
			struct value *ret) MUST_CHECK;
/* The value of a register by its name, "rip"; *found_ret: there is such a register. */
struct err *frame_register(const struct value_world *world, const char *name, struct value *ret,
			   bool *found_ret) MUST_CHECK;
