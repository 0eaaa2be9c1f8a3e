/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of numbers in a pool: its nodes. */

#include "heap/u32_lists.h"

struct err *u32_lists_add_node(struct u32_lists *numbers, struct u32_list *list)
{
	uint32_t node = numbers->nr;

	if (node == UINT32_MAX)
		return err_create(ERR_RANGE, "more than %u nodes of numbers", UINT32_MAX);
	if (node / U32_LISTS_SLAB == numbers->slab.nr) {
		struct u32_node *slab = calloc(U32_LISTS_SLAB, sizeof(*slab));
		struct err *err = slab ? vec_push(&numbers->slab, slab) : err_nomem;

		if (err) {
			free(slab);
			return err;
		}
	}
	numbers->nr++;
	u32_lists_node(numbers, node)->before = list->last;
	list->last = node;
	return NULL;
}

void u32_lists_free(struct u32_lists *numbers)
{
	for (size_t i = 0; i < numbers->slab.nr; i++)
		free(numbers->slab.at[i]);
	vec_free(&numbers->slab);
	numbers->nr = 0;
}

void u32_lists_shift(struct u32_lists *numbers, unsigned bits)
{
	for (uint32_t i = 0; i < numbers->nr; i++)
		for (unsigned j = 0; j < U32_LISTS_NODE; j++)
			u32_lists_node(numbers, i)->at[j] >>= bits;
}
