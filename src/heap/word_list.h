/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A list of words, to be sorted and searched. */
#ifndef HEAP_WORD_LIST_H
#define HEAP_WORD_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/vec.h"

struct word_list {
	VEC(uint64_t) vec;
};

static inline int word_list_by_value(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

static inline void word_list_sort(struct word_list *list)
{
	if (list->vec.nr)
		qsort(list->vec.at, list->vec.nr, sizeof(*list->vec.at), word_list_by_value);
}

/* Is it one of the first nr, which are sorted? */
static inline bool word_list_has(const struct word_list *list, size_t nr, uint64_t word)
{
	return nr && bsearch(&word, list->vec.at, nr, sizeof(word), word_list_by_value);
}

#endif
