/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of traps: what mdbg tells the agent's SIGTRAP handler. It lies just behind the image,
 * at offset AGENT_TABLE, in the same read-and-execute mapping; only mdbg writes it, through its own
 * access to the target's memory.
 *
 *	struct agent_table		header
 *	struct agent_trap[nr_traps]	sorted by pc
 *	struct agent_range[nr_areas]	in any order
 *	struct agent_range[nr_texts]	the mappings that the traps lie in
 *
 * Rules for the writer. All threads are stopped. The generation is changed with every change, so
 * that a thread which was stopped in the middle of a search starts it again. The mapping's room
 * never shrinks. A trap that was taken out keeps its entry as long as the handler is installed,
 * with the patched address itself as `displaced`: a thread that ran into the trap just before is
 * sent back there.
 */
#pragma once

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
	uint64_t pc;		/* PC after the trap: on x86 one past the int3 */
	uint64_t displaced;	/* where the thread is to go on */
	uint32_t text;		/* its mapping; nr_texts or more: must not be changed */
	uint32_t old;		/* the byte that the int3 has replaced */
};

#define AGENT_NO_TEXT	UINT32_MAX

struct agent_range {
	uint64_t start;
	uint64_t end;
};

struct agent_table {
	uint64_t generation;
	uint32_t nr_traps;
	uint32_t nr_areas;
	uint32_t nr_texts;
	uint32_t pad;
	uint64_t owner;		/* address of a word (journal.h, tracer); 0: there is none */
	struct agent_sigaction old;	/* the disposition of SIGTRAP that ours replaced */
	struct agent_trap trap[];
};

static inline size_t agent_table_size(uint32_t nr_traps, uint32_t nr_areas, uint32_t nr_texts)
{
	return sizeof(struct agent_table) + (size_t)nr_traps * sizeof(struct agent_trap) +
	       ((size_t)nr_areas + nr_texts) * sizeof(struct agent_range);
}

/* The ranges of executable memory that mdbg has mapped: the image, displaced prologues, stubs. */
static inline struct agent_range *agent_table_areas(const struct agent_table *table,
						    uint32_t nr_traps)
{
	return (struct agent_range *)&table->trap[nr_traps];
}

/* Private mappings of files that can be read and executed, but not written. */
static inline struct agent_range *agent_table_texts(const struct agent_table *table,
						    uint32_t nr_traps, uint32_t nr_areas)
{
	return agent_table_areas(table, nr_traps) + nr_areas;
}
