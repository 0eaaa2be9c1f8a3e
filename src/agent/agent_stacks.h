/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks that the agent can walk.
 *
 * A walk that leaves mapped memory would end the process. So the agent reads only where it knows
 * that memory is: the main thread's stack, and that of a thread as its control block has it
 * (agent_thread_bounds). A thread may be on any other stack: a coroutine's, an alternate one for
 * signals, a piece of a split one, a goroutine's. Of such a stack the rest of SP's page is certain,
 * and nothing else.
 *
 *	agent			a walk needs a word that is in no stack that the agent knows: it notes
 *				the address in `missed`, and asks the kernel for each such page
 *				whether it can be read (cpu_can_read, a tenth of a microsecond)
 *	mdbg			looks at `missed` with each poll (probe/known_stacks.h), and finds
 *				the mapping: its bounds go into the table `at`
 *	agent			later walks read as far as the table allows, and ask nobody
 *
 * A thread under a seccomp filter might be killed for the question, so it is asked only where no
 * thread has one (`asks`). Elsewhere a walk ends there (WALK_STACK) until mdbg has looked.
 *
 * The bounds are those of mappings, and mappings change. A stack that is in use is not unmapped,
 * and a walk reads behind its end only if unwind information is wrong. For that case mdbg reads the
 * mappings again and again while the table has entries, and gives it a time stamp (`until`) after
 * which nobody may use it: if mdbg is killed or stopped, the agent is back at the page of SP.
 *
 * The table has one writer, mdbg, and readers that never wait: `turn` is odd while it is written,
 * and a reader that sees it change takes the stack for unknown. A walk may read several stacks (the
 * caller of a coroutine, what a signal has interrupted). Words of others than the one that it began
 * on are read by agent_stacks_word, and such a walk is not remembered (struct walk_trace), since
 * the unwind cache compares slots within one stack only.
 *
 * Freestanding.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/probe_table.h"

#define AGENT_STACKS	512u
#define AGENT_MISSED	8u

struct agent_stacks {
	/* Written by the agent; stores of two threads may get lost, and then they miss again. */
	uint64_t misses;
	uint64_t missed[AGENT_MISSED];
	/* Written by mdbg. */
	uint64_t asks;
	uint64_t turn, until;
	uint64_t nr;
	struct agent_range at[AGENT_STACKS];	/* sorted, not overlapping */
};

struct agent_state;
struct ledger_thread;

/* The end of the stack of the table that holds address; 0: none does. */
uint64_t agent_stacks_end(const struct agent_stacks *stacks, uint64_t address);
/* A walk needed the word at address, which is in no known stack. */
void agent_stacks_miss(const struct agent_stacks *stacks, uint64_t address);

/* A walk of a thread whose stack memory from `low` on was given to the walk itself. */
struct agent_walk {
	const struct agent_state *state;
	struct ledger_thread *thread;	/* NULL: it has no state */
	uint64_t low, high;
	uint64_t page;			/* that can be read, as the kernel said last; 0: none */
	bool refused;			/* the kernel has said of a word that nobody can read it */
};

/* The function for walk_stack.more; ctx is a struct agent_walk. */
bool agent_stacks_word(void *ctx, uint64_t address, uint64_t *ret);
