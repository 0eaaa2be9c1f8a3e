/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers the distinct ones among many texts (text_set.h). */

#include "base/text_set.h"

#include <string.h>

#include "base/hash.h"

/* The slot of the text, or the free one where it belongs; there is always a free one. */
static uint32_t *find_slot(const struct text_set *set, const char *text)
{
	for (uint64_t at = hash_bytes(text, strlen(text));; at++) {
		uint32_t *slot = &set->slots[at & (set->nr_slots - 1)];

		if (!*slot || !strcmp(set->vec.at[*slot - 1], text))
			return slot;
	}
}

static struct err *grow(struct text_set *set)
{
	size_t nr = set->nr_slots ? set->nr_slots * 2 : 1024;
	uint32_t *slots = calloc(nr, sizeof(*slots));

	if (!slots)
		return err_nomem;
	free(set->slots);
	set->slots = slots;
	set->nr_slots = nr;
	for (size_t i = 0; i < set->vec.nr; i++)
		*find_slot(set, set->vec.at[i]) = (uint32_t)i + 1;
	return NULL;
}

struct err *text_set_number(struct text_set *set, const char *text, uint32_t *ret)
{
	struct err *err = set->vec.nr * 2 >= set->nr_slots ? grow(set) : NULL;
	uint32_t *slot;

	if (err)
		return err;
	slot = find_slot(set, text);
	if (!*slot) {
		err = vec_push(&set->vec, text);
		if (err)
			return err;
		*slot = (uint32_t)set->vec.nr;
	}
	*ret = *slot - 1;
	return NULL;
}

struct err *text_set_keep(struct text_set *set, const char *text, const char **ret)
{
	uint32_t number;
	struct err *err = text_set_copy(set, text, &number);

	if (!err)
		*ret = set->vec.at[number];
	return err;
}

bool text_set_has(const struct text_set *set, const char *text)
{
	return set->nr_slots && *find_slot(set, text);
}

struct err *text_set_copy(struct text_set *set, const char *text, uint32_t *ret)
{
	const uint32_t *slot = set->nr_slots ? find_slot(set, text) : NULL;
	char *copy;
	struct err *err;

	if (slot && *slot) {
		*ret = *slot - 1;
		return NULL;
	}
	err = vec_reserve(&set->copies, 1);
	copy = err ? NULL : strdup(text);
	if (!copy)
		return err_nomem;
	set->copies.at[set->copies.nr++] = copy;
	return text_set_number(set, copy, ret);
}

void text_set_free(struct text_set *set)
{
	vec_free(&set->vec);
	vec_each_value(copy, &set->copies)
		free(copy);
	vec_free(&set->copies);
	free(set->slots);
	*set = (struct text_set)TEXT_SET_INIT;
}
