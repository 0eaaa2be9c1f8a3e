/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The debug information of the function that runs at an address. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdw.h>

struct symbols;

struct function_die {
	Dwarf_Die die;		/* of the real function; what is inlined is below it */
	uint64_t bias;		/* address in the process - address in the debug information */
	uint64_t module;	/* where its module begins */
};

/*
 * Find the function at this address, in the module that has it in that generation. It lives as long as
 * the symbols. False: there is none, or no debug information of it.
 */
bool function_die_at(struct symbols *symbols, uint64_t address, uint32_t generation,
		     struct function_die *ret);
