/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc path`: each step of each way from a root to a block. */
#pragma once

#include "answer/answer.h"
#include "inspect/owner_graph.h"

struct stack_names;

struct path_row {
	uint32_t way, step;	/* of the shortest one and of its root: 0 */
	const char *kind;	/* root, lost, block */
	const char *label;	/* of a root: what it is; of a block: who allocated it */
	/*
	 * As the variable is declared at which the way begins (type/pointer_step.h); "" is not known. type:
	 * of the block. member: of a root, with the variable's name; of a block, of the word that leads on.
	 */
	const char *type, *member;
	uint64_t address;	/* of a root: of the word; 0: it has none */
	uint64_t size;		/* of a block */
	uint64_t offset;	/* byte of the block that has the pointer to the next one */
	uint64_t to;		/* byte of the next block that it points to */
	uint32_t stack;		/* that has allocated the block */
	bool block, leads;	/* it is a block; its word that leads on is known */
};

extern const struct relation path_relation;

/* The rows of a graph whose ways were asked for. They are copies. */
struct err *path_rows(struct stack_names *names, const struct owner_graph *graph,
		      struct answer *ret) MUST_CHECK;
