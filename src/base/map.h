/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hash table from uint64_t to a pointer, over uthash. Lack of memory is an error, not an exit. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct map_entry;

struct map {
	struct map_entry *entries;
};

#define MAP_INIT	{ NULL }

/* Returns the value, or NULL. */
void *map_get(const struct map *map, uint64_t key);
/*
 * Set or replace a value, which must not be NULL. It fails only with err_nomem, and then has
 * changed nothing.
 */
struct err *map_put(struct map *map, uint64_t key, void *value) MUST_CHECK;
/* Remove and return the value, or NULL. */
void *map_remove(struct map *map, uint64_t key);
size_t map_count(const struct map *map);

/*
 * Go through all entries:
 *
 *	for (struct map_at at = map_begin(map); (value = map_next(&at)); )
 *		... at.key ...
 *
 * Meanwhile only the entry that was returned last may be removed.
 */
struct map_at {
	struct map_entry *next;
	uint64_t key;
};

static inline struct map_at map_begin(const struct map *map)
{
	return (struct map_at){ map->entries, 0 };
}
/* Returns the next value, or NULL. */
void *map_next(struct map_at *at);
/* Free the table; free_value (may be NULL) is called for each value. */
void map_free(struct map *map, void (*free_value)(void *value));
