/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hash table from uint64_t to a pointer, over uthash; out of memory is an error, not an exit. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct map_entry;

struct map {
	struct map_entry *entries;
};

#define MAP_INIT	{ NULL }

/* The value, or NULL. */
void *map_get(const struct map *map, uint64_t key);
/* Set or replace. value must not be NULL. Fails only with err_nomem, changing nothing. */
struct err *map_put(struct map *map, uint64_t key, void *value) MUST_CHECK;
/* Remove and return the value, or NULL. */
void *map_remove(struct map *map, uint64_t key);
size_t map_count(const struct map *map);
/* Call fn for each entry; fn may remove the entry that it was called for, nothing else. */
void map_each(const struct map *map, void (*fn)(uint64_t key, void *value, void *ctx), void *ctx);
/* Free the table, calling free_value (if any) for each value. */
void map_free(struct map *map, void (*free_value)(void *value));

#endif
