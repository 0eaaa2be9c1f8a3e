/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a walk gives: look-ups in it. */

#include "heap/walk.h"

void heap_walk_free(struct heap_walk *walk)
{
	vec_free(&walk->chunks.vec);
	vec_free(&walk->arenas);
	vec_free(&walk->spans);
	vec_free(&walk->damage);
	vec_free(&walk->loose);
}

/* How many chunks begin at or before address. */
static size_t up_to(const struct heap_chunks *chunks, uint64_t address)
{
	size_t low = 0, high = chunks->vec.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (chunks->vec.at[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct heap_chunk *heap_chunk_at(const struct heap_chunks *chunks, uint64_t address)
{
	size_t nr = up_to(chunks, address);

	if (!nr || chunks->vec.at[nr - 1].address != address)
		return NULL;
	return &chunks->vec.at[nr - 1];
}

const struct heap_chunk *heap_chunk_around(const struct heap_chunks *chunks, uint64_t address)
{
	const struct heap_chunk *chunk;
	size_t nr = up_to(chunks, address + 8);

	if (!nr)
		return NULL;
	chunk = &chunks->vec.at[nr - 1];
	return address - (chunk->address - 8) < chunk->size ? chunk : NULL;
}

const char *heap_chunk_kind(const struct heap_chunk *chunk)
{
	static const char *const kinds[CHUNK_KINDS] = {
		[CHUNK_USED] = "used", [CHUNK_MMAPPED] = "mapped", [CHUNK_OWN] = "allocator",
		[CHUNK_CACHED] = "tcache", [CHUNK_FAST] = "fastbin", [CHUNK_FREE] = "bin",
		[CHUNK_TOP] = "top",
	};

	return kinds[chunk->kind];
}
