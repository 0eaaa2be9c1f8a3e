/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc owners`: who keeps how much (heap/reach/dominators.h). */
#pragma once

#include "answer/answer.h"
#include "answer/owner_change.h"
#include "answer/root_names.h"
#include "heap/filter.h"
#include "heap/reach/dominators.h"

struct session;
struct stack_names;
struct typed_blocks;

/* A graph of the process, and what each of its blocks and roots keeps. */
struct owners {
	struct owner_graph graph;
	struct root_names roots;
	struct dominators keeps;
	const struct typed_blocks *typed;	/* lent, for OWNER_TYPE */
	/* Of owner_rows_count: by block, whether it counts, and what is kept of those that do. */
	uint8_t *counts;		/* NULL: all of them count */
	struct dominator_sums sums;
};

/* By vertex of owners->keeps, the bytes and blocks that it keeps, of those that count. */
static inline uint64_t owners_bytes(const struct owners *owners, uint32_t vertex)
{
	return owners->counts ? owners->sums.bytes[vertex] :
				dominators_bytes(&owners->keeps, vertex);
}

static inline const uint32_t *owners_blocks(const struct owners *owners)
{
	return owners->counts ? owners->sums.blocks : owners->keeps.blocks;
}

/*
 *	root		a group of roots; what several of them lead to is one more row, and what is lost
 *	site, module,	blocks, by who allocated them, or by what they are: what they keep is that of each
 *	thread, type	of them which is not kept by another one of its group, so that nothing counts twice
 *	block		what one block keeps directly: one level of the tree
 */
enum owner_by { OWNER_ROOT, OWNER_TYPE, OWNER_SITE, OWNER_MODULE, OWNER_THREAD, OWNER_BLOCK };

struct owner_row {
	const char *label;
	uint64_t bytes;		/* that go with it, its own among them */
	uint64_t own;		/* of the blocks themselves; by root: of those that it keeps directly */
	uint64_t count;		/* blocks that go with it */
	uint64_t address;	/* of the block; of several, that which keeps most; 0: there is none */
	uint64_t size;		/* of that block */
	uint64_t blockbytes;	/* of bytes: what that block keeps */
	double share;		/* of all bytes, in percent */
	int64_t change;		/* of bytes, since it was asked before */
	bool compared;		/* change is known */
	uint32_t stack;		/* of that block, or of the site */
	const char *function;
	uint32_t group;		/* key of the label */
	uint32_t block;		/* at address */
};

extern const struct relation owner_relation;

/*
 * Look at the process: owners->graph. ERR_NOTFOUND: no block is at ask->address. The caller frees
 * *ret.
 */
struct err *owner_rows_take(struct session *session, const struct owner_ask *ask,
			    struct owners *ret) MUST_CHECK;
/*
 * Find out what all of it keeps, unless that is known. keep: the pointers, graph.first and to, are
 * wanted afterwards, too.
 */
struct err *owner_rows_find(struct session *session, bool keep, struct owners *owners) MUST_CHECK;
/* Only the blocks that the filter matches count from now on; without conditions all do. */
struct err *owner_rows_count(const struct filter *filter, const struct filter_env *env,
			     struct owners *owners) MUST_CHECK;
void owner_rows_free(struct owners *owners);
struct owner_rows_ask {
	enum owner_by by;	/* OWNER_BLOCK: of the block that was asked for */
	bool brief;		/* a row that has a label has it in place of its function */
	struct answer_order order;
	/* What is compared with, and what later answers are; NULL: nothing is. */
	struct owner_change *before, *now;
};

/*
 * The rows, most bytes first unless the order says otherwise. They are copies. *all_ret: how many
 * there are without the limit.
 */
struct err *owner_rows(struct stack_names *names, const struct owners *owners,
		       const struct owner_rows_ask *ask, struct answer *ret,
		       uint64_t *all_ret) MUST_CHECK;
/* Add what a vertex of owners->keeps is, in a few words. */
struct err *owner_rows_vertex(struct stack_names *names, const struct owners *owners,
			      uint32_t vertex, struct str *ret) MUST_CHECK;
