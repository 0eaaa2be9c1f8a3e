/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Maps keys to small numbers, by open addressing; it is at most half full, and nothing is removed.
 */

#include "heap/interner.h"

#include <stdlib.h>

#include "base/hash.h"

/* Returns the place where key is, or where it would be added. */
static uint32_t place(const struct interner *map, uint64_t key)
{
	uint32_t at = (uint32_t)hash_bytes(&key, sizeof(key)) & (map->room - 1);

	while (map->number[at] && map->key[at] != key)
		at = (at + 1) & (map->room - 1);
	return at;
}

static struct err *grow(struct interner *map)
{
	uint32_t room = map->room ? 2 * map->room : INTERNER_FIRST;
	struct interner bigger = { calloc(room, sizeof(*map->key)),
				  calloc(room, sizeof(*map->number)),
				 room, map->nr };

	if (!room || !bigger.key || !bigger.number) {
		interner_free(&bigger);
		return err_nomem;
	}
	for (uint32_t i = 0; i < map->room; i++) {
		if (map->number[i]) {
			uint32_t at = place(&bigger, map->key[i]);

			bigger.key[at] = map->key[i];
			bigger.number[at] = map->number[i];
		}
	}
	interner_free(map);
	*map = bigger;
	return NULL;
}

struct err *interner_number(struct interner *map, uint64_t key, uint32_t *ret)
{
	uint32_t at;

	if (map->nr >= map->room / 2) {
		struct err *err = grow(map);

		if (err)
			return err;
	}
	at = place(map, key);
	if (!map->number[at]) {
		map->key[at] = key;
		map->number[at] = ++map->nr;
	}
	*ret = map->number[at] - 1;
	return NULL;
}

uint32_t interner_find(const struct interner *map, uint64_t key)
{
	return map->room ? map->number[place(map, key)] - 1 : UINT32_MAX;
}

void interner_free(struct interner *map)
{
	free(map->key);
	free(map->number);
	*map = (struct interner)INTERNER_INIT;
}
