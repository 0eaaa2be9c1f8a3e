/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks from the log: one scan, sorted by address. */

#include "heap/block.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/radix.h"

struct scan {
	/* Those in hand, by address, and which of them are back in the table: */
	struct log_record *hand;
	bool *back;
	size_t nr;
	struct err *(*fn)(const struct block *block, void *ctx);
	void *ctx;
	struct err *err;
};

static struct block block_of(const struct log_record *record)
{
	return (struct block){
		.address = record->address & ((1ull << LOG_PROCESS_SHIFT) - 1),
		.process = (record->address >> LOG_PROCESS_SHIFT) % LOG_PROCESSES,
		.size = record->size,
		.time = record->time,
		.thread = record->thread,
		.stack = record->stack,
		.heap = record->address & LOG_DOMAIN_USER ? LOG_HEAP_USER : record->heap,
	};
}

static int by_address(const void *a, const void *b)
{
	const struct log_record *one = a, *other = b;

	return one->address < other->address ? -1 : one->address > other->address;
}

static bool see(const struct log_record *record, void *ctx)
{
	struct scan *scan = ctx;
	struct block block = block_of(record);

	if (scan->nr) {
		struct log_record *at = bsearch(record, scan->hand, scan->nr, sizeof(*at),
						by_address);

		if (at)
			scan->back[at - scan->hand] = true;
	}
	scan->err = scan->fn(&block, scan->ctx);
	return scan->err;
}

struct err *blocks_each(const struct log *log, const struct in_hand *in_hand,
			struct err *(*fn)(const struct block *block, void *ctx), void *ctx)
{
	size_t nr = in_hand ? in_hand->vec.nr : 0;
	AUTO_FREE struct log_record *hand = calloc(nr + 1, sizeof(*hand));
	AUTO_FREE bool *back = calloc(nr + 1, sizeof(*back));
	struct scan scan = { hand, back, nr, fn, ctx, NULL };

	if (!hand || !back)
		return err_nomem;
	if (nr) {
		memcpy(hand, in_hand->vec.at, nr * sizeof(*hand));
		qsort(hand, nr, sizeof(*hand), by_address);
	}
	log_each(log, see, &scan);
	for (size_t i = 0; i < nr && !scan.err; i++) {
		struct block block = block_of(&hand[i]);

		if (!back[i])
			scan.err = fn(&block, ctx);
	}
	return scan.err;
}

static uint64_t key(const struct block *block)
{
	return block->address | (uint64_t)block->process << LOG_PROCESS_SHIFT |
	       (block->heap == LOG_HEAP_USER ? LOG_DOMAIN_USER : 0);
}

struct sample_share block_share(uint64_t mean, const struct block *block)
{
	return sample_share(block->preattach ? 0 : mean, block->size, block->time);
}

/*
 * An address that was freed and given out again during the scan, or whose block was taken in hand,
 * may be there twice: the younger one is the block. Equal keys are in no order yet, so the places are compared by time.
 */
static struct err *sort(const struct blocks *from, struct blocks *to)
{
	AUTO_FREE struct radix_item *item = NULL;
	size_t nr = from->vec.nr;
	struct err *err = vec_reserve(&to->vec, nr);

	if (err || !nr)
		return err;
	if (nr > UINT32_MAX)
		return err_create(ERR_RANGE, "more than %u blocks", UINT32_MAX);
	item = malloc(nr * sizeof(*item));
	if (!item)
		return err_nomem;
	for (size_t i = 0; i < nr; i++)
		item[i] = (struct radix_item){ key(&from->vec.at[i]), (uint32_t)i };
	err = radix_sort(item, nr);
	if (err)
		return err;
	for (size_t i = 0; i < nr; i++) {
		const struct block *block = &from->vec.at[item[i].index];
		struct block *last = to->vec.nr ? &to->vec.at[to->vec.nr - 1] : NULL;

		if (!last || key(last) != key(block))
			to->vec.at[to->vec.nr++] = *block;
		else if (block->time > last->time)
			*last = *block;
	}
	return NULL;
}

struct err *live_counts_init(const struct log *log, struct live_counts *ret)
{
	size_t nr = (size_t)log_stacks(log) + 1;
	uint64_t *at = calloc(nr, sizeof(*at));

	if (!at)
		return err_nomem;
	*ret = (struct live_counts){ at, nr, nr };
	return NULL;
}

static struct err *count_live(const struct log *log, struct blocks *blocks)
{
	uint64_t mean = log_config(log).sample;
	struct err *err = live_counts_init(log, &blocks->live);

	for (size_t i = 0; i < blocks->vec.nr && !err; i++)
		live_counts_add(&blocks->live, mean, &blocks->vec.at[i]);
	return err;
}

static struct err *add(const struct block *block, void *ctx)
{
	struct blocks *blocks = ctx;

	return vec_push(&blocks->vec, *block);
}

struct err *blocks_from_log(const struct log *log, const struct in_hand *in_hand,
			    struct blocks *ret)
{
	struct blocks found = BLOCKS_INIT, sorted = BLOCKS_INIT;
	struct err *err;

	/*
	 * As many as there are, and those that come meanwhile; but what the region says is not
	 * worth any amount of memory.
	 */
	err = vec_reserve(&found.vec, MIN(log_live(log), log_usage(log).table_slots));
	if (!err)
		err = blocks_each(log, in_hand, add, &found);
	if (!err)
		err = sort(&found, &sorted);
	if (!err)
		err = count_live(log, &sorted);
	blocks_free(&found);
	if (err) {
		blocks_free(&sorted);
		return err;
	}
	*ret = sorted;
	return NULL;
}

const struct block *blocks_before(const struct blocks *blocks, uint8_t process, uint64_t address)
{
	uint64_t wanted = key(&(struct block){ .address = address, .process = process });
	size_t low = 0, high = blocks->vec.nr;
	const struct block *block;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (key(&blocks->vec.at[middle]) <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	block = low ? &blocks->vec.at[low - 1] : NULL;
	return block && block->process == process ? block : NULL;
}

void blocks_free(struct blocks *blocks)
{
	vec_free(&blocks->vec);
	vec_free(&blocks->live);
}
