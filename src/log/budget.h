/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The budget: how much memory the log may take, where its pages are missing to somebody else.
 *
 * Pages of a shared file are charged to the control group of the process that touches them first.
 * So what the agent records is paid for by the target, at the speed of its memory: between two looks
 * of mdbg's a process can fill a hundred megabytes with new stacks, and the kernel then kills it for
 * them. Therefore the bound is where the pages are taken, and mdbg only moves it
 * (session/log_budget.h).
 *
 *	header->taken	bytes of all that writers have begun to use: pages of the directory, tables,
 *			extents, stacks, entries of the registry, and the writers' own states behind the
 *			region
 *	header->budget	up to which they may; UINT64_MAX: as far as the region goes
 *
 * Who is about to begin something new asks for it: on slow paths alone, with two words of the header
 * and no frame on the target's stack. What is refused is as if the region were full: a block that is
 * not recorded is counted in table_full, one without a stack in unstacked.
 *
 * Several writers may ask at once: the excess is one such thing for each of them, but only one of
 * them adds a table. A table counts as a whole from its first slot on, so that a budget may stop the
 * log a little early. The first table, and what has its size from the start, are not counted: some
 * 2 MB, with what mdbg faults in.
 *
 * Freestanding.
 */
#pragma once

#include "log/log_layout.h"

/* What a stack takes beside its PCs: an entry of the directory, and some places of the index. */
#define BUDGET_STACK	36u

static inline uint64_t log_left(const struct log *log)
{
	uint64_t budget = __atomic_load_n(&log->header->budget, __ATOMIC_RELAXED);
	uint64_t taken = __atomic_load_n(&log->header->taken, __ATOMIC_RELAXED);

	if (budget == UINT64_MAX)
		return UINT64_MAX;
	return budget > taken ? budget - taken : 0;
}

/* May so many bytes be taken? */
static inline bool log_may_take(const struct log *log, uint64_t bytes)
{
	return log_left(log) >= bytes;
}

/* They are. */
static inline void log_take(const struct log *log, uint64_t bytes)
{
	__atomic_fetch_add(&log->header->taken, bytes, __ATOMIC_RELAXED);
}
