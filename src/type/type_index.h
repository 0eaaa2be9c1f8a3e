/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The names of one file's debug information: types, variables, functions and enumerators, of the
 * file scope and of namespaces, with their scopes ("ns::name"). What is in a class or a function is
 * found from there.
 *
 * It is made at the first question, by a look at the outermost DIEs of all units: libdw has nothing
 * for .debug_names, which only clang writes, and which somebody may have written so that it lies.
 * An entry takes 16 bytes.
 */
#pragma once

#include <elfutils/libdw.h>

#include "base/err.h"
#include "base/vec.h"

enum type_index_kind {
	INDEX_TYPE,		/* that is defined there */
	INDEX_VARIABLE,
	INDEX_FUNCTION,
	INDEX_ENUMERATOR,
	INDEX_KINDS,
};

struct index_entry {
	uint32_t hash;
	uint32_t unit : 29, kind : 3;
	void *at;		/* of the DIE */
};

/* The definition of what a DIE has declared. */
struct index_definition {
	const void *declared;
	struct index_entry is;
};

struct type_index {
	VEC(struct index_entry) entries;	/* by hash */
	VEC(struct index_definition) definitions;	/* by declared */
	VEC(Dwarf_CU *) units;
	bool bodies_missing;		/* units whose .dwo file is not read */
};

/* Read the names of dwarf, and of the dwz file that it shares names with. ERR_CANCELLED. */
struct err *type_index_read(struct type_index *index, Dwarf *dwarf) MUST_CHECK;
void type_index_free(struct type_index *index);
/*
 * Get the next DIE of that kind and name, with its scopes. *at is the position, at first 0. False:
 * there is no other. What has the same hash and another name is left out.
 */
bool type_index_find(const struct type_index *index, enum type_index_kind kind, const char *name,
		     size_t *at, Dwarf_Die *ret);
/* The last part of a name with scopes; template arguments may have scopes of their own. */
const char *type_index_last(const char *name);
/* Get the definition of a variable that the DIE only declares; false: there is none. */
bool type_index_definition(const struct type_index *index, const Dwarf_Die *declared,
			   Dwarf_Die *ret);
/* Is the unit one of the file, of its .dwo files, or of its dwz file? */
bool type_index_has_unit(const struct type_index *index, const Dwarf_CU *unit);
/* Get the next DIE of that kind, in no order; *at is the position, at first 0. False: that was all. */
bool type_index_next(const struct type_index *index, enum type_index_kind kind, size_t *at,
		     Dwarf_Die *ret);
/* Call fn for the name of each entry, without scopes, until it returns true. */
void type_index_each_name(const struct type_index *index, bool (*fn)(void *ctx, const char *name),
			  void *ctx);
