/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Adds blocks that only the heap walk has to the blocks of the log (rules in reconcile.h). Both
 * come in order of address; new blocks are added behind the list, and then merged into it in place.
 */

#include <string.h>

#include "base/cleanup.h"
#include "heap/packed.h"
#include "heap/reconcile.h"
#include "heap/heap_walk.h"

/* Malloc's blocks of a list, and the chunks of a walk, side by side. */
struct joining {
	struct packed_list *list;
	size_t at;			/* the next of malloc's blocks */
	size_t nr;			/* the blocks behind these are new */
};

static struct err *note_heap(struct packed_list *list, uint64_t address, uint16_t heap)
{
	size_t nr = list->heaps.nr;

	if ((nr ? list->heaps.at[nr - 1].heap : LOG_HEAP_UNKNOWN) == heap)
		return NULL;
	return vec_push(&list->heaps, ((struct packed_heap){ address, heap }));
}

/* Pass the blocks below the chunk, and its own, if there is one. */
static struct err *join_chunk(struct joining *joining, const struct heap_chunk *chunk,
			      bool *has_block_ret)
{
	struct packed_list *list = joining->list;
	struct err *err = NULL;

	for (; !err && joining->at < list->nr_outer &&
	       packed_at(list, joining->at)->address < chunk->address; joining->at++)
		err = note_heap(list, packed_at(list, joining->at)->address, LOG_HEAP_UNKNOWN);
	*has_block_ret = !err && joining->at < list->nr_outer &&
			 packed_at(list, joining->at)->address == chunk->address;
	if (!*has_block_ret)
		return err;
	joining->at++;
	return note_heap(list, chunk->address, chunk->heap);
}

static struct err *add_new(struct joining *joining, const struct heap_chunk *chunk,
			   const struct block *block)
{
	struct err *err = note_heap(joining->list, chunk->address, chunk->heap);

	return err ? err : packed_add(joining->list, block);
}

static bool is_before(const struct packed_block *one, const struct packed_block *other)
{
	return one->user == other->user ? one->address < other->address : !one->user;
}

/* Merge [0, nr) and the rest, each of which is in order. The smaller part is copied. */
static struct err *merge(struct packed_list *list, size_t nr)
{
	size_t stride = packed_stride(list), nr_new = list->nr - nr, few = MIN(nr, nr_new);
	struct packed_list copy = { .timed = list->timed };
	AUTO_FREE uint8_t *bytes = malloc(few * stride + 1);

	if (!few)
		return NULL;
	if (!bytes)
		return err_nomem;
	copy.at = bytes;
	if (few == nr) {		/* from the front; new blocks are always at the end */
		size_t i = 0, j = nr, to = 0;

		memcpy(bytes, list->at, few * stride);
		for (; i < few; to++) {
			bool old = j == list->nr ||
				       is_before(packed_at(&copy, i), packed_at(list, j));

			memcpy(packed_at(list, to), old ? packed_at(&copy, i++) :
			       packed_at(list, j++),
			       stride);
		}
	} else {			/* from the end */
		size_t i = nr, j = few, to = list->nr;

		memcpy(bytes, packed_at(list, nr), few * stride);
		while (j) {
			bool old = i && is_before(packed_at(&copy, j - 1), packed_at(list, i - 1));

			memcpy(packed_at(list, --to), old ? packed_at(list, --i) :
			       packed_at(&copy, --j),
			       stride);
		}
	}
	return NULL;
}

/* Pass the rest of the blocks, and merge. If there was an error, the list is as before. */
static struct err *join_end(struct joining *joining, struct err *err)
{
	struct packed_list *list = joining->list;
	size_t nr_new = list->nr - joining->nr;

	/* the other blocks are in no chunk */
	if (!err && joining->at < list->nr_outer)
		err = note_heap(list, packed_at(list, joining->at)->address, LOG_HEAP_UNKNOWN);
	if (!err && nr_new)
		err = merge(list, joining->nr);
	if (err) {
		list->nr = joining->nr;
		vec_free(&list->heaps);
		return err;
	}
	list->nr_outer += nr_new;
	return NULL;
}

struct err *packed_merge_walk(struct packed_list *list, const struct heap_walk *walk, bool complete)
{
	struct chunk_at at = heap_chunks_start();
	struct joining joining = { .list = list, .nr = list->nr };
	struct err *err = NULL;
	struct heap_chunk chunk;
	bool has_block;

	while (!err && heap_chunks_next(&walk->chunks, &at, &chunk)) {
		if (chunk.note != NOTE_RECORDED && chunk.note != NOTE_EARLY)
			continue;
		err = join_chunk(&joining, &chunk, &has_block);
		if (!err && !has_block && chunk.note == NOTE_EARLY) {
			struct block block = block_of_chunk(&chunk, list->process, complete);

			err = add_new(&joining, &chunk, &block);
		}
	}
	return join_end(&joining, err);
}

/* A chunk that had no record at that moment. */
static struct err *add_past(struct joining *joining, struct heap_walk *walk,
			    const struct chunk_at *at, const struct heap_chunk *chunk,
			    const struct walk_merge *merge, struct word_list *left_out)
{
	struct block block;
	enum chunk_is is = reconcile_past(merge, chunk, &block);

	if (is == CHUNK_NO_BLOCK)
		return NULL;
	if (is == CHUNK_IN_HAND)
		return vec_push(&left_out->vec, chunk->address);
	heap_chunks_set_note(&walk->chunks, at, is == CHUNK_FREED ? NOTE_RECORDED : NOTE_EARLY);
	return add_new(joining, chunk, &block);
}

struct err *packed_merge_past(struct packed_list *list, struct heap_walk *walk,
			      const struct walk_merge *merge, struct word_list *left_out)
{
	struct chunk_at at = heap_chunks_start();
	struct joining joining = { .list = list, .nr = list->nr };
	struct err *err = NULL;
	struct heap_chunk chunk;
	bool has_block;

	while (!err && heap_chunks_next(&walk->chunks, &at, &chunk)) {
		err = join_chunk(&joining, &chunk, &has_block);
		if (has_block)
			heap_chunks_set_note(&walk->chunks, &at, NOTE_RECORDED);
		else if (!err)
			err = add_past(&joining, walk, &at, &chunk, merge, left_out);
	}
	return join_end(&joining, err);
}
