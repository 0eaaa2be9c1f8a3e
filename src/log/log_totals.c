/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All-time counts of stacks, wherever they are kept. */

#include "log/log_totals.h"

#include <stdlib.h>
#include <string.h>

#include "log/stack_table.h"

struct err *log_totals_init(const struct log *log, struct log_totals *ret)
{
	uint32_t nr = reader_stacks(log) + 1;
	struct sample_share *at = calloc(2 * (size_t)nr, sizeof(*at));

	if (!at)
		return err_nomem;
	*ret = (struct log_totals){ at, at + nr, nr, 0 };
	return NULL;
}

void log_totals_begin(const struct log *log, struct log_totals *totals)
{
	memset(totals->reading, 0, totals->nr * sizeof(*totals->reading));
	for (uint32_t id = 1; id < totals->nr; id++) {
		uint32_t nr;
		const struct log_stack *stack = stack_table_find(log, id, &nr);

		if (stack)
			log_totals_add(totals, log_deferred_whole(log, id),
				       __atomic_load_n(&stack->total, __ATOMIC_ACQUIRE),
				       __atomic_load_n(&stack->total_bytes, __ATOMIC_ACQUIRE));
	}
}

void log_totals_add(struct log_totals *totals, uint32_t stack, uint64_t blocks, uint64_t bytes)
{
	if (stack >= totals->nr)
		return;
	totals->reading[stack].blocks += blocks;
	totals->reading[stack].bytes += bytes;
}

/*
 * A reading may be below 0 if a count was just being taken back: then it counts as 0. (An entry
 * that has counted more than it may is the target's own doing.)
 */
void log_totals_end(struct log_totals *totals)
{
	for (uint32_t id = 0; id < totals->nr; id++) {
		struct sample_share *kept = &totals->at[id], read = totals->reading[id];

		if (read.blocks > kept->blocks && (int64_t)read.blocks > 0)
			*kept = read;
	}
}

void log_totals_free(struct log_totals *totals)
{
	free(totals->at);
	*totals = (struct log_totals){ .at = NULL };
}
