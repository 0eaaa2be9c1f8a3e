/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of blocks for the search for leaks: made from the log, and read (packed.h). */

#include "heap/packed.h"

#include "base/limits.h"

static struct err *add_large(struct packed_list *list, struct packed_block *held, uint64_t size)
{
	if (list->large.nr >= LIMIT_LARGE_BLOCKS)
		return err_hint(limit_err("blocks", "too many of 4 GB or more", LIMIT_LARGE_BLOCKS),
				"no process has room for them: the log was damaged");
	held->large = true;
	held->size = (uint32_t)list->large.nr;
	return vec_push(&list->large, size);
}

struct err *packed_add(struct packed_list *list, const struct block *block)
{
	struct packed_block *held;
	struct err *err = NULL;

	if (list->nr >= PACKED_MOST)
		return err_create(ERR_RANGE, "more than %u blocks", PACKED_MOST);
	if (list->nr == list->room) {
		err = vec_grow((void **)&list->at, &list->room, MAX(list->nr + 1, list->most),
			       packed_stride(list));
		if (err)
			return err;
	}
	held = packed_at(list, list->nr);
	*held = (struct packed_block){ .address = block->address,
				       .user = block->heap == LOG_HEAP_USER,
				       .preattach = block->preattach,
				       .unrecorded = block->unrecorded,
				       .freed = block->freed,
				       .size = (uint32_t)block->size,
				       .stack = block->stack };
	if (block->size > UINT32_MAX)
		err = add_large(list, held, block->size);
	if (err)
		return err;
	if (list->timed) {
		packed_timed_at(list, list->nr)->time = block->time;
		packed_timed_at(list, list->nr)->thread = block->thread;
		packed_timed_at(list, list->nr)->rate = block->rate;
	}
	list->nr++;
	return NULL;
}

struct gathering {
	const struct packed_source *source;
	struct packed_list *list;
	uint64_t mean;
};

static struct err *take_block(const struct block *block, uint64_t slot UNUSED, void *ctx)
{
	struct gathering *gathering = ctx;

	if (block->process == gathering->source->process)
		return block->time <= gathering->source->until ?
			packed_add(gathering->list, block) : NULL;
	gathering->list->others++;
	live_counts_add(&gathering->list->live, gathering->mean, block);
	return NULL;
}

static struct err *gather(const struct packed_source *source, bool timed, struct packed_list *list)
{
	struct gathering gathering = { source, list, log_config(source->log).sample };
	uint64_t expected = blocks_expected(source->log);
	struct err *err = block_live_counts_init(source->log, &list->live);

	list->timed = timed;
	list->process = source->process;
	list->most = log_usage(source->log).table_slots;
	if (!err && expected)
		err = vec_grow((void **)&list->at, &list->room, expected, packed_stride(list));
	return err ? err : blocks_each(source->log, source->in_hand, take_block, &gathering);
}

/* Remove the times, in place. */
static void forget_times(struct packed_list *list)
{
	struct packed_block *to = (struct packed_block *)(void *)list->at;

	for (size_t i = 0; i < list->nr; i++) {
		struct packed_block held = packed_timed_at(list, i)->held;

		to[i] = held;
	}
	list->room = list->room * sizeof(struct packed_timed) / sizeof(struct packed_block);
	list->timed = false;
}

/* It is rare that two are at one address, and another scan is needed to find the younger one. */
struct err *packed_from_log(const struct packed_source *source, struct packed_list *ret)
{
	struct packed_list list = PACKED_INIT;
	/* A sampled block's share is by its time. */
	uint64_t mean = log_config(source->log).sample;
	bool timed = source->timed || mean;
	size_t doubles;
	struct err *err = gather(source, timed, &list);

	if (!err)
		err = packed_sort(&list, &doubles);
	if (!err && doubles && !timed) {
		packed_free(&list);
		err = gather(source, true, &list);
		if (!err)
			err = packed_sort(&list, &doubles);
		if (!err)
			forget_times(&list);
	}
	if (err) {
		packed_free(&list);
		return err;
	}
	for (size_t i = 0; i < list.nr; i++) {
		struct block block = packed_block(&list, i);

		live_counts_add(&list.live, mean, &block);
	}
	*ret = list;
	return NULL;
}

static uint16_t heap_of(const struct packed_list *list, uint64_t address)
{
	size_t low = LOWER_BOUND(i, 0, list->heaps.nr, list->heaps.at[i].from <= address);

	return low ? list->heaps.at[low - 1].heap : LOG_HEAP_UNKNOWN;
}

struct block packed_block(const struct packed_list *list, size_t i)
{
	const struct packed_block *held = packed_at(list, i);
	struct block block = {
		.address = held->address,
		.size = packed_size(list, held),
		.stack = held->stack,
		.heap = held->user ? LOG_HEAP_USER : heap_of(list, held->address),
		.preattach = held->preattach,
		.process = list->process,
		.unrecorded = held->unrecorded,
		.freed = held->freed,
	};

	if (list->timed) {
		block.time = packed_timed_at(list, i)->time;
		block.thread = packed_timed_at(list, i)->thread;
		block.rate = packed_timed_at(list, i)->rate;
	}
	return block;
}

size_t packed_behind(const struct packed_list *list, uint64_t address)
{
	return LOWER_BOUND(i, 0, list->nr_outer, packed_at(list, i)->address <= address);
}

void packed_drop_user(struct packed_list *list, bool (*fn)(const void *ctx, uint64_t address),
		      const void *ctx)
{
	size_t kept = list->nr_outer;

	for (size_t i = kept; i < list->nr; i++) {
		if (fn(ctx, packed_at(list, i)->address))
			continue;
		memmove(packed_at(list, kept), packed_at(list, i), packed_stride(list));
		kept++;
	}
	list->nr = kept;
}

void packed_free(struct packed_list *list)
{
	free(list->at);
	vec_free(&list->large);
	vec_free(&list->heaps);
	vec_free(&list->live);
	*list = (struct packed_list)PACKED_INIT;
}
