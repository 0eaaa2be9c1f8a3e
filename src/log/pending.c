/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds up the counts of stacks that are not in the stack table yet. */

#include "log/pending.h"

#include <stdlib.h>

#include "log/stack_table.h"

/* Count a deferred stack as its whole stack, if that is known. */
static void add_deferred(const struct log *log, struct log_pending *pending)
{
	for (uint32_t id = 1; id < pending->nr; id++) {
		uint32_t whole = log_stack_whole(log, id), nr;
		const struct log_stack *stack = whole == id ? NULL : stack_find(log, id, &nr);

		if (stack)
			log_pending_add(whole, __atomic_load_n(&stack->total, __ATOMIC_RELAXED),
					__atomic_load_n(&stack->total_bytes, __ATOMIC_RELAXED),
					pending);
	}
}

struct err *log_pending_init(const struct log *log, struct log_pending *ret)
{
	uint32_t nr = log_stacks(log) + 1;
	struct sample_share *at = calloc(nr, sizeof(*at));

	if (!at)
		return err_nomem;
	*ret = (struct log_pending){ at, nr };
	add_deferred(log, ret);
	return NULL;
}

void log_pending_add(uint32_t stack, uint64_t blocks, uint64_t bytes, void *ctx)
{
	struct log_pending *pending = ctx;

	if (stack >= pending->nr)
		return;
	pending->at[stack].blocks += blocks;
	pending->at[stack].bytes += bytes;
}

void log_pending_free(struct log_pending *pending)
{
	free(pending->at);
	*pending = (struct log_pending){ NULL, 0 };
}
