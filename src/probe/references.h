/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a function's code refers to, as its file has it: the functions that it calls, and those
 * whose addresses it takes. Code is read from one end to the other, so calls by a pointer that is
 * computed are not seen, and a result of "no" means "not seen".
 *
 *	references_ifunc	An IFUNC symbol (STT_GNU_IFUNC) has the address of a resolver, which
 *				the loader calls and which returns the address of the function. That address is kept only where somebody calls the
 *				function, and there only after the first call. So all functions of
 *				the module whose addresses the resolver takes are found: each of
 *				them is the function on some machine, or under some setting, and has
 *				its arguments.
 *	references_allocator	Does a function get its memory from another one that mdbg watches?
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct module;
struct target;

struct code_targets {
	VEC(uint64_t) vec;	/* addresses in the process; each comes once */
};

/*
 * Find the functions of the module whose addresses the resolver at `resolver` takes, in its code or
 * in words of data of the process that it reads. None: they cannot be told.
 */
struct err *references_ifunc(struct target *target, const struct module *module,
			     uint64_t resolver, struct code_targets *ret) MUST_CHECK;
/*
 * Does the function call a function of an allocator's table (alloc_function_find), itself or by
 * functions of its module that it calls directly? Calls to other modules are known by the names in
 * their relocations.
 */
bool references_allocator(const struct target *target, const struct module *module,
			  uint64_t address);
