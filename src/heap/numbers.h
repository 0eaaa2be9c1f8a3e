/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Many lists of 32-bit numbers in one pool: ten million numbers in a few lists, or in a million. A
 * node is a cache line with 15 numbers, so that a number takes 4.3 bytes in a long list, and a list
 * 64 bytes at least. Nothing is moved when the pool grows, so it never takes more than it holds.
 *
 *	struct numbers pool = NUMBERS_INIT;
 *	struct number_list list = NUMBER_LIST_INIT;
 *	err = numbers_push(&pool, &list, 17);
 *	for (struct number_at at = numbers_start(&pool, &list); numbers_next(&pool, &at, &number); )
 *		...					the last one that was pushed comes first
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define NUMBERS_NODE	15u
#define NUMBERS_SLAB	4096u		/* nodes, a power of two: 256 KB */

struct number_node {
	uint32_t before;		/* node, filled; none if the list's first */
	uint32_t at[NUMBERS_NODE];
};

struct numbers {
	VEC(struct number_node *) slab;
	uint32_t nr;			/* nodes in use */
};

struct number_list {
	uint64_t nr;
	uint32_t last;			/* node */
};

#define NUMBERS_INIT		{ VEC_INIT, 0 }
#define NUMBER_LIST_INIT	{ 0, 0 }

struct number_at {
	const struct number_node *node;
	uint64_t left;			/* numbers not yet given */
	uint32_t in_node;		/* of these in node */
};

/* A node for a list whose last one is full. Internal to numbers_push. */
struct err *numbers_add_node(struct numbers *numbers, struct number_list *list) MUST_CHECK;
void numbers_free(struct numbers *numbers);
/* Divide all numbers by 2^bits; bits < 32. */
void numbers_shift(struct numbers *numbers, unsigned bits);

/* Internal, too. */
static inline struct number_node *numbers_node(const struct numbers *numbers, uint32_t node)
{
	return &numbers->slab.at[node / NUMBERS_SLAB][node % NUMBERS_SLAB];
}

MUST_CHECK static inline struct err *numbers_push(struct numbers *numbers,
						  struct number_list *list, uint32_t number)
{
	uint32_t in_node = (uint32_t)(list->nr % NUMBERS_NODE);

	if (!in_node) {
		struct err *err = numbers_add_node(numbers, list);

		if (err)
			return err;
	}
	numbers_node(numbers, list->last)->at[in_node] = number;
	list->nr++;
	return NULL;
}

static inline struct number_at numbers_start(const struct numbers *numbers,
					     const struct number_list *list)
{
	if (!list->nr)
		return (struct number_at){ 0 };
	return (struct number_at){ numbers_node(numbers, list->last), list->nr,
				   (uint32_t)((list->nr - 1) % NUMBERS_NODE) + 1 };
}

static inline bool numbers_next(const struct numbers *numbers, struct number_at *at, uint32_t *ret)
{
	if (!at->left)
		return false;
	if (!at->in_node) {
		at->node = numbers_node(numbers, at->node->before);
		at->in_node = NUMBERS_NODE;
	}
	at->left--;
	*ret = at->node->at[--at->in_node];
	return true;
}
