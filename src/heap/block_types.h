/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What blocks are, by what they begin with; blocks from before the attach, too.
 *
 *	class	The first word is the address point of a table of virtual functions (Itanium C++
 *		ABI): it leads to memory of a file that cannot be written, 0 (the table is that of a whole
 *		object) and the object of the type come before it, and code follows. The type's
 *		object has a table of its own, and the class' name. Without one (-fno-rtti) a symbol
 *		must name the table, which is not looked for here. The object may stand behind an
 *		allocator's header with its size, or be the first of an array behind their number.
 *	python	The block is an object of Python's (heap/python/pyobjects.h).
 *	form	else what its bytes prove (heap/block_form.h).
 *
 * A class is that of the moment: of an object that is being constructed, or destroyed, it is the
 * one whose constructor runs. It is what the block begins with: several objects may lie side by
 * side there, or more behind it.
 *
 * Blocks are read in order of address, at most BLOCK_FORM_READ bytes of each. Those that are the
 * same, and have one stack, from which others know more, are of one kind.
 */
#pragma once

#include "heap/block_form.h"
#include "heap/interner.h"
#include "heap/python/pyobjects.h"
#include "heap/reach/reach.h"

#define BLOCK_CLASS_NAME	4096u	/* longer ones are not made readable */

struct block_class {
	uint64_t table;		/* address point; 0: the class is Python's */
	uint64_t name_at;	/* of the type's name; 0: there is no type's object */
	/* as in typeinfo objects; NULL: it is not there, or must be read elsewhere (a file) */
	char *name;
	uint32_t python;	/* index in block_types.python.types */
};

/* What some blocks have in common. */
struct block_kind {
	uint32_t class;		/* index in block_types.classes, + 1; 0: none */
	enum block_form form;	/* without a class, or of one without a type's object */
	uint32_t stack;		/* LOG_STACK_NONE: it is not known */
};

struct block_types_source {
	struct memory *memory;
	const struct packed_list *list;	/* sorted */
	/* By address: memory of files that cannot be written, and code, which may be among that. */
	struct reach_ranges constant, code;
	uint64_t type_type;		/* PyType_Type; 0: there is no Python */
};

struct block_types {
	VEC(struct block_class) classes;
	struct pyobjects python;	/* only its types */
	VEC(struct block_kind) kinds;
	VEC(uint32_t) of;		/* by the index of the block in the list: its kind */
	uint64_t unread;		/* blocks that could not be read */
};

/* The caller frees *ret, also after an error. ERR_CANCELLED, ERR_NOMEM. */
struct err *block_types_find(const struct block_types_source *source,
			     struct block_types *ret) MUST_CHECK;
void block_types_free(struct block_types *types);
