/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Types that lead from block to block: a pointer whose type is known says what the block is that it
 * points to, and the members of that say more.
 *
 * Theory of operation
 *
 * Types come as layouts: a size, and where in it pointers are, to what. Roots are variables, whose
 * layout is known, and blocks whose stack says what they are (`of_stack`). From these, pointers are
 * followed until nothing changes. A pointer gives its type to a block if it points to its first byte,
 * and if the block is as large as one or several of them (or the layout ends with an array of any
 * length). Who does not know what it points to, as void * and char *, is in no layout.
 *
 * What may be wrong, and what is done about it:
 *
 *	two types for one block		If one begins with the other (a base, or a first member), it
 *					is the larger one. Otherwise it is a contradiction: the
 *					block is neither, and all is done again without it, so that
 *					what it had led to is taken back, too. This goes on until
 *					there is no other one, or ROUNDS times; then only stacks
 *					count.
 *	a pointer to a first member	A type with which others begin is given only to blocks of
 *					just its size.
 *	a pointer to what was freed	The words where the type has pointers must be 0 or be
 *					addresses: else the block is none of these. (-1 is a mark
 *					that programs use.)
 *	the stack knows it		It is right, whatever points there.
 *
 * A table of virtual functions, and Python's objects, say what a block is better than any pointer:
 * these are `settled`, and nothing leads on from them.
 */
#pragma once

#include "base/memory.h"
#include "heap/packed.h"

#define LAYOUT_NONE	UINT32_MAX
#define LAYOUTS_MOST	(1u << 18)
#define LAYOUT_POINTERS_MOST	(1u << 22)	/* of all layouts */

/* A word that is a pointer, so many bytes behind the start; to is the layout of what it points to. */
struct layout_pointer {
	uint32_t offset, to;
};

struct type_layout {
	uint64_t size;		/* bytes; 0: no block is known to be one */
	uint32_t first, nr;	/* in type_layouts.pointers */
	uint32_t begins_with;	/* the layout of its base or first member; or LAYOUT_NONE */
	bool flexible;		/* it ends with an array of any length */
	bool begins_others;	/* others begin with it */
};

/* A variable. */
struct layout_root {
	uint64_t address;
	uint32_t layout;
};

struct type_layouts {
	VEC(struct type_layout) vec;
	VEC(struct layout_pointer) pointers;
	VEC(struct layout_root) roots;
	VEC(uint32_t) of_stack;	/* by stack: its layout + 1; 0: not known */
};

void type_spread_free_layouts(struct type_layouts *layouts);

struct type_spread_source {
	struct memory *memory;
	const struct packed_list *list;		/* sorted */
	const struct type_layouts *layouts;
	/* Does something else say what the block is? */
	bool (*settled)(void *ctx, size_t block);
	void *ctx;
};

struct type_spread {
	/* By block: its layout + 1, with TYPE_SPREAD_STACK if its stack says it; 0: not known. */
	VEC(uint32_t) of;
};

#define TYPE_SPREAD_STACK	0x80000000u

/* The caller frees *ret, which is empty before, also after an error. ERR_CANCELLED, ERR_NOMEM. */
struct err *type_spread_find(const struct type_spread_source *source,
			     struct type_spread *ret) MUST_CHECK;
void type_spread_free(struct type_spread *spread);
/* Can a block of these bytes be of that type? preattach: as in struct block, its size is the usable one. */
bool type_spread_fits(const struct type_layout *layout, uint64_t size, bool preattach);
