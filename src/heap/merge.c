/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The log and a heap walk, put together (theory in block.h). */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "heap/block.h"
#include "heap/held.h"
#include "heap/radix.h"
#include "heap/walk.h"

#define BATCH	65536u

static bool is_among(const uint64_t *word, size_t nr, uint64_t wanted)
{
	size_t low = LOWER_BOUND(i, 0, nr, word[i] < wanted);

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

/* Both are in order of address. */
static void note_held(struct heap_walk *walk, const struct held_list *list)
{
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk;
	size_t i = 0;

	while (i < list->nr_outer && heap_chunks_next(&walk->chunks, &at, &chunk)) {
		while (i < list->nr_outer && held_at(list, i)->address < chunk.address)
			i++;
		if (i < list->nr_outer && held_at(list, i)->address == chunk.address)
			heap_chunks_set_note(&walk->chunks, &at, NOTE_RECORDED);
	}
}

static struct err *note_log(struct heap_walk *walk, const struct walk_merge *merge)
{
	AUTO_FREE struct radix_item *item = calloc(BATCH, sizeof(*item));
	struct noting noting = { &walk->chunks, merge->process, item, 0 };
	struct err *err = item ? NULL : err_nomem;

	if (!err && merge->log)
		err = blocks_each(merge->log, merge->in_hand, note_record, &noting);
	return err ? err : note_batch(&noting);
}

/* --- what is not --- */

bool walk_merge_in_hand(const struct walk_merge *merge, const struct heap_chunk *chunk)
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
		if (walk_merge_in_hand(merge, &chunk))
			err = vec_push(&left_out->vec, chunk.address);
		else
			heap_chunks_set_note(&walk->chunks, &at, NOTE_EARLY);
	}
	return err;
}

struct err *walk_merge(struct heap_walk *walk, const struct walk_merge *merge,
		       struct addresses *left_out)
{
	struct err *err = NULL;

	if (merge->held)
		note_held(walk, merge->held);
	else
		err = note_log(walk, merge);
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
