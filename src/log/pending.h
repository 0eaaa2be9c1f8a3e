/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All-time counts that are not in the stack table yet. An agent's threads keep those of their hot
 * stacks to themselves (agent/unwind_cache.h) and fold them into the table now and then: what a
 * stack has had in all is log_stack_get's total and what is pending here. For a report:
 *
 *	struct log_pending pending;
 *
 *	err = log_pending_init(log, &pending);
 *	for each thread of the agent
 *		unwind_cache_each(&thread->cache, log_pending_add, &pending);
 *	spec.pending = &pending;	(heap/site.h)
 *	log_pending_free(&pending);
 *
 * Exact while nobody writes. A count that is folded between this and the report's look at the table
 * is in both, for this once.
 */
#pragma once

#include "log/log.h"
#include "log/sample.h"

struct log_pending {
	struct sample_share *at;	/* by stack id */
	uint32_t nr;			/* ids are below it */
};

/*
 * For all stacks that there are now: pending are the counts of deferred stacks that are known as a
 * whole (deferred.h), for these.
 */
struct err *log_pending_init(const struct log *log, struct log_pending *ret) MUST_CHECK;
/* Add to a stack's counts (ctx: struct log_pending); one that was not there at init is left out. */
void log_pending_add(uint32_t stack, uint64_t blocks, uint64_t bytes, void *ctx);
void log_pending_free(struct log_pending *pending);
