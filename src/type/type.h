/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Types as DWARF describes them, read when they are looked at: what a type refers to, and its
 * members, only when they are asked for. So a type costs nothing that nobody looks into, and a file
 * whose types lead to themselves cannot make a reader go on for ever: whoever follows references
 * counts them (TYPE_DEPTH).
 *
 * Types live as long as their pool. Lack of memory is noted in the pool (`nomem`), and gives a type
 * of which nothing is known; who evaluates asks for it once, at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

#define TYPE_DEPTH	64u		/* references from type to type; nested scopes */
#define TYPE_MEMBERS	(1u << 20)	/* of a type; what is behind them is left out, and said */

enum type_kind {
	TYPE_UNKNOWN, TYPE_VOID, TYPE_BOOL, TYPE_CHAR, TYPE_INT, TYPE_FLOAT, TYPE_ENUM, TYPE_POINTER,
	TYPE_REFERENCE, TYPE_RVALUE, TYPE_STRUCT, TYPE_CLASS, TYPE_UNION, TYPE_ARRAY, TYPE_FUNCTION,
	TYPE_TYPEDEF, TYPE_QUALIFIED, TYPE_MEMBER_POINTER,
};

/* Types that C has by itself. */
enum type_builtin {
	BUILTIN_INT, BUILTIN_UNSIGNED, BUILTIN_LONG, BUILTIN_ULONG, BUILTIN_CHAR, BUILTIN_SCHAR,
	BUILTIN_UCHAR, BUILTIN_SHORT, BUILTIN_USHORT, BUILTIN_LLONG, BUILTIN_ULLONG, BUILTIN_BOOL,
	BUILTIN_FLOAT, BUILTIN_DOUBLE, BUILTIN_LDOUBLE, BUILTIN_INT128, BUILTIN_UINT128,
	BUILTIN_CODE,		/* a function without debug information */
	BUILTIN_FUNCTION,	/* void () */
	BUILTIN_INT8, BUILTIN_INT16, BUILTIN_INT32, BUILTIN_INT64,	/* int8_t and so on */
	BUILTINS,
};

struct type;

struct type_pool {
	VEC(struct type *) all;
	VEC(char *) texts;
	struct map by_die;
	struct type *unknown, *nothing;	/* nothing is void */
	struct type *builtins[BUILTINS];	/* once they were asked for */
	bool nomem;
	/* Returns the definition of a type that is only declared; NULL: there is none. */
	struct type *(*complete)(void *ctx, struct type *declared);
	void *ctx;
};

struct member {
	const char *name;		/* NULL: it has none */
	struct type *type;
	uint64_t offset;		/* bytes; not of a virtual base, nor of a static member */
	uint32_t bit_offset, bit_size;	/* of a bit field, behind offset; bit_size 0: it is none */
	bool base, is_virtual, is_static, artificial;
	Dwarf_Die die;
};

struct members {
	VEC(struct member) vec;
};

struct enumerator {
	const char *name;
	int64_t value;
};

struct enumerators {
	VEC(struct enumerator) vec;
	bool flags;			/* each value has bits of its own */
};

struct type {
	enum type_kind kind;
	struct type_pool *pool;
	Dwarf_Die die;			/* die.addr is NULL if an expression has made the type */
	const char *name;		/* with its scopes; NULL: it has none */
	uint64_t size;			/* bytes, if sized */
	uint64_t count;			/* of an array, if counted */
	bool sized, counted;
	bool is_signed;
	bool is_const, is_volatile;	/* of TYPE_QUALIFIED */
	bool declared;			/* and not defined there */
	bool cxx;			/* its language does not write `struct` before a name */
	bool has_target, has_members;
	struct type *target;
	struct type *pointer;		/* to it, once it was made */
	struct type *whole;		/* the definition, once it was found */
	bool sought;			/* it was looked for */
	struct members members;
	struct enumerators *enumerators;
};

struct err *type_pool_init(struct type_pool *pool) MUST_CHECK;
void type_pool_free(struct type_pool *pool);	/* a pool of zeros is allowed */
/* Returns a copy of the text, which lives as long as the pool. */
const char *type_pool_keep(struct type_pool *pool, const char *text);

/* The type that a DIE is; and that to which its DW_AT_type leads: void if it has none. */
struct type *type_at(struct type_pool *pool, Dwarf_Die *die);
struct type *type_of(struct type_pool *pool, Dwarf_Die *die);
/* Is it of C++, or of a language like it? */
bool type_die_is_cxx(Dwarf_Die *die);
/* Types that an expression makes. */
struct type *type_base(struct type_pool *pool, enum type_kind kind, const char *name, uint64_t size,
		       bool is_signed);
struct type *type_builtin(struct type_pool *pool, enum type_builtin which);
struct type *type_pointer(struct type *to);
struct type *type_array(struct type *of, uint64_t count);
/* What it points to, has elements of, returns, stands for, or has as its values. */
struct type *type_target(struct type *type);
/* The type without names, const and the like; the definition, if it is only declared. */
struct type *type_plain(struct type *type);
bool type_is_struct(const struct type *plain);	/* or union, or class */
bool type_is_integer(const struct type *plain);	/* or character, bool, enum */
bool type_is_reference(const struct type *plain);
/* Bytes of a value. ERR_UNSUPPORTED: it is incomplete; ERR_RANGE: more than 2^63. */
struct err *type_size(struct type *type, uint64_t *ret) MUST_CHECK;
/* Of a struct, union or class; in order. */
const struct members *type_members(struct type *plain);
const struct enumerators *type_enumerators(struct type *plain);
