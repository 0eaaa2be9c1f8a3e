/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The objects in CPython's pools: which type each has, and which of them nobody can reach any more.
 *
 * Type. A block is an object if its word 8 bytes behind the object's start leads to a type: a
 * struct whose own type is PyType_Type, or a type of types (Py_TPFLAGS_TYPE_SUBCLASS), with a name.
 * The object begins with the block, or behind 16 bytes of links of the garbage collector, or from
 * 3.11 on behind 32 bytes; whether its type takes part in the collection (Py_TPFLAGS_HAVE_GC) must
 * fit that, and its count of references must be one. All else that the interpreter keeps in its
 * pools (tables of dicts, items of lists, what is in a free list) is no object here.
 */
#pragma once

#include "base/map.h"
#include "heap/python/pymalloc.h"

#define PYTYPE_NAME	64u

struct pytype {
	/* "": it could not be read, since nobody has touched that page of a file; it is at name_at */
	char name[PYTYPE_NAME];
	uint64_t address, name_at;
	bool collected;			/* Py_TPFLAGS_HAVE_GC */
};

/* A block of a pool, by its number. */
struct pynode {
	uint16_t type;		/* index into types; 0: no object */
	uint8_t head;		/* where the object begins, in units of 16 bytes; PYNODE_FREE */
	uint8_t refs;		/* words that point to it; PYNODE_MANY: that many or more */
	uint8_t state;		/* enum pynode_state */
};

enum pynode_state { PYNODE_HELD, PYNODE_LOST, PYNODE_INDIRECT };

#define PYNODE_FREE	255u
#define PYNODE_MANY	255u

struct pyobjects {
	struct pymalloc pools;
	VEC(struct pynode) nodes;
	VEC(struct pytype) types;	/* the first is "(no object)" */
	struct map known;		/* address of what was asked → index + 1, 1: no type */
};

/* Walk the pools and find the types of their blocks. The caller frees *ret, also after an error. */
struct err *pyobjects_find(const struct pymalloc_source *source, uint64_t type_type,
			   struct pyobjects *ret) MUST_CHECK;
/* Begin to ask for the types of single blocks. The caller frees *ret, also after an error. */
struct err *pyobjects_begin(struct pyobjects *ret) MUST_CHECK;
/*
 * Is a block that begins with these bytes, of at least 16, an object? *ret is the index of its type;
 * 0: it is none.
 */
struct err *pyobjects_type(struct pyobjects *objects, struct memory *memory, uint64_t type_type,
			   const uint8_t *bytes, uint32_t size, uint16_t *ret) MUST_CHECK;
void pyobjects_free(struct pyobjects *objects);
/* Can this be the name of a type? */
bool pyobjects_is_name(const char *name);

/*
 * Call fn for each block in use, in the order of their pools. object: where what is in it begins,
 * behind the links; the block itself if it is no object.
 */
typedef struct err *pyobjects_fn(void *ctx, uint64_t block, uint64_t object, uint32_t size,
				 const struct pytype *type, enum pynode_state state);
struct err *pyobjects_each(const struct pyobjects *objects, pyobjects_fn *fn, void *ctx) MUST_CHECK;
