/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts of stacks that are still elsewhere, added up. */

#include "log/pending.h"

#include <stdlib.h>

struct err *log_pending_init(const struct log *log, struct log_pending *ret)
{
	uint32_t nr = log_stacks(log) + 1;
	struct sample_share *at = calloc(nr, sizeof(*at));

	if (!at)
		return err_nomem;
	*ret = (struct log_pending){ at, nr };
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
