/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The variables that code at a frame's PC can name: those of its blocks, and of what is inlined there. */
#pragma once

#include "type/frame.h"

struct local {
	const char *name;
	Dwarf_Die *die;
	Dwarf_Die *function;	/* whose it is: inlined, or the frame's own */
	bool inlined;		/* that function */
	bool parameter;
};

/*
 * Call fn for each in world->frame, from the innermost block outwards, until it returns an error or
 * sets *end. A name that a block around it has as well comes again.
 */
struct err *locals_each(const struct value_world *world,
			struct err *(*fn)(void *ctx, const struct local *local, bool *end),
			void *ctx) MUST_CHECK;
/* The value of the innermost one of that name; in a method, that of a member of *this as well. */
struct err *locals_find(const struct value_world *world, const char *name, struct value *ret,
			bool *found_ret) MUST_CHECK;
