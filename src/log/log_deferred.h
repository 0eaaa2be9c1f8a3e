/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Deferred stacks: what the agent keeps of a stack that it cannot walk to the end yet.
 *
 * Theory of operation
 *
 * The agent walks by a module map that mdbg has made. A library that was loaded a moment ago is not
 * in it until mdbg has seen it (after up to a tenth of a second). In that time its constructors
 * run, and the code that has loaded it begins to call it, and both allocate. In code that is in no
 * module a walk can only follow frame pointers: it ends there, or it skips frames, if BP is the
 * frame pointer of a caller further out. So the agent keeps what is needed to walk again from
 * there: the registers at the first frame whose code is in no module, and a copy of the stack from
 * there up. Later mdbg knows the module and walks on over the copy (session/deferred.h); from then
 * on every reader sees the whole stack.
 *
 *	the stack, as the block's record names it
 *		is interned at once, as the PCs up to that frame and, in the place of the next one,
 *		the hash of all that the whole stack depends on (agent/defer.c); its end is
 *		WALK_DEFERRED. So the stack table itself finds it again: 10,000 blocks from one loop
 *		have one such stack
 *	the whole stack
 *		is another stack of the table. log_stack.forward of the deferred one has its id, or
 *		0 as long as it is not known. Only mdbg writes it. Stacks stay for ever, and so do
 *		forwards
 *	a copy	is needed in between only: there are few, and they are used again
 *
 * Rejected: to have the deferred stack rewritten in place (readers hold on to what reader_stack
 * has given them), and a table of forwards beside the stack table (one more thing that can be
 * full).
 *
 * A copy's claim
 *
 *	            agent: compare and swap              agent: store
 *	0 (free) -------------------------> BUSY, thread -------------> READY, thread, stack
 *	   ^                                     |                          |
 *	   |       mdbg: the thread has gone     |     mdbg: forward set    |
 *	   +-------------------------------------+--------------------------+
 *
 * The writer may be stopped between any two stores for any time. So mdbg takes a busy copy back
 * only when its thread does not exist any more; a copy whose thread is not known stays taken. The
 * agent first looks for its hash among the ready copies. It reads the claim, the hash, and the
 * claim again: a hash is stored after the claim (release) and loaded before the claim is read again
 * (acquire), so that both are of one writer. Two threads that have the same stack at the same time
 * may make two copies of it; mdbg then finds the same whole stack twice.
 *
 * Code that is never in a module. The code of a JIT is in no module, and a walk through it by frame
 * pointers is the best there is. When mdbg has found no module there, it marks the range of that
 * mapping; the agent asks the ranges first, and walks by frame pointers inside them. Ranges belong
 * to one generation of the module map, because a library may be loaded where code of a JIT was.
 * There is room for a few of them, and the newest replaces the oldest. If the agent reads a range
 * while mdbg writes it, the worst that happens is that one stack is deferred, or not deferred,
 * wrongly.
 *
 * Bounds. To hash a stack takes some microseconds. So at most DEFERRED_BUDGET walks end with a
 * deferred stack between two looks of mdbg. While mdbg runs, that is more than a thread can do in
 * between; but without mdbg (`detach -keep`) the code of a JIT would cost those microseconds for
 * ever. Beyond, and where all copies are taken, the stack is stored as far as the walk came; if it
 * ends there that is counted (log_accounts.undeferred).
 *
 * The target can write to all of this. mdbg takes a copy out before it looks at it, bounds what it
 * says, and sets only the forward of a stack that is deferred and has this hash. A reader follows
 * one forward, never to another deferred stack.
 *
 * The half that is compiled into the agent is freestanding (log_deferred.c); mdbg's is in
 * log_deferred_take.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "log/log.h"

#define DEFERRED_COPIES		512u		/* fewer in a small log */
#define DEFERRED_BYTES		8192u		/* of each, all in all */
#define DEFERRED_RANGES		64u
#define DEFERRED_BUDGET		65536u

/* The claim of a copy. */
#define DEFERRED_BUSY		(1ull << 62)
#define DEFERRED_READY		(1ull << 63)

struct deferred_head {
	uint64_t claim;			/* state | thread << 32 | stack */
	uint64_t hash;
};

struct deferred_range {
	uint64_t start, end;
};

/* One table for all threads. mdbg writes it, except `used` and the heads of copies. */
struct deferred_table {
	uint32_t used;			/* stacks deferred since mdbg has looked */
	uint32_t ready;			/* copies whose pages are there */
	uint64_t any;			/* has there ever been a deferred stack? */
	/* the generation of the module map that the ranges belong to */
	uint32_t generation;
	uint32_t next;			/* range to be written next */
	struct deferred_range range[DEFERRED_RANGES];
	struct deferred_head head[DEFERRED_COPIES];
};

#define DEFERRED_TABLE_BYTES	ALIGN_UP(sizeof(struct deferred_table), 4096)

/* A walk, and the frame at which it came to code of no module. */
struct deferred_walk {
	/*
	 * At that frame: pc is a return address, sp is SP after the return; fp and bx are 0 if they
	 * are not known.
	 */
	uint64_t pc, sp, fp, bx;
	uint32_t nr;			/* PCs that the walk gave */
	uint32_t at;			/* which of them is pc */
	uint32_t generation, thread;
	uint32_t len;			/* bytes of the copy, from sp on */
	uint32_t end;			/* enum walk_end */
};

#define DEFERRED_STACK \
	(DEFERRED_BYTES - sizeof(struct deferred_walk) - LOG_DEPTH_MAX * sizeof(uint64_t))

struct deferred_copy {
	struct deferred_walk walk;
	uint64_t pcs[LOG_DEPTH_MAX];
	uint8_t stack[DEFERRED_STACK];
};

_Static_assert(sizeof(struct deferred_copy) == DEFERRED_BYTES, "whole pages");

/* --- the agent --- */

/* Has mdbg marked pc as code of no module, in this generation? */
bool log_deferred_is_marked(const struct log *log, uint64_t pc, uint32_t generation);
/* Is there any budget left? Ask this before a stack is hashed. */
bool log_deferred_may(const struct log *log);
/*
 * Store the deferred stack of this walk, keep its copy, and return its id. pcs must have room for
 * one PC more than walk->at + 1; it is unchanged afterwards. copy has walk->len bytes; what does
 * not fit is left out. LOG_STACK_NONE: no room.
 */
uint32_t log_deferred_add(struct log *log, const struct deferred_walk *walk, uint64_t hash,
			  uint64_t *pcs, const void *copy);

/* --- mdbg --- */

/* The copies that were ready at one moment. mdbg looks at the modules before it finishes them. */
struct deferred_seen {
	uint64_t claim[DEFERRED_COPIES];	/* 0: the copy was not ready */
	uint64_t pc[DEFERRED_COPIES];		/* of the code in no module, as the copy says */
	uint32_t nr;
};

void log_deferred_take_look(const struct log *log, struct deferred_seen *ret);
/*
 * Copy number i into the caller's memory, if it still is the one that was seen; all numbers in *ret
 * are bounded. *stack_ret is the deferred stack. A copy that makes no sense is dropped.
 */
bool log_deferred_take(struct log *log, const struct deferred_seen *seen, uint32_t i,
		       struct deferred_copy *ret, uint32_t *stack_ret);
/*
 * Set the whole stack of a deferred one (LOG_STACK_NONE: there was no room for it), and free its
 * copy.
 */
void log_deferred_take_finish(struct log *log, uint32_t i, uint32_t stack, uint32_t whole);
/* Mark [start, end), which is mapped, as code of no module in this generation. */
void log_deferred_take_mark(struct log *log, uint64_t start, uint64_t end, uint32_t generation);
/*
 * Give the agent its whole budget again, and free the copies that threads which are gone had begun.
 */
void log_deferred_take_renew(struct log *log, bool (*is_gone)(uint32_t lwp, void *ctx), void *ctx);
