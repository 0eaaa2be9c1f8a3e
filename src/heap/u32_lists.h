/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Many lists of 32-bit numbers in one pool: ten million numbers in a few lists, or in a million. A
 * node is a cache line with 15 numbers, so that a number takes 4.3 bytes in a long list, and a list
 * 64 bytes at least. Nothing is moved when the pool grows, so it never takes more than it holds.
 *
 *	struct u32_lists pool = U32_LISTS_INIT;
 *	struct u32_list list = U32_LIST_INIT;
 *	err = u32_lists_push(&pool, &list, 17);
 *	for (struct u32_cursor at = u32_lists_start(&pool, &list);
 *	     u32_lists_next(&pool, &at, &number); )
 *		...					the last one that was pushed comes first
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define U32_LISTS_NODE	15u
#define U32_LISTS_SLAB	4096u		/* nodes, a power of two: 256 KB */

struct u32_node {
	/* the node before, which is full; none for the first node of a list */
	uint32_t before;
	uint32_t at[U32_LISTS_NODE];
};

struct u32_lists {
	VEC(struct u32_node *) slab;
	uint32_t nr;			/* nodes in use */
};

struct u32_list {
	uint64_t nr;
	uint32_t last;			/* node */
};

#define U32_LISTS_INIT		{ VEC_INIT, 0 }
#define U32_LIST_INIT	{ 0, 0 }

struct u32_cursor {
	const struct u32_node *node;
	uint64_t left;			/* numbers not yet given */
	uint32_t in_node;		/* of these in node */
};

/* A node for a list whose last one is full. Internal to u32_lists_push. */
struct err *u32_lists_add_node(struct u32_lists *numbers, struct u32_list *list) MUST_CHECK;
void u32_lists_free(struct u32_lists *numbers);
/* Divide all numbers by 2^bits; bits < 32. */
void u32_lists_shift(struct u32_lists *numbers, unsigned bits);

/* The (k + 1)th smallest number of a list, which has more than k. */
uint32_t u32_lists_nth(const struct u32_lists *numbers, const struct u32_list *list, uint64_t k);

/* Internal, too. */
static inline struct u32_node *u32_lists_node(const struct u32_lists *numbers, uint32_t node)
{
	return &numbers->slab.at[node / U32_LISTS_SLAB][node % U32_LISTS_SLAB];
}

MUST_CHECK static inline struct err *u32_lists_push(struct u32_lists *numbers,
						    struct u32_list *list, uint32_t number)
{
	uint32_t in_node = (uint32_t)(list->nr % U32_LISTS_NODE);

	if (!in_node) {
		struct err *err = u32_lists_add_node(numbers, list);

		if (err)
			return err;
	}
	u32_lists_node(numbers, list->last)->at[in_node] = number;
	list->nr++;
	return NULL;
}

static inline struct u32_cursor u32_lists_start(const struct u32_lists *numbers,
						const struct u32_list *list)
{
	if (!list->nr)
		return (struct u32_cursor){ 0 };
	return (struct u32_cursor){ u32_lists_node(numbers, list->last), list->nr,
				   (uint32_t)((list->nr - 1) % U32_LISTS_NODE) + 1 };
}

static inline bool u32_lists_next(const struct u32_lists *numbers, struct u32_cursor *at,
				  uint32_t *ret)
{
	if (!at->left)
		return false;
	if (!at->in_node) {
		at->node = u32_lists_node(numbers, at->node->before);
		at->in_node = U32_LISTS_NODE;
	}
	at->left--;
	*ret = at->node->at[--at->in_node];
	return true;
}
