/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a call's result is, by the variable, the member or the function's own result that its caller
 * puts it into (arch/result_flow.h), all of which have a type in the debug information:
 *
 *	struct node *n = malloc(size);		a variable that is in the register, or in the frame
 *	list->last = malloc(size);		a member, behind a variable
 *	global = malloc(size);			a global variable
 *	return malloc(size);			in a function that returns a node *
 *
 * Where the compiler says at the call itself what is allocated (DW_AT_LLVM_alloc_type), that counts.
 * What goes into a void *, or a char *, says nothing, and is followed further.
 */
#pragma once

#include "type/layout.h"

enum result_type {
	RESULT_TYPE_UNASKED,	/* for who keeps answers */
	RESULT_TYPE_NONE,	/* not known */
	RESULT_TYPE_PASSED,	/* the function returns it, as a void * or the like */
	RESULT_TYPE_FOUND,
	RESULT_TYPE_STATED,	/* found: the compiler says that just this type is allocated */
	RESULT_TYPE_NO_INFO,	/* the function has no debug information */
};

/* Variables by address, sorted; made once by result_type_globals. */
struct result_globals {
	VEC(struct layout_root) vec;
};

struct err *result_type_globals(const struct layouts *layouts,
				struct result_globals *ret) MUST_CHECK;
void result_type_free_globals(struct result_globals *globals);
/*
 * What the result of the call is that returns to pc, as of generation; *layout_ret is the layout of what
 * it points to.
 */
struct err *result_type_at(struct layouts *layouts, const struct result_globals *globals,
			   uint64_t pc, uint32_t generation, enum result_type *ret,
			   uint32_t *layout_ret) MUST_CHECK;
