/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a `types` that types_each.c uses. */
#pragma once

#include "symbol/symbol.h"
#include "type/type_index.h"
#include "type/types.h"

/* The names of one file. */
struct names_of {
	const Dwarf *dwarf;
	struct type_index index;
};

struct types {
	struct symbols *symbols;
	struct type_pool pool;
	struct types_kept kept;
	VEC(struct names_of *) files;
	enum { LANGUAGE_UNKNOWN, LANGUAGE_C, LANGUAGE_CXX } language;
};

/* A look through all files for a name. */
struct seek {
	struct types *types;
	enum type_index_kind kind;
	const char *name;
	/* Is it this one? It ends the look. */
	bool (*is)(struct seek *seek, Dwarf_Die *die);
	const void *ctx;
	struct symbol_dwarf file;	/* where it is looked for */
	const struct type_index *index;
	Dwarf_Die found;
};

/* The names of a file, which are read when they are first asked for. */
struct err *types_names_of(struct types *types, Dwarf *dwarf, struct names_of **ret) MUST_CHECK;
/* What is known of the variable that a DIE of seek->file is. */
struct err *types_describe(struct seek *seek, Dwarf_Die *die, struct variable *ret) MUST_CHECK;
