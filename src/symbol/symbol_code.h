/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code of a function by its file, with its debug information and call frame information: for who
 * reads what a function does with a value.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

struct symbols;

#define SYMBOL_CODE_MOST	(256u << 10)	/* bytes of a function; larger ones are not read */

struct symbol_code {
	Dwarf_Die function;
	uint64_t bias;		/* address in the process less that in the debug information */
	uint64_t start;		/* of the part of the function that has the address */
	uint8_t *code;		/* of it; the caller frees it */
	size_t len;
	/* SP and the frame pointer at the address, less the CFA. */
	int64_t sp, fp;
	bool sp_known, fp_known;
};

/*
 * The function that returns to pc, as of generation. False: it has no debug information, or its code
 * cannot be read.
 */
bool symbol_code_at(struct symbols *symbols, uint64_t pc, uint32_t generation,
		    struct symbol_code *ret);
