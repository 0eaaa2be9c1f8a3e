/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks of an answer for scripts. */

#include "cmd/block_values.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/each.h"
#include "cmd/query.h"
#include "cmd/shell.h"

static struct block_value value_of(const struct log *log, const struct block *block)
{
	struct block_value value = {
		.address = block->address,
		.heap = block->heap,
		.size = MIN(block->size, LOG_SIZE_MAX),
		.process = block->process,
		.free_kind = block->free_kind,
		.preattach = block->preattach,
		.thread = block->thread,
		.stack = block->stack,
	};

	if (!block->preattach && !block->free_kind) {
		value.realtime = log_clock_realtime(log, block->time);
		value.seq = log_seq(log, block->time);
	}
	return value;
}

static struct err *take_threads(const struct log *log, struct block_values *blocks)
{
	struct err *err = NULL;
	uint32_t nr = 0;

	vec_each(block, &blocks->vec)
		nr = MAX(nr, block->thread + 1);
	for (uint32_t i = 0; !err && i < nr; i++)
		err = vec_push(&blocks->threads, log_thread_get(log, i));
	return err;
}

/* All of query->list. */
static struct err *take_list(const struct call *call, const struct query *query,
			     struct block_values *ret)
{
	const struct log *log = session_log(call->session);
	const struct block *block;
	struct err *err;

	memcpy(ret->pids, session_pids(call->session), sizeof(ret->pids));
	ret->now_ns = query->now_ns;
	err = dicts_init(&ret->dicts);
	if (!err)
		err = list_next(query->list, &block);
	while (!err && block) {
		err = vec_push(&ret->vec, value_of(log, block));
		if (!err && ret->vec.nr % 1024 == 0)
			err = cancel_check();
		if (!err)
			err = list_next(query->list, &block);
	}
	return err ? err : take_threads(log, ret);
}

/* Take the blocks out of the query, whose memory and heap walk are freed before a script runs. */
static struct err *take_answer(const struct call *call,
			       struct err *(*ask)(const struct call *call, struct query *query),
			       struct block_values *ret)
{
	CLEANUP(query_free) struct query query;
	struct err *err = ask(call, &query);

	return err ? err : take_list(call, &query, ret);
}

static void block_values_free(struct block_values *blocks)
{
	vec_free(&blocks->vec);
	vec_free(&blocks->threads);
	dicts_free(&blocks->dicts);
}

struct err *block_values_give(struct call *call,
			      struct err *(*ask)(const struct call *call, struct query *query),
			      Tcl_Obj *(*dict_of)(void *ctx, size_t i), Tcl_Obj **ret)
{
	CLEANUP(block_values_free) struct block_values blocks = { .vec = VEC_INIT };
	struct err *err = take_answer(call, ask, &blocks);

	return err ? err : each_give(call, blocks.vec.nr, dict_of, &blocks, ret);
}
