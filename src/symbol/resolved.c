/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names that were found for addresses (theory in resolved.h). */

#include "symbol/resolved.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"

static uint64_t key_of(uint64_t pc, bool return_address)
{
	return pc << 1 | return_address;
}

static void free_all(void *value)
{
	for (struct resolved *resolved = value, *next; resolved; resolved = next) {
		next = resolved->next;
		for (size_t i = 0; i < ARRAY_SIZE(resolved->text); i++)
			free(resolved->text[i]);
		free(resolved);
	}
}

void resolved_free(struct resolved_cache *cache)
{
	map_free(&cache->kept, free_all);
	for (size_t i = 0; i < RESOLVED_RECENT; i++) {
		free_all(cache->recent[i]);
		free(cache->recent_text[i]);
	}
	*cache = (struct resolved_cache){ .kept = MAP_INIT };
}

struct resolved *resolved_find(const struct resolved_cache *cache, uint64_t pc, uint32_t module,
			       bool return_address)
{
	struct resolved *resolved = map_get(&cache->kept, key_of(pc, return_address));

	while (resolved && (resolved->pc != pc || resolved->module != module ||
			    resolved->return_address != return_address))
		resolved = resolved->next;
	return resolved;
}

struct resolved *resolved_create(uint64_t pc, uint32_t module, bool return_address, size_t nr,
				 const struct symbol_frame *frames)
{
	struct resolved *resolved = calloc(1, sizeof(*resolved) + nr * sizeof(*frames));

	if (!resolved)
		return NULL;
	resolved->pc = pc;
	resolved->module = module;
	resolved->return_address = return_address;
	resolved->nr = nr;
	memcpy(resolved->frames, frames, nr * sizeof(*frames));
	return resolved;
}

struct resolved *resolved_add(struct resolved_cache *cache, struct resolved *resolved, bool keep)
{
	uint64_t key = key_of(resolved->pc, resolved->return_address);
	struct resolved *first, **recent;

	if (!keep || cache->nr_frames >= LIMIT_FRAMES) {
		recent = &cache->recent[cache->nr_recent++ % RESOLVED_RECENT];
		free_all(*recent);
		return *recent = resolved;
	}
	first = map_get(&cache->kept, key);
	if (map_put(&cache->kept, key, resolved)) {
		free(resolved);
		return NULL;
	}
	resolved->next = first;
	cache->nr_frames += resolved->nr;
	return resolved;
}

const char *resolved_add_text(struct resolved_cache *cache, struct resolved *resolved,
			      enum symbol_names names, char *text)
{
	char **at = &resolved->text[names];

	cache->text_bytes += strlen(text);
	if (cache->text_bytes > LIMIT_TEXTS) {
		at = &cache->recent_text[cache->nr_recent_texts++ % RESOLVED_RECENT];
		free(*at);
	}
	return *at = text;
}
