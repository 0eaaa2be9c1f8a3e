/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks of an answer for scripts. */

#include "cmd/block_values.h"

#include "base/cancel.h"
#include "cmd/cmd.h"
#include "cmd/query.h"
#include "cmd/shell.h"

#define SIZE_MOST	((1ull << 48) - 1)

static struct block_value value_of(const struct log *log, const struct block *block)
{
	struct block_value value = {
		.address = block->address,
		.heap = block->heap,
		.size = MIN(block->size, SIZE_MOST),
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

struct err *block_values_take(const struct call *call, const struct query *query,
			      struct block_values *ret)
{
	const struct log *log = session_log(call->session);
	const struct block *block;
	struct err *err;

	memset(ret, 0, sizeof(*ret));
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

void block_values_free(struct block_values *blocks)
{
	vec_free(&blocks->vec);
	vec_free(&blocks->threads);
	dicts_free(&blocks->dicts);
}
