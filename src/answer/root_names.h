/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the roots and blocks of a graph (inspect/owner_graph.h) are called, and which roots are one
 * owner.
 */
#pragma once

#include "base/str.h"
#include "base/text_set.h"
#include "inspect/owner_graph.h"

struct session;
struct stack_names;

/*
 * Roots with one name are one group: a variable, the frames of a function in a thread, the registers
 * of a thread, a mapping. Groups of stacks have larger numbers than all others, outer frames smaller
 * ones than inner frames, the innermost frames of all threads come behind these, and registers last
 * (heap/reach/dominators.h says why).
 */
struct root_names {
	struct text_set names;		/* by group */
	VEC(uint32_t) group_of;		/* by root */
};

/* Main thread. After an error as well, the caller frees *ret. ERR_CANCELLED. */
struct err *root_names_build(struct session *session, const struct owner_graph *graph,
			     struct root_names *ret) MUST_CHECK;
void root_names_free(struct root_names *names);
/* Add what one root is, with its place there: "sessions+0x8 [store]". */
struct err *root_names_text(struct session *session, const struct owner_graph *graph, size_t root,
			    struct str *ret) MUST_CHECK;
/*
 * Add who allocated a block, and its caller, since a wrapper of malloc's says little by itself:
 * "need (store.c:21), called by open_reader (store.c:73)". Nothing, if it is not known.
 */
struct err *root_names_block(struct stack_names *names, const struct owner_graph *graph,
			     uint32_t block, struct str *ret) MUST_CHECK;
/*
 * Add what a block counts as among others: who allocated it, or, if that is not known, its size and
 * why: "64 bytes (allocated before attach)".
 */
struct err *root_names_class(struct stack_names *names, const struct owner_graph *graph,
			     uint32_t block, struct str *ret) MUST_CHECK;
/* Blocks with the same number are of one class; others may be, too. */
uint64_t root_names_class_key(const struct owner_graph *graph, uint32_t block);
