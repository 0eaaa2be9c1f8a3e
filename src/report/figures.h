/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures of `malloc`, and how they are printed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "log/log.h"
#include "session/heap.h"

struct out;
struct runtimes;
struct session;

struct figures {
	const char *allocator;		/* "glibc 2.36 (ptmalloc)"; the session's */
	bool with_log;			/* false: all of the log is 0, as for a core */
	const char *core;		/* file, the session's; NULL: a process. All of the log is 0 then */
	unsigned jump, breakpoint;	/* probes that are in */
	bool armed;
	uint32_t stack_depth;
	uint64_t sample;
	uint32_t free_history;		/* frees that are remembered */
	uint64_t since_ns, now_ns;	/* since the epoch: when the log began, and now */
	uint64_t records, record_bytes;
	uint64_t user_bytes, user_blocks;	/* held of allocators that the user has named: part of others' */
	/*
	 * Held of the others: what the records stand for, added up, and (unless the log samples, as
	 * they are counted then already) those from before the attach:
	 */
	uint64_t bytes, blocks;
	uint64_t early_bytes, early_blocks;	/* of these, in no record */
	struct session_heap heap;
	uint64_t *recorded;		/* by heap: blocks there of which there is a record */
	uint64_t allocs, frees;		/* recorded or passed over by sampling */
	/* As of the records: what was recorded is what was freed or replaced, and the records. */
	struct log_accounts accounts;
	struct log_usage usage;
	uint64_t stacks;
	const struct runtimes *runtimes;	/* whose heaps are in no figure; the session's */
};

/* how: are there to be figures by heap? ERR_STATE before the first attach. */
struct err *figures_get(struct session *session, enum session_heap_how how,
			struct figures *ret) MUST_CHECK;
void figures_free(struct figures *figures);

/* Bytes that a heap has acquired from the kernel; together they are the arena's system_mem. */
struct figures_acquired {
	uint64_t sbrk, mmap;
};

/* Of a heap that was walked. */
struct figures_acquired figures_acquired(const struct figures *figures, size_t number);
/* verbose: each probe with its reason, the log's memory, all accounts. */
struct err *figures_print(struct session *session, const struct figures *figures, bool verbose,
			  struct out *out) MUST_CHECK;
