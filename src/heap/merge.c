/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks of a log and those of a heap walk, put together (theory in block.h). */

#include "heap/block.h"

#include <stdlib.h>
#include <string.h>

#include "heap/walk.h"

static bool is_among(const uint64_t *word, size_t nr, uint64_t wanted)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (word[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low < nr && word[low] == wanted;
}

/*
 * May a call that is under way have it? By its block, its chunk, or the chunk behind it: a chunk that
 * is merged with a free one before it is no longer known by its own address, and not yet free.
 */
static bool is_in_hand(const struct blocks_merge *merge, const struct heap_chunk *chunk)
{
	uint64_t start = chunk->address - 16;

	return (is_among(merge->clue, merge->nr_clues, chunk->address) ||
		is_among(merge->clue, merge->nr_clues, start) ||
		(chunk->kind == CHUNK_USED &&
		 is_among(merge->clue, merge->nr_clues, start + chunk->size))) &&
	       !is_among(merge->sure, merge->nr_sure, chunk->address);
}

/* By their order: below the chunk at address? */
static bool is_before(const struct block *block, uint8_t process, uint64_t address)
{
	if (block->heap == LOG_HEAP_USER || block->process > process)
		return false;
	return block->process < process || block->address < address;
}

static bool is_of(const struct block *block, uint8_t process, uint64_t address)
{
	return block->heap != LOG_HEAP_USER && block->process == process &&
	       block->address == address;
}

/* A chunk of which there is no record. */
static struct err *add_unknown(struct blocks *to, const struct blocks_merge *merge,
			       const struct heap_chunk *chunk, struct addresses *left_out)
{
	/* One that was recorded is being freed. */
	if (!chunk_held(chunk) || (merge->complete && log_knew(merge->log, chunk->address)))
		return NULL;
	if (is_in_hand(merge, chunk))
		return vec_push(&left_out->vec, chunk->address);
	return vec_push(&to->vec, ((struct block){
		.address = chunk->address,
		.size = chunk_usable(chunk),
		.heap = chunk->heap,
		.preattach = true,
		.unrecorded = !merge->complete,
		.process = merge->process,
	}));
}

struct err *blocks_add_walk(struct blocks *blocks, const struct blocks_merge *merge,
			    struct addresses *left_out)
{
	const struct heap_chunks *chunks = &merge->walk->chunks;
	const struct block *block = blocks->vec.at;
	const struct block *end = blocks->vec.nr ? block + blocks->vec.nr : block;
	struct blocks to = BLOCKS_INIT;
	struct err *err = vec_reserve(&to.vec, blocks->vec.nr);

	for (size_t i = 0; i < chunks->vec.nr && !err; i++) {
		const struct heap_chunk *chunk = &chunks->vec.at[i];

		for (; !err && block < end && is_before(block, merge->process, chunk->address);
		     block++)
			err = vec_push(&to.vec, *block);
		if (err)
			break;
		if (block == end || !is_of(block, merge->process, chunk->address)) {
			err = add_unknown(&to, merge, chunk, left_out);
			continue;
		}
		err = vec_push(&to.vec, *block++);
		if (!err)
			to.vec.at[to.vec.nr - 1].heap = chunk->heap;
	}
	for (; block < end && !err; block++)
		err = vec_push(&to.vec, *block);
	if (err) {
		vec_free(&to.vec);
		return err;
	}
	vec_free(&blocks->vec);
	memcpy(&blocks->vec, &to.vec, sizeof(to.vec));
	return NULL;
}

struct err *blocks_from_free(const struct heap_walk *walk, struct blocks *ret)
{
	struct blocks blocks = BLOCKS_INIT;
	struct err *err = NULL;

	for (size_t i = 0; i < walk->chunks.vec.nr && !err; i++) {
		const struct heap_chunk *chunk = &walk->chunks.vec.at[i];

		if (chunk->kind >= CHUNK_CACHED)
			err = vec_push(&blocks.vec, ((struct block){
				.address = chunk->address,
				.size = chunk->size,
				.heap = chunk->heap,
				.preattach = true,
				.free_kind = chunk->kind,
			}));
	}
	if (err)
		blocks_free(&blocks);
	else
		*ret = blocks;
	return err;
}
