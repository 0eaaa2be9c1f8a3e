/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc allocations` and `malloc freespace`. */

#include "answer/block_rows.h"

#include <stdlib.h>

#include "answer/stack_names.h"
#include "answer/typed_blocks.h"
#include "base/cancel.h"
#include "base/str.h"
#include "base/vec.h"
#include "heap/block_list.h"
#include "heap/heap_chunk.h"

#define IS(kind, member)	COLUMN(kind, struct block_row, member)
#define RECORDED		COLUMN_WITH(struct block_row, recorded)

static const struct column block_columns[] = {
	{ "address", "ADDRESS", NULL, IS(ADDRESS, address), .flags = COLUMN_BRIEF, .width = 19 },
	{ "size", ">SIZE", "bytes asked for", IS(BYTES, size), .flags = COLUMN_BRIEF, .width = 11 },
	{ "heap", "HEAP", NULL, IS(HEAP, heap), .width = 6, .leaves = 6 },
	{ "pid", "PID", NULL, IS(NUMBER, pid), .width = 8, .leaves = 2 },
	{ "thread", "THREAD", "LWP id", IS(NUMBER, thread), .flags = COLUMN_0_UNKNOWN,
	  .width = 8, .leaves = 5 },
	{ "pthread", "PTHREAD_T", NULL, IS(ADDRESS, pthread), .flags = COLUMN_0_UNKNOWN,
	  .width = 19, .leaves = 1 },
	{ "time", "CLOCKTIME", "seconds since the epoch", IS(TIME, time), RECORDED, .width = 12,
	  .leaves = 4 },
	{ "age", ">AGE", "seconds", IS(AGE, age), RECORDED,
	  .flags = COLUMN_BRIEF | COLUMN_VERBOSE | COLUMN_NOT_EXPORTED,
	  .width = 9, .leaves = 7 },
	{ "seq", "SEQ", "order of allocation", IS(NUMBER, seq), RECORDED, .width = 11, .leaves = 3 },
	{ "preattach", NULL, "1: it is in no record", IS(NUMBER, preattach) },
	{ "stack", NULL, "for mdbg::frames", IS(STACK, stack) },
	{ "usable", ">USABLE", "bytes that malloc_usable_size gives; - where not walked",
	  IS(BYTES, usable), .flags = COLUMN_0_UNKNOWN | COLUMN_VERBOSE, .width = 11, .leaves = 8 },
	{ "type", "TYPE", "`?`: it is not known; - where it was not asked for (-v, or a FILTER by type)",
	  IS(TEXT, type), .flags = COLUMN_0_UNKNOWN | COLUMN_VERBOSE, .width = 21, .leaves = 9 },
	{ "function", "FUNCTION", NULL, IS(TEXT, function),
	  .flags = COLUMN_BRIEF | COLUMN_NOT_IN_TCL | COLUMN_NOT_EXPORTED },
};

const struct relation block_relation = RELATION("allocations", block_columns, struct block_row);

static const struct column chunk_columns[] = {
	{ "address", "ADDRESS", NULL, COLUMN(ADDRESS, struct chunk_row, address),
	  .flags = COLUMN_BRIEF },
	{ "size", ">SIZE", "with the header", COLUMN(BYTES, struct chunk_row, size),
	  .flags = COLUMN_BRIEF },
	{ "heap", "HEAP", NULL, COLUMN(HEAP, struct chunk_row, heap), .flags = COLUMN_BRIEF },
	{ "kind", "KIND", "tcache fastbin bin top", COLUMN(TEXT, struct chunk_row, kind),
	  .flags = COLUMN_BRIEF },
};

const struct relation chunk_relation = RELATION("freespace", chunk_columns, struct chunk_row);

/*
 * A block as it is kept in memory, without what many blocks have in common. Its age follows from
 * realtime and the time of the answer. realtime and seq are 0 if they are not known. type is the
 * number that struct typed_blocks has for it.
 */
struct packed {
	uint64_t address : 48, heap : 16;
	uint64_t size : 48, process : 8, free_kind : 4, preattach : 1;
	uint64_t realtime;
	uint64_t seq;
	uint64_t usable : 44, type : 20;
	uint32_t thread, stack;
};

_Static_assert(sizeof(struct packed) == 48, "there are millions");

static struct packed pack(const struct log *log, const struct block *block)
{
	struct packed value = {
		.address = block->address,
		.heap = block->heap,
		.size = MIN(block->size, LOG_SIZE_MAX),
		.process = block->process,
		.free_kind = block->free_kind,
		.preattach = block->preattach,
		.usable = MIN(block->usable, (1ull << 44) - 1),
		.thread = block->thread,
		.stack = block->stack,
	};

	if (!block->preattach && !block->free_kind) {
		value.realtime = log_clock_realtime(log, block->time);
		value.seq = log_clock_seq(log, block->time);
	}
	return value;
}

static struct block_row unpack(const struct packed *block, const pid_t *pids,
			       struct log_thread_view thread, uint64_t now_ns)
{
	struct block_row row = {
		.address = block->address,
		.size = block->size,
		.usable = block->usable,
		.heap = block->heap,
		.pid = pids[block->process],
		.preattach = block->preattach,
		.stack = block->stack,
	};

	if (block->preattach)
		return row;
	row.recorded = true;
	row.thread = thread.lwp;
	row.pthread = thread.thread_pointer;
	row.time = block->realtime;
	row.age = MAX(now_ns, block->realtime) - block->realtime;
	row.seq = block->seq;
	return row;
}

struct block_row block_row_of(const struct block_source *source, const struct block *block)
{
	const struct packed value = pack(source->log, block);
	struct log_thread_view thread = { 0 };
	struct block_row row;

	if (!block->preattach)
		thread = reader_thread(source->log, block->thread);
	row = unpack(&value, source->pids, thread, source->now_ns);
	if (source->typed)
		row.type = typed_blocks_name(source->typed,
					     typed_blocks_of(source->typed, block).number);
	return row;
}

/* Rows that are read from the list. */
struct streamed {
	struct block_source source;
	struct block_row row;
	struct str function;
};

static struct err *name_function(struct streamed *streamed, const struct block *block)
{
	struct err *err;

	str_clear(&streamed->function);
	err = block->preattach ?
		      str_add(&streamed->function, no_stack_text(block->unrecorded)) :
		      stack_names_headline(streamed->source.names, block->stack,
					   &streamed->function);
	streamed->row.function = str_text(&streamed->function);
	return err;
}

static struct err *next_streamed(void *ctx, const void **ret)
{
	struct streamed *streamed = ctx;
	const struct block *block;
	struct err *err = block_list_next(streamed->source.list, &block);

	*ret = NULL;
	if (err || !block)
		return err;
	streamed->row = block_row_of(&streamed->source, block);
	*ret = &streamed->row;
	return streamed->source.names ? name_function(streamed, block) : NULL;
}

static void streamed_free(void *ctx)
{
	struct streamed *streamed = ctx;

	str_free(&streamed->function);
	free(streamed);
}

struct err *block_rows(const struct block_source *source, struct answer *ret)
{
	struct streamed *streamed = calloc(1, sizeof(*streamed));

	if (!streamed)
		return err_nomem;
	streamed->source = *source;
	*ret = (struct answer){ .of = &block_relation, .nr = block_list_sums(source->list).nr,
			      .next = next_streamed, .free = streamed_free, .ctx = streamed };
	return NULL;
}

/* Rows that are in memory. */
struct kept {
	VEC(struct packed) vec;
	/* by number of the thread, up to the highest that a block has */
	VEC(struct log_thread_view) threads;
	VEC(char *) types;		/* by number; empty: rows have no type */
	pid_t pids[LOG_PROCESSES];
	uint64_t now_ns;
	size_t done;
	struct block_row row;
	struct chunk_row chunk;
};

static const struct packed *take_packed(struct kept *kept)
{
	return kept->done < kept->vec.nr ? &kept->vec.at[kept->done++] : NULL;
}

static struct err *next_block(void *ctx, const void **ret)
{
	struct kept *kept = ctx;
	const struct packed *block = take_packed(kept);

	*ret = block ? &kept->row : NULL;
	if (!block)
		return NULL;
	kept->row = unpack(block, kept->pids, kept->threads.at[block->thread], kept->now_ns);
	kept->row.type = kept->types.nr ? kept->types.at[block->type] : NULL;
	return NULL;
}

static struct err *next_chunk(void *ctx, const void **ret)
{
	struct kept *kept = ctx;
	const struct packed *chunk = take_packed(kept);

	*ret = chunk ? &kept->chunk : NULL;
	if (chunk)
		kept->chunk = (struct chunk_row){ chunk->address, chunk->size,
						  heap_chunk_kind(chunk->free_kind), chunk->heap };
	return NULL;
}

static void kept_free(void *ctx)
{
	struct kept *kept = ctx;

	vec_free(&kept->vec);
	vec_free(&kept->threads);
	vec_each_value(type, &kept->types)
		free(type);
	vec_free(&kept->types);
	free(kept);
}

static struct err *take_list(const struct block_source *source, struct kept *kept)
{
	const struct block *block;
	struct err *err = block_list_next(source->list, &block);

	while (!err && block) {
		struct packed packed = pack(source->log, block);

		if (source->typed)
			packed.type = typed_blocks_of(source->typed, block).number;
		err = vec_push(&kept->vec, packed);
		if (!err && kept->vec.nr % 1024 == 0)
			err = cancel_check();
		if (!err)
			err = block_list_next(source->list, &block);
	}
	return err;
}

static struct err *take_threads(const struct log *log, struct kept *kept)
{
	struct err *err = NULL;
	uint32_t nr = 0;

	vec_each(block, &kept->vec)
		nr = MAX(nr, block->thread + 1);
	for (uint32_t i = 0; !err && i < nr; i++)
		err = vec_push(&kept->threads, reader_thread(log, i));
	return err;
}

static struct err *take_types(const struct typed_blocks *typed, struct kept *kept)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && typed && i < typed->texts.vec.nr; i++) {
		char *name = strdup(typed->texts.vec.at[i]);

		err = name ? vec_push(&kept->types, name) : err_nomem;
		if (err)
			free(name);
	}
	return err;
}

struct err *block_rows_pack(const struct block_source *source, const struct relation *of,
			    struct answer *ret)
{
	struct kept *kept = calloc(1, sizeof(*kept));
	struct err *err;

	if (!kept)
		return err_nomem;
	memcpy(kept->pids, source->pids, sizeof(kept->pids));
	kept->now_ns = source->now_ns;
	err = take_list(source, kept);
	if (!err)
		err = take_threads(source->log, kept);
	if (!err)
		err = take_types(source->typed, kept);
	*ret = (struct answer){ .of = of, .nr = kept->vec.nr, .free = kept_free, .ctx = kept,
			      .next = of == &block_relation ? next_block : next_chunk };
	if (err)
		answer_free(ret);
	return err;
}
