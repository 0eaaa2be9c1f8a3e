/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sites as a tree of calls, with inclusive sums: what a function and all that it has called hold,
 * or have allocated.
 *
 *	from the top	the outermost caller is the root, and each child was called by its parent
 *	callers		the function that allocates is the root, and each child has called its parent
 *
 * A path ends, or begins, at the frame that the site is named after (stack_names_own): the
 * allocator and its wrappers are in no tree. Nodes are told apart by the call's place, "main
 * (main.c:12)", or by the function alone. A stack counts once for each node on its path, so that
 * roots add up to all sites, and the children of a node to the node less what it has `own`.
 *
 * Of many nodes only the heaviest are kept. No node is heavier than its parent, so what is kept is
 * a tree. Rows are in depth-first order, the heaviest child first.
 */
#pragma once

#include "answer/answer.h"
#include "answer/stack_names.h"
#include "heap/site.h"

struct call_row {
	const char *function;
	uint64_t bytes, count;		/* held */
	uint64_t total, total_bytes;	/* blocks and bytes of all time */
	uint64_t freed;			/* of total */
	uint64_t own;			/* bytes of the sites whose path ends at it */
	uint32_t node, parent;		/* numbers of rows, from 1; parent 0: it is a root */
	uint32_t depth;			/* of a root: 0 */
	uint32_t stack;			/* the heaviest one that goes through it */
	bool all_time;			/* false, of an earlier moment: total and freed are not known */
};

extern const struct relation call_relation;

struct call_tree_spec {
	bool callers;
	bool by_function;
	enum site_sort sort;		/* what decides the weight; not by age or growth */
	uint64_t limit;			/* rows that are kept; UINT64_MAX: all */
	double least;			/* share of all that a node must have to be kept, from 0 to 1 */
};

struct call_tree {
	VEC(struct call_row) vec;
	struct text_set *texts;		/* the rows' */
	uint64_t left_out;		/* nodes */
	uint64_t weight;		/* of all sites */
};

/* The sites are by stack. Free it also after an error. */
struct err *call_tree_build(struct stack_names *names, const struct sites *sites,
			    const struct call_tree_spec *spec, struct call_tree *ret) MUST_CHECK;
uint64_t call_tree_weight(const struct call_row *row, enum site_sort sort);
/* Make rows of the tree, which is moved into them and left empty. */
struct err *call_tree_rows(struct call_tree *tree, struct answer *ret) MUST_CHECK;
void call_tree_free(struct call_tree *tree);
