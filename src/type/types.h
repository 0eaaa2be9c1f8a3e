/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The names of a process: its types, variables, functions and constants, in all modules that have
 * debug information, in the order of the modules. A module is opened, and its names are read, when
 * those before it did not have what was asked for.
 *
 * Main thread. All types live as long as the `types`, which must not outlive its symbols.
 */
#pragma once

#include "base/err.h"
#include "type/type.h"

struct symbols;
struct types;

struct err *types_create(struct symbols *symbols, struct types **ret) MUST_CHECK;
void types_destroy(struct types *types);	/* NULL is allowed */
struct type_pool *types_pool(struct types *types);
struct symbols *types_symbols(struct types *types);
/* What somebody has found out from the types, to be kept as long as they are, and freed with them. */
struct types_kept {
	void *at;			/* NULL: nothing so far */
	void (*free)(void *at);
};
struct types_kept *types_kept(struct types *types);
/* How many files with debug information are mapped. */
size_t types_files(struct types *types);

enum variable_where {
	VARIABLE_ADDRESS,
	VARIABLE_CONSTANT,	/* it has this value and is nowhere */
	VARIABLE_THREAD,	/* each thread has its own, in its data of the module */
	VARIABLE_NOWHERE,	/* optimised out, or in parts */
};

struct variable {
	struct type *type;
	enum variable_where where;
	uint64_t address;	/* of VARIABLE_ADDRESS, in the process; of VARIABLE_THREAD, in the data */
	uint64_t module;	/* of VARIABLE_THREAD: where it begins */
	int64_t value;		/* of VARIABLE_CONSTANT */
};

enum name_kind { NAME_VARIABLE, NAME_FUNCTION, NAME_ENUMERATOR, NAME_TYPE };

/* What a name is; of a type, is.type. A function is a variable whose type is that of a function. */
struct named {
	enum name_kind kind;
	struct variable is;
};

/*
 * Each of these sets *found_ret, and *ret if it is true. Names have their scopes; those of C++ may
 * leave out inline namespaces. ERR_CANCELLED, and limits.
 *
 * The first module that has the name decides; in it, the order is that of name_kind. file is the
 * name of a source file that the variable is in, or NULL. ERR_USAGE: several files have a static
 * variable of that name; the hint has the files.
 */
struct err *types_find(struct types *types, const char *file, const char *name, struct named *ret,
		       bool *found_ret) MUST_CHECK;
struct err *types_find_type(struct types *types, const char *name, struct type **ret,
			    bool *found_ret) MUST_CHECK;
/* Only a struct, union, class or enum of that kind; of C's own name space for these. */
struct err *types_find_tag(struct types *types, enum type_kind kind, const char *name,
			   struct type **ret, bool *found_ret) MUST_CHECK;
/* A static variable of a function, or a static member of a class. */
struct err *types_find_inner(struct types *types, const char *outer, const char *name,
			     struct variable *ret, bool *found_ret) MUST_CHECK;
/* A static member that a class declares. */
struct err *types_find_static(struct types *types, const struct member *member,
			      struct variable *ret, bool *found_ret) MUST_CHECK;
/* Is the program of C++, or of a language like it? */
bool types_are_cxx(struct types *types);
/*
 * Call fn for each variable of file scope that has an address, and for each type that is defined
 * there, of all modules, until it fails. ERR_CANCELLED, and limits.
 */
struct err *types_each_variable(struct types *types,
				struct err *(*fn)(void *ctx, const struct variable *variable),
				void *ctx) MUST_CHECK;
struct err *types_each_type(struct types *types, struct err *(*fn)(void *ctx, Dwarf_Die *die),
			    void *ctx) MUST_CHECK;
/* Call fn for each name that is known so far, without scopes, until it returns true. */
void types_each_name(struct types *types, bool (*fn)(void *ctx, const char *name), void *ctx);
