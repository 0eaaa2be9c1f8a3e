/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of traps: what mdbg tells the agent's SIGTRAP handler. It lies just behind the image,
 * at offset AGENT_TABLE, in the same read-and-execute mapping; only mdbg writes it, through its own
 * access to the target's memory.
 *
 *	struct agent_table		header
 *	struct agent_trap[nr_traps]	sorted by pc
 *	struct agent_range[nr_areas]	in any order
 *
 * Rules for the writer. All threads are stopped. The generation is changed with every change, so
 * that a thread which was stopped in the middle of a search starts it again. The mapping's room
 * never shrinks. A trap that was taken out keeps its entry as long as the handler is installed,
 * with the patched address itself as `displaced`: a thread that ran into the trap just before finds
 * its way back.
 */
#ifndef AGENT_TABLE_H
#define AGENT_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* The kernel's struct sigaction on 64-bit processors with a restorer. */
struct agent_sigaction {
	uint64_t handler;
	uint64_t flags;
	uint64_t restorer;
	uint64_t mask;
};

struct agent_trap {
	uint64_t pc;		/* as it is when the trap has stopped: on x86 one past the int3 */
	uint64_t displaced;	/* where the thread is to go on */
};

struct agent_range {
	uint64_t start;
	uint64_t end;
};

struct agent_table {
	uint64_t generation;
	uint32_t nr_traps;
	uint32_t nr_areas;
	struct agent_sigaction old;	/* the disposition of SIGTRAP that ours replaced */
	struct agent_trap trap[];
};

static inline size_t agent_table_size(uint32_t nr_traps, uint32_t nr_areas)
{
	return sizeof(struct agent_table) + (size_t)nr_traps * sizeof(struct agent_trap) +
	       (size_t)nr_areas * sizeof(struct agent_range);
}

/* The ranges of executable memory that mdbg has mapped: the image, displaced prologues, stubs. */
static inline struct agent_range *agent_table_areas(const struct agent_table *table,
						    uint32_t nr_traps)
{
	return (struct agent_range *)&table->trap[nr_traps];
}

#endif
