/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All-time counts of all stacks, at one moment. An agent's threads keep those of their hot stacks
 * to themselves (agent/unwind_cache.h) and fold them into the stack table now and then: what a
 * stack has had in all is what is in the table and what its threads keep.
 *
 *	struct log_totals totals;
 *
 *	err = log_totals_init(log, &totals);
 *	log_totals_begin(log, &totals);
 *	for each thread of the agent, each of its counts
 *		log_totals_add(&totals, log_deferred_whole(log, stack), blocks, bytes);
 *	log_totals_end(&totals);	and again from log_totals_begin on, if something was folded
 *	scan the live blocks
 *	spec.totals = &totals;			(heap/site.h)
 *	log_totals_free(&totals);
 *
 * session_agent_totals does this up to the scan. A thread's counts are added only if its cache has
 * stayed as it was while they were read: unwind_cache_turn is even before, and the same afterwards.
 * What is taken for an entry otherwise may be none.
 *
 * Why the figures of a site hold together while the target runs on
 *
 * Let T be the count that is read here, before the scan, and L the number of the stack's blocks
 * that the scan finds live. All-time is given as max(T, L), and freed as max(T, L) - L. So all-time
 * is never less than held, and is held and freed together. Each figure is also true by itself:
 *
 *	count last	A writer counts a block after it has published its record (log/ledger_events.h,
 *			agent/fast_path.c). A block that is in T was in the table before the scan began:
 *			the scan finds it, or it was freed. So at least T - L blocks were freed.
 *	no loss in T	T is no more than there were: the table is read before what threads keep, and
 *			a thread takes an entry out before it adds that to the table. A count that is
 *			folded between these two looks is missed, never met twice.
 *	all-time	There were T blocks before the scan, and L at its end at least. So max(T, L) is
 *			a value that the stack's count had while the answer was made.
 *
 * What was missed because it was being folded is found by reading once more: the larger of two
 * readings is the better one, and both were made before the scan. What a scan of a running target
 * cannot know is left out of "freed": blocks that were allocated and freed since T was read.
 *
 * A count that is taken back (an inner call's block turns out to be the outer one's) was put off
 * until that was known, wherever the ledger knows of the outer call (log/ledger.h). Where it does
 * not, T may have one block too much for each thread that is in such a call at that moment.
 */
#pragma once

#include "log/log.h"
#include "log/sample.h"

struct log_totals {
	struct sample_share *at;	/* by stack id */
	struct sample_share *reading;	/* the one that is under way */
	uint32_t nr;			/* ids are below it */
	uint64_t begin_ns;		/* since when, by the clock; 0: since the log began */
};

/* For all stacks that there are now; nothing is counted yet. */
struct err *log_totals_init(const struct log *log, struct log_totals *ret) MUST_CHECK;
/*
 * Begin a reading with the counts of the table: those of deferred stacks that are known as a whole
 * (log_deferred.h) are counted to these.
 */
void log_totals_begin(const struct log *log, struct log_totals *totals);
/* Add to a stack's counts; one that was not there at init is left out. */
void log_totals_add(struct log_totals *totals, uint32_t stack, uint64_t blocks, uint64_t bytes);
/* Keep of this reading what is more than was read before. */
void log_totals_end(struct log_totals *totals);
void log_totals_free(struct log_totals *totals);
