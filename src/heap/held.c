/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lists of blocks for the search for leaks: adding, sorting, looking at them (held.h).
 *
 * The sort is an American flag sort (McIlroy, Bostic, McIlroy: Engineering Radix Sort, 1993): by
 * the most significant byte in which addresses differ, each into its own part of the list, by
 * exchange; then each part by the next. It takes no memory, and parts soon fit into the caches.
 */

#include "heap/held.h"

#include <stdlib.h>
#include <string.h>

#define KEY_BITS	49u		/* address and domain */
#define DIGIT_BITS	8u
#define DIGITS		(1u << DIGIT_BITS)
#define FEW		48u		/* items from which an insertion sort is slower */

static uint64_t key_of(const struct held *held)
{
	return held->address | (uint64_t)held->user << 48;
}

static struct held_timed *timed_at(const struct held_list *list, size_t i)
{
	return (struct held_timed *)(void *)(list->at + i * sizeof(struct held_timed));
}

struct err *held_add(struct held_list *list, const struct block *block)
{
	struct held *held;
	struct err *err;

	if (list->nr >= HELD_MOST)
		return err_create(ERR_RANGE, "more than %u blocks", HELD_MOST);
	if (list->nr == list->room) {
		err = vec_grow((void **)&list->at, &list->room, list->nr + 1, held_stride(list));
		if (err)
			return err;
	}
	held = held_at(list, list->nr);
	*held = (struct held){ .address = block->address, .user = block->heap == LOG_HEAP_USER,
			       .preattach = block->preattach, .unrecorded = block->unrecorded,
			       .freed = block->freed, .size = (uint32_t)block->size,
			       .stack = block->stack };
	if (block->size > UINT32_MAX) {
		held->large = true;
		held->size = (uint32_t)list->large.nr;
		err = vec_push(&list->large, block->size);
		if (err)
			return err;
	}
	if (list->timed) {
		timed_at(list, list->nr)->time = block->time;
		timed_at(list, list->nr)->thread = block->thread;
	}
	list->nr++;
	return NULL;
}

/* --- sorting --- */

/* All moves are of one size that the compiler knows. */
#define SORT(name, type, key_of_item) \
static void name##_few(type *item, size_t nr) \
{ \
	for (size_t i = 1; i < nr; i++) { \
		type moved = item[i]; \
		uint64_t key = key_of_item(&moved); \
		size_t j = i; \
		\
		for (; j && key_of_item(&item[j - 1]) > key; j--) \
			item[j] = item[j - 1]; \
		item[j] = moved; \
	} \
} \
\
static void name(type *item, size_t nr, unsigned shift) \
{ \
	size_t next[DIGITS] = { 0 }, end[DIGITS], sum = 0; \
	\
	if (nr <= FEW) { \
		name##_few(item, nr); \
		return; \
	} \
	for (size_t i = 0; i < nr; i++) \
		next[key_of_item(&item[i]) >> shift & (DIGITS - 1)]++; \
	for (unsigned i = 0; i < DIGITS; i++) { \
		sum += next[i]; \
		end[i] = sum; \
		next[i] = sum - next[i]; \
	} \
	for (unsigned i = 0; i < DIGITS; i++) { \
		while (next[i] < end[i]) { \
			type moved = item[next[i]]; \
			unsigned to; \
			\
			while ((to = key_of_item(&moved) >> shift & (DIGITS - 1)) != i) { \
				type other = item[next[to]]; \
				\
				item[next[to]++] = moved; \
				moved = other; \
			} \
			item[next[i]++] = moved; \
		} \
	} \
	for (unsigned i = 0; shift && i < DIGITS; i++) { \
		size_t start = i ? end[i - 1] : 0; \
		\
		if (end[i] - start > 1) \
			name(item + start, end[i] - start, \
			     shift > DIGIT_BITS ? shift - DIGIT_BITS : 0); \
	} \
}

static uint64_t key_of_timed(const struct held_timed *timed)
{
	return key_of(&timed->held);
}

SORT(sort_held, struct held, key_of)
SORT(sort_timed, struct held_timed, key_of_timed)

/* The lowest bit of the first digit in which keys differ, from above. */
static unsigned first_shift(const struct held_list *list)
{
	uint64_t all = UINT64_MAX, any = 0;
	unsigned bits;

	for (size_t i = 0; i < list->nr; i++) {
		all &= key_of(held_at(list, i));
		any |= key_of(held_at(list, i));
	}
	bits = all == any ? 0 : 64 - (unsigned)__builtin_clzll(all ^ any);
	return bits > DIGIT_BITS ? bits - DIGIT_BITS : 0;
}

static bool is_younger(const struct held_list *list, size_t i, size_t than)
{
	return list->timed && timed_at(list, i)->time > timed_at(list, than)->time;
}

/* How many were left out. */
static size_t drop_doubles(struct held_list *list)
{
	size_t stride = held_stride(list), nr = 0, had = list->nr;

	for (size_t i = 0; i < had; i++) {
		bool same = nr && key_of(held_at(list, nr - 1)) == key_of(held_at(list, i));

		if (same && !is_younger(list, i, nr - 1))
			continue;
		if (!same)
			nr++;
		if (nr - 1 != i)
			memcpy(held_at(list, nr - 1), held_at(list, i), stride);
	}
	list->nr = nr;
	return had - nr;
}

static void count_outer(struct held_list *list)
{
	size_t low = 0, high = list->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (held_at(list, middle)->user)
			high = middle;
		else
			low = middle + 1;
	}
	list->nr_outer = low;
}

static size_t sort(struct held_list *list)
{
	unsigned shift = first_shift(list);
	size_t doubles;

	if (list->timed)
		sort_timed((struct held_timed *)(void *)list->at, list->nr, shift);
	else
		sort_held((struct held *)(void *)list->at, list->nr, shift);
	doubles = drop_doubles(list);
	count_outer(list);
	return doubles;
}

void held_sort(struct held_list *list)
{
	sort(list);
}

/* --- the log --- */

struct gathering {
	const struct held_source *source;
	struct held_list *list;
	uint64_t mean;
};

static struct err *take_block(const struct block *block, uint64_t slot UNUSED, void *ctx)
{
	struct gathering *gathering = ctx;

	if (block->process == gathering->source->process)
		return block->time <= gathering->source->until ? held_add(gathering->list, block) : NULL;
	gathering->list->others++;
	live_counts_add(&gathering->list->live, gathering->mean, block);
	return NULL;
}

static struct err *gather(const struct held_source *source, bool timed, struct held_list *list)
{
	struct gathering gathering = { source, list, log_config(source->log).sample };
	uint64_t expected = MIN(log_live(source->log), log_usage(source->log).table_slots);
	struct err *err = live_counts_init(source->log, &list->live);

	list->timed = timed;
	list->process = source->process;
	/* What the region says is not worth any amount of memory. */
	if (!err && expected)
		err = vec_grow((void **)&list->at, &list->room, expected, held_stride(list));
	return err ? err : blocks_each(source->log, source->in_hand, take_block, &gathering);
}

/* Leave out the times, in place. */
static void forget_times(struct held_list *list)
{
	struct held *to = (struct held *)(void *)list->at;

	for (size_t i = 0; i < list->nr; i++) {
		struct held held = timed_at(list, i)->held;

		to[i] = held;
	}
	list->room = list->room * sizeof(struct held_timed) / sizeof(struct held);
	list->timed = false;
}

static void count_live(const struct log *log, struct held_list *list)
{
	uint64_t mean = log_config(log).sample;

	for (size_t i = 0; i < list->nr; i++) {
		struct block block = held_block(list, i);

		live_counts_add(&list->live, mean, &block);
	}
}

/* Two at one address are rare, and which of them is the younger takes another scan. */
struct err *held_from_log(const struct held_source *source, struct held_list *ret)
{
	struct held_list list = HELD_INIT;
	/* A sampled block's share is by its time. */
	bool timed = source->timed || log_config(source->log).sample;
	struct err *err = gather(source, timed, &list);

	if (!err && sort(&list) && !timed) {
		held_free(&list);
		err = gather(source, true, &list);
		if (!err) {
			sort(&list);
			forget_times(&list);
		}
	}
	if (err) {
		held_free(&list);
		return err;
	}
	count_live(source->log, &list);
	*ret = list;
	return NULL;
}

/* --- looking --- */

static uint16_t heap_of(const struct held_list *list, uint64_t address)
{
	size_t low = 0, high = list->heaps.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->heaps.at[middle].from <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? list->heaps.at[low - 1].heap : LOG_HEAP_UNKNOWN;
}

struct block held_block(const struct held_list *list, size_t i)
{
	const struct held *held = held_at(list, i);
	struct block block = {
		.address = held->address,
		.size = held_size(list, held),
		.stack = held->stack,
		.heap = held->user ? LOG_HEAP_USER : heap_of(list, held->address),
		.preattach = held->preattach,
		.process = list->process,
		.unrecorded = held->unrecorded,
		.freed = held->freed,
	};

	if (list->timed) {
		block.time = timed_at(list, i)->time;
		block.thread = timed_at(list, i)->thread;
	}
	return block;
}

size_t held_behind(const struct held_list *list, uint64_t address)
{
	size_t low = 0, high = list->nr_outer;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (held_at(list, middle)->address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void held_free(struct held_list *list)
{
	free(list->at);
	vec_free(&list->large);
	vec_free(&list->heaps);
	vec_free(&list->live);
	*list = (struct held_list)HELD_INIT;
}
