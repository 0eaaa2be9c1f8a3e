/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts of stacks that are still elsewhere, added up. */

#include "log/pending.h"

#include <stdlib.h>

struct err *log_pending_init(const struct log *log, struct log_pending *ret)
{
	size_t nr = (size_t)log_stacks(log) + 1;
	struct log_pending pending = {
		.blocks = calloc(nr, sizeof(*pending.blocks)),
		.bytes = calloc(nr, sizeof(*pending.bytes)),
		.nr = (uint32_t)nr,
	};

	if (!pending.blocks || !pending.bytes) {
		log_pending_free(&pending);
		return err_nomem;
	}
	*ret = pending;
	return NULL;
}

void log_pending_add(uint32_t stack, uint64_t blocks, uint64_t bytes, void *ctx)
{
	struct log_pending *pending = ctx;

	if (stack >= pending->nr)
		return;
	pending->blocks[stack] += blocks;
	pending->bytes[stack] += bytes;
}

void log_pending_free(struct log_pending *pending)
{
	free(pending->blocks);
	free(pending->bytes);
	*pending = (struct log_pending)LOG_PENDING_INIT;
}
