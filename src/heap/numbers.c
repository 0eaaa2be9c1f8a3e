/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of numbers in a pool: its nodes. */

#include "heap/numbers.h"

struct err *numbers_add_node(struct numbers *numbers, struct number_list *list)
{
	uint32_t node = numbers->nr;

	if (node == UINT32_MAX)
		return err_create(ERR_RANGE, "more than %u nodes of numbers", UINT32_MAX);
	if (node / NUMBERS_SLAB == numbers->slab.nr) {
		struct number_node *slab = calloc(NUMBERS_SLAB, sizeof(*slab));
		struct err *err = slab ? vec_push(&numbers->slab, slab) : err_nomem;

		if (err) {
			free(slab);
			return err;
		}
	}
	numbers->nr++;
	numbers_node(numbers, node)->before = list->last;
	list->last = node;
	return NULL;
}

void numbers_free(struct numbers *numbers)
{
	for (size_t i = 0; i < numbers->slab.nr; i++)
		free(numbers->slab.at[i]);
	vec_free(&numbers->slab);
	numbers->nr = 0;
}

void numbers_shift(struct numbers *numbers, unsigned bits)
{
	for (uint32_t i = 0; i < numbers->nr; i++)
		for (unsigned j = 0; j < NUMBERS_NODE; j++)
			numbers_node(numbers, i)->at[j] >>= bits;
}
