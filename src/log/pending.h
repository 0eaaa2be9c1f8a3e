/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All-time counts that are not in the stack table yet. The agent's threads keep the counts of their
 * hot stacks in their own caches (agent/unwind_cache.h) and add them to the table now and then. So
 * the total of a stack is that of log_stack_get plus what is pending here. For a report:
 *
 *	struct log_pending pending;
 *
 *	err = log_pending_init(log, &pending);
 *	for each thread of the agent
 *		unwind_cache_each(&thread->cache, log_pending_add, &pending);
 *	spec.pending = &pending;	(heap/site.h)
 *	log_pending_free(&pending);
 *
 * The sums are exact while nobody writes. If a count is added to the table between this and the
 * report's look at the table, this report counts it twice.
 */
#pragma once

#include "log/log.h"
#include "log/sample.h"

struct log_pending {
	struct sample_share *at;	/* by stack id */
	uint32_t nr;			/* ids are below it */
};

/*
 * Make room for all stacks that there are now. The counts of deferred stacks whose whole stacks are
 * known (deferred.h) become pending for the whole ones.
 */
struct err *log_pending_init(const struct log *log, struct log_pending *ret) MUST_CHECK;
/*
 * Add to a stack's counts (ctx: struct log_pending). Stacks that are newer than log_pending_init
 * are left out.
 */
void log_pending_add(uint32_t stack, uint64_t blocks, uint64_t bytes, void *ctx);
void log_pending_free(struct log_pending *pending);
