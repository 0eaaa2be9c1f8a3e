/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is known of types before a look at the target: the layouts of those that variables and stacks
 * lead to (heap/type_spread.h), and which stacks say what their blocks are, by where their callers
 * put them (type/result_type.h) or by the allocator of one type that is among them
 * (answer/frame_type.h). Without debug information it is empty.
 *
 * The way from malloc up its stack: a function without debug information must be one that allocates
 * for everybody, as operator new; one that returns the block as a void * is passed, too. In the first
 * other one the block is put somewhere that has a type, or nothing is known of it.
 *
 * operator new gives its block to a constructor, and the pointer that it is kept in may be one to a
 * base. So a class with which others begin is not taken from there; one whose virtual functions have
 * a table is known by that.
 */
#pragma once

#include "heap/interner.h"
#include "type/layout.h"
#include "type/result_type.h"

struct stack_names;

/* What a caller of an allocator says of its blocks. */
struct site_type {
	enum result_type is;
	uint32_t layout;
};

/*
 * It is kept with the session's types, until there are other files with debug information. Only which
 * stacks there are is found out each time.
 */
struct type_plan {
	struct type_layouts layouts;
	struct layouts of;		/* names by layout */
	struct result_globals globals;
	struct interner pcs;		/* return addresses, each with its generation */
	VEC(struct site_type) sites;	/* by number of the return address */
	size_t files;			/* with debug information, that there were */
};

/* Main thread. *ret is valid until the next call, or until the process is let go. */
struct err *type_plan_of(struct stack_names *names, const struct type_plan **ret) MUST_CHECK;
