/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sums of the blocks of a heap walk that are in no record. */

#include "heap/early.h"

#include "heap/heap_walk.h"

struct early early_sum(const struct heap_walk *walk, uint8_t process, bool complete,
		       const struct filter *filter, const struct filter_env *env)
{
	struct chunk_at at = heap_chunks_start();
	struct early early = { .unrecorded = !complete };
	struct heap_chunk chunk;

	while (heap_chunks_next(&walk->chunks, &at, &chunk)) {
		struct block block;

		if (chunk.note != NOTE_EARLY)
			continue;
		block = block_of_chunk(&chunk, process, complete);
		if (!filter_matches(filter, env, &block))
			continue;
		early.bytes += block.size;
		early.count++;
	}
	return early;
}
