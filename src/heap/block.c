/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks from the log: one scan, sorted by address. */

#include "heap/block.h"

#include <string.h>

#include "base/cleanup.h"
#include "heap/heap_chunk.h"
#include "heap/radix.h"

struct scan {
	/* Blocks in hand, by address, and which of them are back in the table: */
	struct log_record *hand;
	bool *back;
	size_t nr;
	blocks_each_fn *fn;
	void *ctx;
	struct err *err;
};

struct block block_of_record(const struct log_record *record)
{
	return (struct block){
		.address = record->address & ((1ull << LOG_PROCESS_SHIFT) - 1),
		.process = (record->address >> LOG_PROCESS_SHIFT) % LOG_PROCESSES,
		.size = record->size,
		.time = record->time,
		.thread = record->thread,
		.stack = record->stack,
		.heap = record->address & LOG_DOMAIN_USER ? LOG_HEAP_USER : record->heap,
		.rate = record->rate,
	};
}

struct block block_of_chunk(const struct heap_chunk *chunk, uint8_t process, bool complete)
{
	bool held = chunk_held(chunk);

	return (struct block){
		.address = chunk->address,
		.size = held ? chunk_usable(chunk) : chunk->size,
		.usable = held ? chunk_usable(chunk) : 0,
		.heap = chunk->heap,
		.preattach = true,
		.unrecorded = held && !complete,
		.process = process,
		.free_kind = held ? 0 : chunk->kind,
	};
}

COMPARE_BY(by_address, struct log_record, x, x->address)

static bool see(const struct log_record *record, uint64_t slot, void *ctx)
{
	struct scan *scan = ctx;
	struct block block = block_of_record(record);

	if (scan->nr) {
		struct log_record *at = bsearch(record, scan->hand, scan->nr, sizeof(*at),
						by_address);

		if (at)
			scan->back[at - scan->hand] = true;
	}
	scan->err = scan->fn(&block, slot, scan->ctx);
	return scan->err;
}

struct err *blocks_each(const struct log *log, const struct in_hand *in_hand,
			blocks_each_fn *fn, void *ctx)
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
	reader_each(log, see, &scan);
	for (size_t i = 0; i < nr && !scan.err; i++) {
		struct block block = block_of_record(&hand[i]);

		if (!back[i])
			scan.err = fn(&block, 0, ctx);
	}
	return scan.err;
}

struct sample_share block_share(uint64_t mean, const struct block *block)
{
	if (block->preattach || !mean)
		return (struct sample_share){ 1, block->size };
	return sample_share(sample_mean(mean, block->rate), block->size, block->time);
}

/* Equal keys are in no order yet, so they are compared by time. */
struct err *blocks_sort(struct blocks *blocks)
{
	AUTO_FREE struct radix_item *item = NULL;
	struct blocks sorted = BLOCKS_INIT;
	size_t nr = blocks->vec.nr;
	struct err *err = vec_reserve(&sorted.vec, nr);

	if (err || !nr)
		return err;
	if (nr > UINT32_MAX)
		err = err_create(ERR_RANGE, "more than %u blocks", UINT32_MAX);
	item = err ? NULL : malloc(nr * sizeof(*item));
	if (!err && !item)
		err = err_nomem;
	for (size_t i = 0; i < nr && !err; i++)
		item[i] = (struct radix_item){ block_key(&blocks->vec.at[i]), (uint32_t)i };
	if (!err)
		err = radix_sort(item, nr);
	for (size_t i = 0; i < nr && !err; i++) {
		const struct block *block = &blocks->vec.at[item[i].index];
		struct block *last = sorted.vec.nr ? &sorted.vec.at[sorted.vec.nr - 1] : NULL;

		if (!last || block_key(last) != block_key(block))
			sorted.vec.at[sorted.vec.nr++] = *block;
		else if (block->time > last->time)
			*last = *block;
	}
	if (err) {
		vec_free(&sorted.vec);
		return err;
	}
	vec_free(&blocks->vec);
	memcpy(&blocks->vec, &sorted.vec, sizeof(sorted.vec));
	return NULL;
}

struct err *block_live_counts_init(const struct log *log, struct live_counts *ret)
{
	size_t nr = (size_t)reader_stacks(log) + 1;
	struct sample_share *at = calloc(nr, sizeof(*at));

	if (!at)
		return err_nomem;
	*ret = (struct live_counts){ at, nr, nr };
	return NULL;
}

static struct err *add(const struct block *block, uint64_t slot UNUSED, void *ctx)
{
	struct blocks *blocks = ctx;

	return vec_push(&blocks->vec, *block);
}

uint64_t blocks_expected(const struct log *log)
{
	uint64_t live = reader_live(log);

	return live <= log_usage(log).table_slots ? live : 0;
}

struct err *blocks_from_log(const struct log *log, const struct in_hand *in_hand,
			    struct blocks *ret)
{
	struct blocks found = BLOCKS_INIT;
	struct err *err;

	/* The vector grows if more come meanwhile. */
	err = vec_reserve(&found.vec, blocks_expected(log));
	if (!err)
		err = blocks_each(log, in_hand, add, &found);
	if (!err)
		err = blocks_sort(&found);
	if (!err)
		err = block_live_counts_init(log, &found.live);
	for (size_t i = 0; i < found.vec.nr && !err; i++)
		live_counts_add(&found.live, log_config(log).sample, &found.vec.at[i]);
	if (err)
		blocks_free(&found);
	else
		*ret = found;
	return err;
}

void blocks_free(struct blocks *blocks)
{
	vec_free(&blocks->vec);
	vec_free(&blocks->live);
}

const char *block_heap_name(uint16_t heap)
{
	switch (heap) {
	case LOG_HEAP_MMAP:
		return "mmap";
	case LOG_HEAP_USER:
		return "user";
	case LOG_HEAP_UNKNOWN:
		return "-";
	default:
		return NULL;
	}
}
