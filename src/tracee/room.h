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
 * than half of that rest. (Of its addresses it fills half, log/layout.h.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct target;

struct room_facts {
	uint64_t addresses;	/* bytes that it may still map; UINT64_MAX: any */
	uint64_t commit;	/* bytes that the machine may still promise; UINT64_MAX: any */
	uint64_t rows;		/* bytes of the modules' rows */
	uint32_t threads;	/* number of threads now */
};

struct room {
	uint64_t log;		/* bytes of the region */
	uint32_t threads;	/* of the agent's table; a power of two */
	bool tight;		/* addresses are to be saved */
	/* Why the log is smaller than asked for, and the way out; "" if it is not. */
	char why[192], hint[128];
};

/* Choose by these facts. The texts of *ret are not set. */
void room_choose(const struct room_facts *facts, uint64_t log, struct room *ret);
/*
 * Like room_choose, for a target whose module map was read, and with texts. A limit that cannot be
 * read counts as none.
 */
void room_find(struct target *target, uint64_t log, struct room *ret);

/* Returns the soft RLIMIT_AS of a process; UINT64_MAX: there is none. */
uint64_t room_address_limit(pid_t tid);
