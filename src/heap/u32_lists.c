/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of numbers in a pool: its nodes. */

#include "heap/u32_lists.h"

#include <stdlib.h>

#include "base/compiler.h"

#define FEW		256u		/* so many are sorted to find the nth */
#define DIGIT_BITS	11u
#define DIGITS		(1u << DIGIT_BITS)

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

/* Of many, digit by digit: those that begin as it does are counted. */
static uint32_t nth_of_many(const struct u32_lists *numbers, const struct u32_list *list, uint64_t k)
{
	uint32_t found = 0, number;
	unsigned low = 32;

	while (low) {
		uint64_t count[DIGITS] = { 0 };
		unsigned high = low, digit = 0;
		struct u32_cursor at = u32_lists_start(numbers, list);

		low = low > DIGIT_BITS ? low - DIGIT_BITS : 0;
		while (u32_lists_next(numbers, &at, &number))
			if (!(((uint64_t)number ^ found) >> high))
				count[number >> low & (DIGITS - 1)]++;
		for (; k >= count[digit]; digit++)
			k -= count[digit];
		found |= digit << low;
	}
	return found;
}

COMPARE_BY(by_number, uint32_t, x, *x)

uint32_t u32_lists_nth(const struct u32_lists *numbers, const struct u32_list *list, uint64_t k)
{
	struct u32_cursor at = u32_lists_start(numbers, list);
	uint32_t few[FEW];

	if (list->nr > FEW)
		return nth_of_many(numbers, list, k);
	for (uint32_t i = 0; i < list->nr && u32_lists_next(numbers, &at, &few[i]); i++)
		;
	qsort(few, list->nr, sizeof(*few), by_number);
	return few[k];
}
