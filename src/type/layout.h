/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Types as layouts (heap/type_spread.h): where in a type pointers are, and to what, so that blocks can
 * be followed without the debug information. A layout is made when its type is first asked for, with
 * those of all types that its pointers lead to.
 *
 * Types of one name and size are one, wherever they are described. There is no layout for what says
 * nothing of a block: void, characters and other bytes, functions, and types that are only declared.
 * Pointers in a union are in no layout, since another member may be in use; nor are those that a
 * container of C++ has to the end of its block, where another may begin.
 *
 * Which types others begin with is found out among all types of the process, since the block of a
 * larger one may have nothing but pointers to its first member.
 */
#pragma once

#include "base/text_set.h"
#include "heap/type_spread.h"
#include "type/types.h"

struct layouts {
	struct types *types;
	struct type_layouts *ret;
	VEC(struct type *) of;		/* by layout: the type */
	struct text_set names;		/* by layout: as type_name.h has it */
	struct text_set begun;		/* names of types that others begin with */
	struct map by_type;		/* struct type → its layout + 1 */
	size_t done;			/* of how many the pointers are known */
};

/* Find out which types begin others. *ret is empty. The caller calls layouts_free, also after an error. */
struct err *layouts_begin(struct types *types, struct type_layouts *to,
			  struct layouts *ret) MUST_CHECK;
void layouts_free(struct layouts *layouts);
/* The layout of what such a pointer points to: of a T for a T *. *ret is LAYOUT_NONE if it has none. */
struct err *layouts_of_target(struct layouts *layouts, struct type *pointer,
			      uint32_t *ret) MUST_CHECK;
/* The same of a type itself. */
struct err *layouts_of(struct layouts *layouts, struct type *type, uint32_t *ret) MUST_CHECK;
/* Add each variable that has pointers as a root. */
struct err *layouts_add_variables(struct layouts *layouts) MUST_CHECK;
/* Get the pointers of all layouts so far, and of those that they lead to. */
struct err *layouts_finish(struct layouts *layouts) MUST_CHECK;
