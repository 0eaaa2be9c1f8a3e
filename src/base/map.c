/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hash table from uint64_t to a pointer, over uthash. */

#include "base/map.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/hash.h"

#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION(key, len, ret)	((ret) = (unsigned)hash_bytes(key, len))
#include <uthash.h>
#undef uthash_nonfatal_oom
/* uthash calls this with the entry that it could not add. */
#define uthash_nonfatal_oom(entry) ((entry)->lost = true)

struct map_entry {
	uint64_t key;
	void *value;
	bool lost;
	UT_hash_handle hh;
};

static struct map_entry *find(const struct map *map, uint64_t key)
{
	struct map_entry *entry;

	HASH_FIND(hh, map->entries, &key, sizeof(key), entry);
	return entry;
}

void *map_get(const struct map *map, uint64_t key)
{
	struct map_entry *entry = find(map, key);

	return entry ? entry->value : NULL;
}

struct err *map_put(struct map *map, uint64_t key, void *value)
{
	struct map_entry *entry = find(map, key);

	if (entry) {
		entry->value = value;
		return NULL;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return err_nomem;
	entry->key = key;
	entry->value = value;
	HASH_ADD(hh, map->entries, key, sizeof(entry->key), entry);
	if (entry->lost) {
		free(entry);
		return err_nomem;
	}
	return NULL;
}

void *map_remove(struct map *map, uint64_t key)
{
	struct map_entry *entry = find(map, key);
	void *value;

	if (!entry)
		return NULL;
	value = entry->value;
	HASH_DEL(map->entries, entry);
	free(entry);
	return value;
}

size_t map_count(const struct map *map)
{
	return HASH_COUNT(map->entries);
}

void *map_next(struct map_at *at)
{
	struct map_entry *entry = at->next;

	if (!entry)
		return NULL;
	at->next = entry->hh.next;
	at->key = entry->key;
	return entry->value;
}

void map_free(struct map *map, void (*free_value)(void *value))
{
	struct map_entry *entry, *next;

	HASH_ITER(hh, map->entries, entry, next) {
		HASH_DEL(map->entries, entry);
		if (free_value)
			free_value(entry->value);
		free(entry);
	}
}
