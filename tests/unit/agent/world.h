/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent's image and all that mdbg would have laid down for it, in the test itself: a state that
 * is wiped on fork, a log, thread states, probes; and a stack of the test's own, on which calls of
 * thunks are made up.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/state.h"
#include "ledger_scripts.h"

#define WORLD_RA	0x1234500

struct world {
	uint8_t *image;
	struct agent_state *state;
	struct log log;
	struct agent_thread *threads;
	struct walk_map map;
	uint8_t *stack, *stack_end;	/* two pages, and one behind them that nobody can read */
	/* probes that may take the fast path do, from world_reset on */
	bool fast;
};

extern struct world world;

/* 0 or -1. */
int world_create(void);
int world_destroy(void);
/* An empty log which defers no stacks, thread states as at the beginning, no bounds of a main stack. */
void world_reset(void);

/* Makes the made-up stack the main one, whose bounds the agent knows; until the next world_reset. */
void world_bound_stack(void);

/* A log that samples (0: that does not), and its probes. */
void world_sample(uint64_t mean);
/* A log that remembers the last nr frees, 0: none; not one that samples. */
void world_provenance(uint32_t nr);
/* Do free and realloc say the size of a block by the word before it? */
void world_head(bool headed);
/* The agent's table of threads: NULL, or world.threads again. */
void world_threads(struct agent_thread *threads);

/* A frame on the made-up stack: the larger depth, the lower SP. */
struct agent_frame *world_frame(unsigned depth);
/* What a thunk does with a frame of its own. */
uint64_t world_enter(struct agent_frame *frame, enum script_function probe);
void world_leave(struct agent_frame *frame, enum script_function probe, uint64_t ax);
void world_release(uint64_t sp, enum script_function probe, uint64_t block);

/* A call at a depth, from its entry to its return, with nothing inside. */
void world_new(unsigned depth, enum script_function probe, uint64_t size, uint64_t block);
void world_free(unsigned depth, enum script_function probe, uint64_t block);
/*
 * Its entry, and its return: the arguments stay in the frame. Only those that are `entered` have an
 * entry.
 */
uint64_t world_begin(unsigned depth, enum script_function probe, uint64_t a, uint64_t b, uint64_t c);
void world_end(unsigned depth, enum script_function probe, uint64_t ax);

/*
 * Bytes of stack that the agent takes below SP at a thunk's call, here that of world_leave with the
 * frame on the made-up stack at this depth.
 */
uint64_t world_leave_bytes(unsigned depth, enum script_function probe, uint64_t ax);

/* The state of the calling thread; NULL: it has none yet. */
struct agent_thread *world_thread(void);
