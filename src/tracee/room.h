/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How large a log a process has room for.
 *
 * What the agent needs is mapped for good and is mostly addresses: the log, a table of threads
 * (their walk caches, some 114 KB each), rows of the modules, areas. Under RLIMIT_AS addresses
 * count like memory, and the process cannot have those that mdbg takes: its malloc would return
 * NULL. So
 *
 *	no limit, or half of what is left is enough	all as asked for
 *	else	at most half of what is left: fewer threads first, but room for twice those that there are,
 *		then a smaller log
 *	else	the least that works, LOG_REGION_MIN and 16 threads, if it leaves a quarter of it
 *	else	as asked for: it cannot be mapped then, and breakpoints are taken, which need none of it
 *
 * A thread that finds no place in the table is recorded, too, but with fewer facts (agent/state.h).
 *
 * If memory is never overcommitted (vm.overcommit_memory), the log's pages count as promised
 * memory. The machine can promise only the rest of its CommitLimit, so the log takes no more memory
 * than half of that rest. (Of its addresses it fills half, log/log_layout.h.)
 *
 * Pages that are used are missing in the control groups of the process, in mdbg's, or in the machine
 * (os/memory_limits.h). A group that has none left kills, and what the process will need of them
 * nobody knows: so the log takes no more than a quarter of what they have left, and the process may
 * still grow by the other three. While mdbg is there, it moves that bound as the room changes
 * (session/log_budget.h). Where less than ROOM_LEAST is left there is no log.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "os/memory_limits.h"

struct target;

struct room_facts {
	uint64_t addresses;	/* bytes that it may still map; UINT64_MAX: any */
	uint64_t commit;	/* bytes that the machine may still promise; UINT64_MAX: any */
	uint64_t pages;		/* bytes that may still be used; UINT64_MAX: any */
	uint64_t rows;		/* bytes of the modules' rows */
	uint32_t threads;	/* number of threads now */
};

struct room {
	uint64_t log;		/* bytes of the region */
	uint32_t threads;	/* of the agent's table; a power of two */
	bool tight;		/* addresses are to be saved */
	/* Why the log is smaller than asked for, and the way out; "" if it is not. */
	char why[256], hint[128];
	struct memory_limit pages;	/* the limit on pages, as it was then */
};

#define ROOM_LEAST	(8ull << 20)	/* of pages; of which the log takes a quarter at most */
#define ROOM_PART	4u

/* Choose by these facts. The texts of *ret are not set. */
void room_choose(const struct room_facts *facts, uint64_t log, struct room *ret);
/*
 * Like room_choose, for a target whose module map was read, and with texts; by the limits that were
 * opened for it. A limit that cannot be read counts as none. ERR_NOMEM: less than ROOM_LEAST is left.
 */
struct err *room_find(struct target *target, struct memory_limits *limits, uint64_t log,
		      struct room *ret) MUST_CHECK;
