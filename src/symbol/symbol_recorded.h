/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names that were found in another process, or at another time, and were recorded with an address.
 * They stand in for those of files that are not here, or are of another build by now: whoever has
 * them adds the modules without files (symbols_add with fd -1), and then the frames of each address.
 * From then on symbols_resolve and symbols_text answer as they did when the names were recorded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct symbols;

/* A frame as in struct symbol_frame; what is not here follows from the others. */
struct symbol_recorded {
	const char *name;	/* as the symbol table or the debug information has it; NULL: none */
	const char *place;	/* NULL: none */
	const char *file;	/* NULL: not known */
	int line;		/* 0: not known */
	uint64_t offset;
};

/*
 * Returns the copy of a text that is untrusted as it is shown, which lives as long as the symbols; NULL:
 * there is no memory.
 */
const char *symbol_recorded_text(struct symbols *symbols, const char *text);
/*
 * Keep nr frames of pc, innermost first; nr is at least 1. The texts are untrusted and are copied.
 * The same address and generation again changes nothing. ERR_RANGE: there are more names than are
 * kept (base/limits.h); ERR_NOMEM.
 */
struct err *symbol_recorded_add(struct symbols *symbols, uint64_t pc, uint32_t generation,
				bool return_address, size_t nr,
				const struct symbol_recorded *frames) MUST_CHECK;
