/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of blocks (theory in block_list.h). */

#include "heap/block_list.h"

#include "heap/u32_lists.h"
#include "heap/heap_walk.h"

/* blocks of a piece: 5 MB, and three times that while they are sorted */
#define PIECE		(1u << 17)
#define SAMPLE		(1u << 15)
#define PIECES_MAX	(SAMPLE / 128)	/* so the length of a piece is off by a third at most */

/* The place of a block in the order. */
struct place {
	bool last;		/* the block has no such attribute */
	uint64_t major, minor;	/* major: the key to sort by; minor: block_key */
};

struct list {
	struct list_source source;
	uint64_t moment;
	/* filter or order need the heap, so it is looked up before a block is listed */
	bool by_heap;
	struct list_sums sums;
	uint64_t random;
	/* a random sample of the blocks; its first elements become the cuts between the pieces */
	struct place *sample;
	size_t nr_sampled;
	/* Used if there are several pieces: */
	unsigned nr_pieces;
	struct u32_list *slots;	/* by piece */
	struct u32_lists numbers;
	/* Records that have no slot. */
	VEC(struct block) hand;
	/* The current piece: */
	unsigned piece;
	struct blocks blocks;
	size_t at;
	struct chunk_at heap_at, early_at;
	struct list_given given;
	uint64_t gone;
};

static struct place place_of(const struct list *list, const struct block *block)
{
	const struct filter_order *order = list->source.order;
	struct place place = { .minor = block_key(block) };

	place.last = order->sorted &&
		     !filter_key(order, &list->source.env, block, &place.major);
	return place;
}

static bool is_below(const struct place *a, const struct place *b)
{
	if (a->last != b->last)
		return b->last;
	return a->major != b->major ? a->major < b->major : a->minor < b->minor;
}

static int by_place(const void *a, const void *b)
{
	return is_below(a, b) ? -1 : is_below(b, a);
}

/* Piece n begins at cut n - 1 and ends before cut n. */
static unsigned piece_of(const struct list *list, const struct place *place)
{
	return LOWER_BOUND(i, 0, list->nr_pieces - 1, !is_below(place, &list->sample[i]));
}

static bool is_listed(const struct list *list, const struct heap_chunk *chunk)
{
	if (list->source.of == LIST_FREE)
		return chunk->kind >= CHUNK_CACHED;
	return chunk->note == NOTE_EARLY;
}

static struct block early_block(const struct list *list, const struct heap_chunk *chunk)
{
	return block_of_chunk(chunk, list->source.process, list->source.complete);
}

/*
 * What the log does not have of a recorded block is taken from the walk, which is quick if the
 * addresses ascend.
 */
static void set_walked(struct list *list, struct block *block)
{
	const struct heap_walk *walk = list->source.walk;
	struct heap_chunk chunk;

	if (!walk || block->preattach || block->process != list->source.process ||
	    block->heap == LOG_HEAP_USER)
		return;
	if (!heap_chunks_find(&walk->chunks, &list->heap_at, block->address, &chunk))
		return;
	block->heap = chunk.heap;
	block->usable = chunk_held(&chunk) ? chunk_usable(&chunk) : 0;
}

/* Each of the blocks that come has the same chance to be in the sample (Vitter's algorithm R). */
static void take_sample(struct list *list, const struct place *place)
{
	uint64_t n = list->sums.nr;

	if (n >= SAMPLE)
		n = sample_part(sample_random(&list->random), n + 1);
	if (n >= SAMPLE)
		return;
	list->sample[n] = *place;
	list->nr_sampled = MAX(list->nr_sampled, (size_t)n + 1);
}

static struct err *count(struct list *list, const struct block *block)
{
	struct place place = place_of(list, block);

	take_sample(list, &place);
	list->sums.nr++;
	list->sums.size = MAX(list->sums.size, block->size);
	list->sums.time = MAX(list->sums.time, block->time);
	if (list->sums.nr <= PIECE)
		return vec_push(&list->blocks.vec, *block);
	vec_free(&list->blocks.vec);
	return NULL;
}

/* Does a record match, as far as this can be decided without names? */
static bool matches(struct list *list, struct block *block)
{
	if (block->time > list->moment)
		return false;
	if (list->by_heap)
		set_walked(list, block);
	return filter_matches_numbers(list->source.filter, &list->source.env, block);
}

static struct err *count_record(const struct block *block, uint64_t slot UNUSED, void *ctx)
{
	struct block copy = *block;

	return matches(ctx, &copy) ? count(ctx, &copy) : NULL;
}

static struct err *count_all(struct list *list)
{
	const struct list_source *source = &list->source;
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk;
	struct err *err = NULL;

	if (source->log && source->of == LIST_BLOCKS)
		err = blocks_each(source->log, source->in_hand, count_record, list);
	while (!err && source->walk && heap_chunks_next(&source->walk->chunks, &at, &chunk)) {
		struct block block = early_block(list, &chunk);

		if (is_listed(list, &chunk) &&
		    filter_matches_numbers(source->filter, &source->env, &block))
			err = count(list, &block);
	}
	return err;
}

static struct err *cut(struct list *list)
{
	uint64_t nr = list->sums.nr / PIECE + 1;

	list->nr_pieces = (unsigned)MIN(nr, PIECES_MAX);
	list->slots = calloc(list->nr_pieces, sizeof(*list->slots));
	if (!list->slots)
		return err_nomem;
	if (list->nr_pieces == 1)
		return NULL;
	qsort(list->sample, list->nr_sampled, sizeof(*list->sample), by_place);
	for (unsigned i = 1; i < list->nr_pieces; i++)
		list->sample[i - 1] = list->sample[list->nr_sampled * i / list->nr_pieces];
	return NULL;
}

static struct err *sort_record(const struct block *block, uint64_t slot, void *ctx)
{
	struct list *list = ctx;
	struct block copy = *block;
	struct place place;

	if (!matches(list, &copy))
		return NULL;
	if (!slot)
		return vec_push(&list->hand, copy);
	if (slot > UINT32_MAX)
		return err_create(ERR_RANGE, "more than %u records", UINT32_MAX);
	place = place_of(list, &copy);
	return u32_lists_push(&list->numbers, &list->slots[piece_of(list, &place)],
			      (uint32_t)slot);
}

static struct err *add_if_of(struct list *list, const struct block *block, bool *added)
{
	struct place place = place_of(list, block);

	*added = piece_of(list, &place) == list->piece;
	return *added ? vec_push(&list->blocks.vec, *block) : NULL;
}

static struct err *read_records(struct list *list)
{
	const struct u32_list *slots = &list->slots[list->piece];
	struct u32_cursor at = u32_lists_start(&list->numbers, slots);
	struct err *err = vec_reserve(&list->blocks.vec, slots->nr);
	uint32_t slot;
	bool added;

	while (!err && u32_lists_next(&list->numbers, &at, &slot)) {
		struct log_record record;
		struct block block;

		added = false;
		if (reader_slot(list->source.log, slot, &record)) {
			block = block_of_record(&record);
			if (matches(list, &block))
				err = add_if_of(list, &block, &added);
		}
		list->gone += !added;
	}
	for (size_t i = 0; !err && i < list->hand.nr; i++)
		err = add_if_of(list, &list->hand.at[i], &added);
	return err;
}

/* In order of address a piece continues in the walk where the one before it has ended. */
static struct err *read_chunks(struct list *list)
{
	const struct list_source *source = &list->source;
	struct chunk_at at = source->order->sorted ? heap_chunks_start() : list->early_at;
	struct heap_chunk chunk;
	struct err *err = NULL;

	list->early_at = at;
	while (!err && source->walk && heap_chunks_next(&source->walk->chunks, &at, &chunk)) {
		struct block block = early_block(list, &chunk);
		struct place place;
		unsigned piece;

		if (!is_listed(list, &chunk))
			continue;
		place = place_of(list, &block);
		piece = piece_of(list, &place);
		if (piece == list->piece &&
		    filter_matches_numbers(source->filter, &source->env, &block))
			err = vec_push(&list->blocks.vec, block);
		if (piece > list->piece && !source->order->sorted)
			break;
		list->early_at = at;
	}
	return err;
}

/* list->blocks has all blocks of a piece, unsorted. */
static struct err *finish_piece(struct list *list)
{
	struct filter_order order = *list->source.order;
	struct err *err = blocks_sort(&list->blocks);

	if (err)
		return err;
	list->heap_at = heap_chunks_start();
	for (size_t i = 0; i < list->blocks.vec.nr; i++)
		set_walked(list, &list->blocks.vec.at[i]);
	order.limit = UINT64_MAX;
	list->at = 0;
	return filter_apply(list->source.filter, &order, &list->source.env, &list->blocks);
}

static struct err *read_piece(struct list *list)
{
	struct err *err;

	vec_free(&list->blocks.vec);
	err = read_records(list);
	return err ? err : read_chunks(list);
}

static struct err *make(struct list *list)
{
	struct err *err = count_all(list);

	if (err || list->sums.nr <= PIECE)
		return err;
	err = cut(list);
	if (!err && list->source.log && list->source.of == LIST_BLOCKS)
		err = blocks_each(list->source.log, list->source.in_hand, sort_record, list);
	return err ? err : read_piece(list);
}

static bool asks_for_heap(const struct filter *filter, const struct filter_order *order)
{
	bool asks = order->sorted && order->attr == FILTER_HEAP;

	for (size_t i = 0; i < filter->conds.nr; i++)
		asks |= filter->conds.at[i].attr == FILTER_HEAP;
	return asks;
}

struct err *block_list_create(const struct list_source *source, struct list **ret)
{
	struct list *list = calloc(1, sizeof(*list));
	struct err *err;

	if (!list)
		return err_nomem;
	*list = (struct list){
		.source = *source,
		.moment = source->moment ? source->moment : log_now(),
		.by_heap = asks_for_heap(source->filter, source->order),
		.random = 1,
		.sample = malloc(SAMPLE * sizeof(*list->sample)),
		.heap_at = heap_chunks_start(), .early_at = heap_chunks_start(),
		.at = SIZE_MAX,
	};
	err = list->sample ? make(list) : err_nomem;
	list->source.in_hand = NULL;
	if (err)
		block_list_free(list);
	else
		*ret = list;
	return err;
}

void block_list_free(struct list *list)
{
	if (!list)
		return;
	u32_lists_free(&list->numbers);
	vec_free(&list->hand);
	blocks_free(&list->blocks);
	free(list->slots);
	free(list->sample);
	free(list);
}

struct err *block_list_next(struct list *list, const struct block **ret)
{
	struct err *err = NULL;

	/* Names are looked up here: while the list is created the target may be stopped. */
	if (list->at == SIZE_MAX)
		err = finish_piece(list);
	while (!err && list->at == list->blocks.vec.nr && list->piece + 1 < list->nr_pieces) {
		list->piece++;
		err = read_piece(list);
		if (!err)
			err = finish_piece(list);
	}
	if (err)
		return err;
	*ret = NULL;
	if (list->at < list->blocks.vec.nr && list->given.blocks < list->source.order->limit) {
		*ret = &list->blocks.vec.at[list->at++];
		list->given.blocks++;
		list->given.bytes += (*ret)->size;
	}
	return NULL;
}

struct list_given block_list_given(const struct list *list)
{
	return list->given;
}

struct list_sums block_list_sums(const struct list *list)
{
	return list->sums;
}

uint64_t block_list_gone(const struct list *list)
{
	return list->gone;
}
