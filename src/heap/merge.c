/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The log and a heap walk, put together (theory in block.h). */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/block.h"
#include "heap/radix.h"
#include "heap/walk.h"

#define BATCH	65536u

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

/* --- what is recorded --- */

/* Records that are not noted yet: in order of address they are found at a fraction of the cost. */
struct noting {
	struct heap_chunks *chunks;
	uint8_t process;
	struct radix_item *item;
	size_t nr;
};

static struct err *note_batch(struct noting *noting)
{
	struct chunk_at at = heap_chunks_start();
	struct err *err = radix_sort(noting->item, noting->nr);
	struct heap_chunk chunk;

	for (size_t i = 0; i < noting->nr && !err; i++) {
		heap_chunks_seek(noting->chunks, &at, noting->item[i].key);
		if (at.address == noting->item[i].key &&
		    heap_chunks_next(noting->chunks, &at, &chunk) &&
		    chunk.address == noting->item[i].key)
			heap_chunks_set_note(noting->chunks, &at, NOTE_RECORDED);
	}
	noting->nr = 0;
	return err;
}

static struct err *note_record(const struct block *block, uint64_t slot UNUSED, void *ctx)
{
	struct noting *noting = ctx;

	if (block->process != noting->process || block->heap == LOG_HEAP_USER)
		return NULL;
	noting->item[noting->nr++].key = block->address;
	return noting->nr == BATCH ? note_batch(noting) : NULL;
}

static struct err *note_records(struct heap_walk *walk, const struct walk_merge *merge)
{
	AUTO_FREE struct radix_item *item = calloc(BATCH, sizeof(*item));
	struct noting noting = { &walk->chunks, merge->process, item, 0 };
	struct err *err = item ? NULL : err_nomem;

	if (!err && merge->log)
		err = blocks_each(merge->log, merge->in_hand, note_record, &noting);
	return err ? err : note_batch(&noting);
}

/* --- what is not --- */

/*
 * May a call that is under way have it? By its block, its chunk, or the chunk behind it: a chunk that
 * is merged with a free one before it is no longer known by its own address, and not yet free.
 */
static bool is_in_hand(const struct walk_merge *merge, const struct heap_chunk *chunk)
{
	uint64_t start = chunk->address - 16;

	return (is_among(merge->clue, merge->nr_clues, chunk->address) ||
		is_among(merge->clue, merge->nr_clues, start) ||
		(chunk->kind == CHUNK_USED &&
		 is_among(merge->clue, merge->nr_clues, start + chunk->size))) &&
	       !is_among(merge->sure, merge->nr_sure, chunk->address);
}

static struct err *note_rest(struct heap_walk *walk, const struct walk_merge *merge,
			     struct addresses *left_out)
{
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk;
	struct err *err = NULL;

	while (!err && heap_chunks_next(&walk->chunks, &at, &chunk)) {
		/* One that was recorded is being freed. */
		if (chunk.note == NOTE_RECORDED || !chunk_held(&chunk) ||
		    (merge->complete && log_knew(merge->log, chunk.address)))
			continue;
		if (is_in_hand(merge, &chunk))
			err = vec_push(&left_out->vec, chunk.address);
		else
			heap_chunks_set_note(&walk->chunks, &at, NOTE_EARLY);
	}
	return err;
}

struct err *walk_merge(struct heap_walk *walk, const struct walk_merge *merge,
		       struct addresses *left_out)
{
	struct err *err = note_records(walk, merge);

	return err ? err : note_rest(walk, merge, left_out);
}

/* --- blocks of a walk --- */

struct block block_of_chunk(const struct heap_chunk *chunk, uint8_t process, bool complete)
{
	bool held = chunk_held(chunk);

	return (struct block){
		.address = chunk->address,
		.size = held ? chunk_usable(chunk) : chunk->size,
		.heap = chunk->heap,
		.preattach = true,
		.unrecorded = held && !complete,
		.process = process,
		.free_kind = held ? 0 : chunk->kind,
	};
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

/* Blocks, and the chunks of a walk, which come in the same order, on the way to being one list. */
struct joining {
	struct blocks to;
	const struct block *block, *end;	/* those that are not in it yet */
	uint8_t process;			/* of the walk */
};

static struct err *join_start(struct joining *joining, const struct blocks *blocks,
			      uint8_t process)
{
	const struct block *block = blocks->vec.at;

	*joining = (struct joining){
		.block = block,
		.end = blocks->vec.nr ? block + blocks->vec.nr : block,
		.process = process,
	};
	return vec_reserve(&joining->to.vec, blocks->vec.nr);
}

/* The blocks below the chunk, and its own, if there is one, with its heap. */
static struct err *join_chunk(struct joining *joining, const struct heap_chunk *chunk,
			      bool *has_block_ret)
{
	struct err *err = NULL;
	struct block block;

	for (; !err && joining->block < joining->end &&
	       is_before(joining->block, joining->process, chunk->address); joining->block++)
		err = vec_push(&joining->to.vec, *joining->block);
	*has_block_ret = !err && joining->block < joining->end &&
			 is_of(joining->block, joining->process, chunk->address);
	if (!*has_block_ret)
		return err;
	block = *joining->block++;
	block.heap = chunk->heap;
	return vec_push(&joining->to.vec, block);
}

/* The rest; blocks are the list then, but as before if there was an error. */
static struct err *join_end(struct joining *joining, struct blocks *blocks, struct err *err)
{
	for (; joining->block < joining->end && !err; joining->block++)
		err = vec_push(&joining->to.vec, *joining->block);
	if (err) {
		vec_free(&joining->to.vec);
		return err;
	}
	vec_free(&blocks->vec);
	memcpy(&blocks->vec, &joining->to.vec, sizeof(blocks->vec));
	return NULL;
}

/* A chunk of an earlier moment: was its block freed since? */
static bool is_past(const struct walk_merge *merge, const struct heap_chunk *chunk,
		    struct block *ret)
{
	uint64_t address = chunk->address | (uint64_t)merge->process << LOG_PROCESS_SHIFT;
	struct log_record record;
	enum log_past past = merge->log ? log_past(merge->log, address, merge->until, &record) :
					  LOG_NEVER;

	*ret = block_of_chunk(chunk, merge->process, merge->complete);
	if (past == LOG_PAST) {
		*ret = block_of_record(&record);
		ret->heap = chunk->heap;
	}
	ret->unrecorded |= past == LOG_SINCE;
	ret->freed = past != LOG_NEVER;
	return ret->freed;
}

/* A chunk that is held, and of no record. */
static struct err *add_past(struct blocks *to, struct heap_walk *walk, const struct chunk_at *at,
			    const struct heap_chunk *chunk, const struct walk_merge *merge,
			    struct addresses *left_out)
{
	struct block block;

	if (!is_past(merge, chunk, &block) && is_in_hand(merge, chunk))
		return vec_push(&left_out->vec, chunk->address);
	heap_chunks_set_note(&walk->chunks, at, block.freed ? NOTE_RECORDED : NOTE_EARLY);
	return vec_push(&to->vec, block);
}

struct err *blocks_add_past(struct blocks *blocks, struct heap_walk *walk,
			    const struct walk_merge *merge, struct addresses *left_out)
{
	struct chunk_at at = heap_chunks_start();
	struct joining joining;
	struct err *err = join_start(&joining, blocks, merge->process);
	struct heap_chunk chunk;
	bool has_block;

	while (!err && heap_chunks_next(&walk->chunks, &at, &chunk)) {
		err = join_chunk(&joining, &chunk, &has_block);
		if (has_block)
			heap_chunks_set_note(&walk->chunks, &at, NOTE_RECORDED);
		else if (!err && chunk_held(&chunk))
			err = add_past(&joining.to, walk, &at, &chunk, merge, left_out);
	}
	return join_end(&joining, blocks, err);
}

struct err *blocks_add_walk(struct blocks *blocks, const struct heap_walk *walk, uint8_t process,
			    bool complete)
{
	struct chunk_at at = heap_chunks_start();
	struct joining joining;
	struct err *err = join_start(&joining, blocks, process);
	struct heap_chunk chunk;
	bool has_block;

	while (!err && heap_chunks_next(&walk->chunks, &at, &chunk)) {
		if (chunk.note != NOTE_RECORDED && chunk.note != NOTE_EARLY)
			continue;
		err = join_chunk(&joining, &chunk, &has_block);
		if (!err && !has_block && chunk.note == NOTE_EARLY)
			err = vec_push(&joining.to.vec, block_of_chunk(&chunk, process, complete));
	}
	return join_end(&joining, blocks, err);
}
