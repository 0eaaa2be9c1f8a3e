/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A list of words, mostly addresses, to be sorted and searched. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/vec.h"

struct word_list {
	VEC(uint64_t) vec;
};

/* Comparison for qsort. */
static inline int word_list_by_value(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

static inline void word_list_sort(struct word_list *list)
{
	vec_sort(&list->vec, word_list_by_value);
}

/* Is word one of nr sorted words? */
static inline bool word_among(const uint64_t *at, size_t nr, uint64_t word)
{
	size_t i = LOWER_BOUND(j, 0, nr, at[j] < word);

	return i < nr && at[i] == word;
}

/* Is word one of the first nr words of a list, which are sorted? */
static inline bool word_list_has(const struct word_list *list, size_t nr, uint64_t word)
{
	return word_among(list->vec.at, nr, word);
}
