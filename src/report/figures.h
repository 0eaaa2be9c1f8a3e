/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures of `malloc`, and how they are printed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "heap/free_space.h"
#include "log/log.h"
#include "os/page_runs.h"
#include "session/cost/session_cost.h"
#include "session/heap.h"

struct out;
struct runtimes;
struct session;

struct figures {
	const char *allocator;		/* "glibc 2.36 (ptmalloc)"; it is the session's */
	bool with_log;			/* false, as for a core: all figures of the log are 0 */
	const char *core;		/* its file, the session's; NULL: a process */
	unsigned jump, breakpoint;	/* probes that are in */
	bool armed;
	uint32_t stack_depth;
	uint64_t sample;
	bool measured;			/* cost is known: the log samples */
	struct session_cost cost;
	uint32_t free_history;		/* frees that are remembered */
	uint64_t since_ns, now_ns;	/* since the epoch: when the log began, and now */
	/* records that are younger do not belong to the moment of the walk */
	uint64_t until;
	uint64_t records, record_bytes;
	uint64_t user_bytes, user_blocks;	/* of `probe` allocators, inside the blocks below */
	/*
	 * Held blocks of all other allocators: the sum of what the records stand for, and the
	 * blocks from before the attach. (If the log samples, the sum estimates those, too, so they
	 * are not added.)
	 */
	uint64_t bytes, blocks;
	uint64_t early_bytes, early_blocks;	/* those of them that are in no record */
	struct heaps heap;
	/*
	 * Why its free memory is resident, if it is known which pages are (not of a core file): else
	 * only bytes and cached are known.
	 */
	struct free_space space;
	struct page_runs pages;
	bool paged;
	uint64_t *recorded;		/* by heap: how many of its blocks have a record */
	uint64_t allocs, frees;		/* recorded or passed over by sampling */
	/*
	 * Accounts that agree with the records: each recorded allocation was freed or replaced, or
	 * has a record.
	 */
	struct log_accounts accounts;
	struct log_usage usage;
	uint64_t stacks;
	const struct runtimes *runtimes;	/* their heaps are in no figure; the session's */
};

/* how says whether there are figures by heap. ERR_STATE before the first attach. */
struct err *figures_get(struct session *session, enum session_heap_how how,
			struct figures *ret) MUST_CHECK;
void figures_free(struct figures *figures);

/*
 * "1 of 120 blocks, by weights; 0.8 % of processor time, of 1 % at most". breakpoints: how many
 * probes stop the process, which is not measured. It ends no line.
 */
void figures_print_cost(const struct session_cost *cost, unsigned breakpoints, struct out *out);

/* "one in 4096 bytes; " or, at a rate that records all, "none now; ", and then the text. */
void figures_print_mean(const struct figures *figures, const char *then, struct out *out);

/* The bytes that a heap has acquired from the kernel; together they are the arena's system_mem. */
struct figures_acquired {
	uint64_t sbrk, mmap;
};

/* The same of all heaps together. */
uint64_t figures_acquired_by_all(const struct figures *figures);
/* Get them for a heap that was walked. */
struct figures_acquired figures_acquired(const struct figures *figures, size_t number);
/* verbose adds each probe with its reason, the log's memory and all accounts. */
struct err *figures_print(struct session *session, const struct figures *figures, bool verbose,
			  struct out *out) MUST_CHECK;
