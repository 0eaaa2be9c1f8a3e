/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What mdbg and the agent share in a target whose probes are jumps.
 *
 * Theory of operation
 *
 *	function:	jmp thunk	(five bytes; behind the first instruction)
 *	thunk:		in a slot near the module (arch.h, struct thunk_spec): undoes the first
 *			instruction, lays a struct agent_frame, calls the displaced prologue, which is
 *			the original function, calls the agent, takes the frame away and returns. That
 *			of a free calls the agent first and jumps on, without a frame; where the log
 *			does not have the block (log/stray.h), and where frees are remembered
 *			(log/freed.h), it calls the agent once more, to remember this one.
 *	agent:		C of ours (quick.c, record.c, memo.c, shared files of the log and the unwinder)
 *			that preserves no more than C does; the thunk keeps the registers.
 *
 * A new block is recorded after the function has returned, its stack walked there: the caller's
 * registers are back, so the walk begins at the return address. Only functions that take something
 * out first (realloc), or may come round to themselves (a throwing operator new, by way of its
 * nothrow form), call the agent at their entry too (agent_enter) and have an operation under way.
 * (Where the log samples more of them call at their entry; see there.)
 *
 * Nesting. An allocator's function may return a block that another one inside it has just recorded
 * (operator new calls malloc). The inner record then stands in the table at the block's address, is
 * the last one that this thread has made, and was made at a lower SP: it was part of this call. The
 * outer record takes its place, as if the inner had never been, and `nested` counts one. Such a
 * function has no operation of its own, so nothing is known of it before it returns.
 *
 * A free is part of another event, and counted in `nested` alone, if the block is the one that a
 * realloc around it has in hand, or if another free has led to it (operator delete jumps to free):
 * the same block again, no longer in the table, at the same or a lower SP, and the return address
 * of that other free still stands where it was. Only frees that may lead to others are remembered
 * (agent_probe.wraps).
 *
 * A throwing operator new is called in its nothrow form, which may call the throwing one in turn:
 * while an operation of the same probe is under way above it, that one runs as it is, unrecorded.
 *
 * Operations. One is under way from its entry to its return; it is known by SP at its entry, where
 * the return address lies, and is not popped before the new record is in, so that a reader always
 * finds what it took. It is void, and counted in `voided`, when
 *
 *	- another event comes with the same SP, or with a higher one on the same stack (both inside
 *	  the thread's bounds): it was left by longjmp. On another stack (coroutines, signal
 *	  handlers) a higher SP means nothing;
 *	- one that was entered before it returns;
 *	- AGENT_OPS others are entered inside it;
 *	- its thread is gone: another LWP id at the same thread pointer.
 *
 * One that returns after all, though it was taken for void, is not void: it is counted down again
 * and its block recorded; only what it took out is lost.
 *
 * State. struct agent_state is a private anonymous mapping with MADV_WIPEONFORK: a forked child
 * reads zeros, and every entry point begins by asking its probe (in that mapping, too) for the
 * state, so that the child passes straight through and touches nothing else. A child that shares
 * the memory (vfork, posix_spawn) is the same process here: what it allocates is in the same heap.
 *
 * A thread's own state is found by its thread pointer, in a table that lies in the shared region
 * behind the log; it is claimed by compare and swap and stays, so that a new thread on an old stack
 * takes it over. `busy` is set in it while the thread is in the agent.
 *
 *	thread pointer		not to be trusted, or no place free: no state
 *	LWP id			another than before: the thread is new here. What the old one had
 *				under way is void; bounds, registry entry are taken anew
 *	busy			(same LWP id) a signal handler's event, inside another: no state
 *
 * Sampling (log/sample.h). A thread counts its bytes down to the next sample; a block that comes
 * before it is counted in `unsampled`, and its stack is not walked. An outer record that takes the
 * place of an inner one is the same block, and is drawn for once: by the size that the outer one has,
 * with the countdown as it was before the inner one, whichever way that went. Without state each
 * block is drawn for on its own.
 *
 * An inner block that was not sampled is in no table, so nothing there tells it from one that the
 * thread has had before, another thread has freed, and the allocator has given again: SP says no
 * more than that this call began above that one. So a function that may lead to another one calls the
 * agent at its entry (agent_probe.entered), which notes how many blocks the thread has drawn for
 * (`draws`, in the frame); the last one, if it is this block and was drawn for since, is an inner
 * one. glibc's malloc and calloc lead to no other, and are spared it: a call of agent_enter takes as
 * long as all else that a block costs that is not sampled (quick_sample.c). For the same reason the
 * last free that may lead to others is forgotten when its block is given again.
 *
 * History. Where the log remembers frees (log/freed.h) a free goes the long way: its block is taken out,
 * and then, in the second call of its thunk, its stack is walked. What the second call needs to know of the
 * first, the time of the record, is handed on by the thunk, so that it does not matter what mdbg sets in
 * between. A realloc that has moved or freed its block remembers that when it has returned, if it was listed.
 *
 * Domains. Blocks of allocators that the user has named are known by keys with LOG_DOMAIN_USER, here
 * as in the log, wherever addresses are compared: they are never the same as malloc's.
 *
 * Without state an event is recorded all the same, with entry 0 of the registry (whose account is
 * atomic), by a walk without memo. What it cannot know is told apart no more: nested frees count as
 * unknown, nested blocks as replaced. A realloc without state keeps in its frame what it took. A
 * throwing operator new without state cannot tell its own twin and runs as it is, counted as
 * voided: where thread pointers are never to be had, it is no function for a jump.
 *
 * Bounds: the agent reads nothing of the target but its stack, from SP up, inside the thread's
 * stack as its control block has it (or the main stack), else to the end of SP's page; the control
 * block's own fields, after its self pointer has been seen to be right; and what posix_memalign has
 * just stored. Bounds are believed only while SP is inside them. It never faults.
 *
 * Writers: mdbg writes the state and the maps only while it holds all threads stopped, or one
 * aligned word at a time (map, enabled). What can be enlarged (areas, probes) is written before the
 * number that bounds it. `map` is never NULL while enabled. An entry that is passed through (enabled
 * is 0) does not come back; one that was recorded, and comes back when enabled is 0, stays under way
 * and becomes void later.
 *
 * Freestanding.
 */
#ifndef AGENT_STATE_H
#define AGENT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/memo.h"
#include "agent/table.h"
#include "log/log.h"
#include "log/stray.h"
#include "unwind/walk.h"

/*
 * To be increased when agents before and after cannot work on the same struct agent_thread side by
 * side: a later mdbg then begins a log of its own (session/keep.h).
 */
#define AGENT_VERSION		1

#define AGENT_AREAS		64
#define AGENT_PROBES		512
#define AGENT_THREADS		2048	/* a power of two; fewer where addresses are scarce (target/room.h) */
#define AGENT_THREAD_WAYS	16	/* places in which a thread may be, one after the other */
#define AGENT_OPS		8

/*
 * What a thunk lays on the stack, lowest address first. All registers that C may change, the three
 * arguments as they were at entry, and two words for the agent between entry and return.
 */
struct agent_frame {
	uint64_t bp, bx, r11, r10, r9, r8, di, si, dx, cx, ax, pad;
	uint64_t op[2];			/* from agent_enter to agent_leave (record.c) */
	uint64_t arg[3];
	uint64_t return_address;	/* of the function's caller: SP at entry points here */
};

/* From SP behind the call of the displaced prologue, and behind that of the agent, to the CFA. */
#define AGENT_THUNK_CFA		((5 + 1) * 8)
#define AGENT_FRAME_CFA		((17 + 1) * 8)

/*
 * A slot of an area (probe/area.h): AGENT_SLOT bytes at a multiple of it. It begins with what a
 * walk must know of return addresses in it.
 */
#define AGENT_SLOT		512u
#define AGENT_SLOT_DISPLACED	16u
#define AGENT_SLOT_THUNK	144u
#define AGENT_SLOT_STUB		416u

struct agent_slot {
	uint32_t thunk_cfa;		/* at the thunk's call of displaced: from SP to the CFA */
	uint32_t stub_cfa;		/* the same for the stub's */
	uint64_t spare;
};

enum agent_role {			/* as enum alloc_role */
	AGENT_NEW = 0,
	AGENT_RESIZE,
	AGENT_FREE,
	AGENT_NEW_BY_REF,
};

struct agent_state;

/* One probed function. Arguments are numbers from 0 to 2, or -1. */
struct agent_probe {
	const struct agent_state *state;	/* NULL: pass through (a forked child) */
	uint64_t address;			/* of the function: innermost PC of its stacks */
	uint8_t role;
	int8_t size, count, ptr;
	uint8_t throwing;			/* its nothrow form is called instead */
	uint8_t wraps;				/* a free that may lead to another one */
	uint8_t user;				/* of the user's domain (LOG_DOMAIN_USER) */
	uint8_t quick;				/* enum agent_quick: agent_probe_quick() */
	uint8_t entered;			/* its thunk calls agent_enter */
};

/* An operation that was entered and has not returned. */
struct agent_op {
	uint64_t sp;				/* at entry */
	const struct agent_probe *probe;
	uint64_t ptr;				/* block of a realloc; 0 */
	uint64_t gave;				/* its result, from before that is recorded on; 0 */
	uint32_t took;				/* old was in the log, and was taken out */
	uint32_t missed;			/* it was not, and its free was counted so */
	uint32_t inside, pad;			/* part of an outer operation on the same block */
	struct log_record old;
};

struct agent_thread {
	uint64_t key;				/* thread pointer; 0: free */
	uint32_t lwp;
	uint32_t log_thread;			/* registry entry */
	uint32_t busy __attribute__((aligned(8)));
	uint32_t nr_ops;
	uint64_t stack_low, stack_high;		/* 0, 0: not known */
	uint64_t last_time;			/* of the last record */
	uint64_t word;				/* of its slots in the log, but for the stack */
	uint64_t inserted, inserted_sp;		/* its block, and SP at its function's entry */
	uint64_t freed, freed_sp, freed_ra;	/* the last free by a probe that `wraps` */
	/* Sampling: up to `random` on one cache line. */
	uint64_t gap;				/* bytes to the next sample */
	uint64_t drawn, drawn_gap;		/* the last block drawn for, and the gap before it */
	uint32_t drawn_in;			/* it was sampled */
	uint32_t draws;				/* blocks drawn for, ever */
	uint64_t random;			/* 0: not begun */
	struct agent_op op[AGENT_OPS];		/* outermost first */
	struct memo memo;
};

struct agent_state {
	uint64_t enabled;			/* 0: pass through */
	uint32_t depth;				/* frames of a stack */
	uint32_t nr_areas;
	/*
	 * Of the thread's control block (target/tcb.h), from the thread pointer on; 0: not known,
	 * but for self_offset, which is known where there are `threads`.
	 */
	uint32_t self_offset, tid_offset, stack_offset;	/* stack_offset: {base, size} */
	uint32_t threads_shift;			/* of a hash of 64 bits: there are 2^(64 - this) `threads` */
	uint64_t sample;			/* 0: all are recorded; or mean bytes between samples */
	uint64_t history;			/* frees are remembered: as header->free_history */
	/* The main thread's stack: [stack], as far as it may grow. */
	uint64_t main_low, main_high;
	const struct walk_map *map;		/* replaced as a whole; module map of the target */
	/* A power of two of them; NULL: nothing of control blocks is read, and no thread has state. */
	struct agent_thread *threads;
	struct stray_facts facts;		/* of what frees of unknown blocks are */
	struct agent_range area[AGENT_AREAS];	/* of slots only: not the image of the agent */
	struct log log;				/* a view, in the target's addresses */
	struct agent_probe probe[AGENT_PROBES];
};

enum agent_quick {
	AGENT_QUICK_NOT = 0,
	AGENT_QUICK_ALL,		/* quick.c */
	AGENT_QUICK_SAMPLE,		/* quick_sample.c */
};

/* May its calls go a short way? They have no more cases than these. */
static inline enum agent_quick agent_probe_quick(const struct agent_state *state,
						 const struct agent_probe *probe)
{
	bool plain = probe->role == AGENT_FREE ||
		     (probe->role == AGENT_NEW && !probe->throwing && probe->size >= 0);

	if (!plain || !state->threads || probe->user)
		return AGENT_QUICK_NOT;
	if (state->sample)
		return AGENT_QUICK_SAMPLE;
	if (state->depth < 2 || (probe->role == AGENT_FREE && state->history))
		return AGENT_QUICK_NOT;
	return AGENT_QUICK_ALL;
}

/*
 * Entry points, called by thunks with all registers saved (quick.c, record.c). In agent_offsets.h
 * as AGENT_ENTER, AGENT_LEAVE, AGENT_RELEASE, AGENT_STRAY.
 */

/* Entry of a function that is `entered`. Nonzero: run the function as it is, and do not come back. */
uint64_t agent_enter(struct agent_frame *frame, const struct agent_probe *probe);
/* frame->ax is what the function returned. */
void agent_leave(struct agent_frame *frame, const struct agent_probe *probe);
/*
 * A free is about to run; sp is SP at its entry. Nonzero: its stack is wanted, and agent_stray is to be
 * called with the same, the caller's RBP and RBX, and `said`, what this has returned:
 *
 *	AGENT_UNKNOWN	the log does not have the block
 *	AGENT_FREED	it does not, but it had: its ghost is there
 *	else		the free is to be remembered, of the block that was recorded at that time
 *
 * (Most frees are spared what it takes to keep these two registers.)
 */
#define AGENT_UNKNOWN	1u
#define AGENT_FREED	2u
uint64_t agent_release(uint64_t block, uint64_t sp, const struct agent_probe *probe);
void agent_stray(uint64_t block, uint64_t sp, const struct agent_probe *probe, uint64_t bp,
		 uint64_t bx, uint64_t said);

_Static_assert(sizeof(struct agent_frame) == 18 * 8, "frame");

#endif
