/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory that mdbg and the agent share in a target whose probes are jumps.
 *
 * Theory of operation
 *
 *	function:	jmp thunk	(five bytes; behind the first instruction)
 *	thunk:		in a slot near the module (arch.h, struct thunk_spec): undoes the first
 *			instruction, lays a struct agent_frame, calls the displaced prologue, which is
 *			the original function, calls the agent, takes the frame away and returns. That
 *			of a free calls the agent first and jumps on, without a frame; where the log
 *			does not have the block (log/log_unknown_free.h), and where frees are
 *			remembered (log/free_history.h), it calls the agent once more, to remember
 *			this one.
 *	agent:		C of ours (fast_path.c, slow_path.c, unwind_cache.c, shared files of the log
 *			and the unwinder) that preserves no more than C does; the thunk keeps the
 *			registers.
 *
 * A new block is recorded after the function has returned, and its stack is walked then: the
 * caller's registers have their values again, so the walk begins at the return address. Only
 * functions that remove a record first (realloc), or that may call themselves (a throwing operator
 * new, through its nothrow form), call the agent at their entry too (agent_enter) and have an
 * operation under way. (If the log samples, more functions call at their entry; see log/ledger.h.)
 *
 * The agent passes calls to the ledger (log/ledger.h), which decides what they mean: operations,
 * what is void, nesting, sampling, and what is lost where a thread has no state. glibc's malloc and
 * calloc call no other probed function, so they need no agent_enter where the log samples: that
 * call would double the cost of a block that is not sampled (fast_path_sample.c).
 *
 * State. struct agent_state is a private anonymous mapping whose first page has MADV_WIPEONFORK.
 * There is `enabled`, for which every entry point asks first: a forked child reads 0 and passes
 * straight through. The rest is copied, for a child that a signal handler has forked while its
 * thread was in the agent: it goes on there when the handler returns. The parent does the same in
 * the same log. So the event may be counted twice, and a block that the parent frees before the
 * child has stored its record stays listed, until its address is given out again. A child that
 * shares the memory (vfork, posix_spawn) is the same process here: what it allocates is in the same
 * heap.
 *
 * A thread's own state is found by its thread pointer, in a table that lies in the shared region
 * behind the log; it is claimed by compare and swap and never given back, so that a new thread on
 * an old stack takes it over. `busy` is set in it while the thread is in the agent.
 *
 *	thread pointer		not to be trusted, or no place free: no state
 *	LWP id			another than before: the thread is new here. What the old one had
 *				under way is void; bounds, registry entry are taken anew
 *	busy			(same LWP id) a signal handler's event, inside another: no state.
 *				If a handler jumps out of the agent (siglongjmp), it stays set for
 *				as long as the thread lives: whether the event that it interrupted
 *				will go on cannot be told from SP, as a handler's stack may lie in a
 *				frame of the thread's own
 *
 * History. If the log remembers frees (log/free_history.h), a free takes the slow path: its record is
 * taken out, and then, in the second call of its thunk, its stack is walked. The second call needs
 * the time of the record from the first one, and the thunk hands it on, so that it does not matter
 * what mdbg sets in between.
 *
 * Without a thread's state an event is recorded all the same (log/ledger.h), by a walk without
 * unwind cache. A throwing operator new then runs as it is, so it gets no jump in a process whose
 * thread pointers cannot be found.
 *
 * Bounds. The agent reads only five things of the target: the stack from SP up, as far as the
 * bounds in the thread's control block (or those of the main stack) go, or else to the end of SP's
 * page; the control block's own fields, after its self pointer was found to be right; the word
 * that posix_memalign has just stored; and, if the kernel says that they can be read, the links of a
 * chain that the user has said a function frees, and the word before a block that the log does not
 * have, at the entry of glibc's own free or realloc. It uses bounds only while SP is inside them. It
 * never faults.
 *
 * Writers: mdbg writes the state and the maps only while it holds all threads stopped, or one
 * aligned word at a time (map, enabled). Arrays that can grow (areas, probes) are written before
 * the number that bounds them. `map` is never NULL while enabled. A call that comes while enabled
 * is 0 passes through and does not return to the agent. An operation that was entered before, and
 * returns while enabled is 0, stays under way and becomes void later.
 *
 * Freestanding.
 */
#pragma once

#include "agent/unwind_cache.h"
#include "agent/probe_table.h"
#include "agent/agent_stacks.h"
#include "log/ledger.h"

/*
 * Increase this if agents from before and after a change cannot work on the same struct
 * agent_thread side by side: a later mdbg then begins a log of its own (session/handover/handover.c).
 */
#define AGENT_VERSION		4

/* Bytes at the start of the first area for the image and its table. */
#define AGENT_IMAGE_ROOM	(96u << 10)
#define AGENT_AREAS		64
#define AGENT_PROBES		512
/* a power of two; fewer where addresses are scarce (tracee/room.h) */
#define AGENT_THREADS		2048
#define AGENT_THREAD_WAYS	16	/* places in which a thread may be, in a row */

/*
 * The frame that a thunk puts on the stack, lowest address first. It has room for all registers
 * that C may change, the three arguments as they were at entry, and two words that the agent keeps
 * between entry and return. Only bp, bx, ax, and the arguments that the function has are certainly
 * set, and `words` if its calls come to agent_enter.
 */
struct agent_frame {
	uint64_t bp, bx, r11, r10, r9, r8, di, si, dx, cx, ax, pad;
	struct ledger_words words;	/* from agent_enter to agent_leave */
	uint64_t arg[3];
	uint64_t return_address;	/* of the function's caller: SP at entry points here */
};

/*
 * The same frame of a thunk that lays six arguments (thunk_spec.wide): all of them as they were at
 * entry. The two words are the time of the entry, and thread and stack (agent_growth.c).
 */
struct agent_wide_frame {
	uint64_t bp, bx, r11, r10, r9, r8, di, si, dx, cx, ax, pad;
	uint64_t entered, who;
	uint64_t arg[6], spare;
	uint64_t return_address;
};

/*
 * A slot of an area (probe/area.h): AGENT_SLOT bytes at a multiple of it. It begins with what a
 * walk must know about return addresses that point into it.
 */
#define AGENT_SLOT		1024u
#define AGENT_SLOT_DISPLACED	32u
#define AGENT_SLOT_THUNK	160u
#define AGENT_SLOT_STUB		512u

struct agent_slot {
	uint32_t thunk_cfa;		/* at the thunk's call of displaced: from SP to the CFA */
	uint32_t stub_cfa;		/* the same for the stub's */
	uint64_t counts;		/* address of the area's count of calls; 0: not counted */
	/*
	 * By which a slot is known in a core file (tracee/core_code.h): the function's address, in
	 * the upper byte AGENT_SLOT_MARK, and in the one below it what its first instruction has
	 * taken from SP when the thunk begins.
	 */
	uint64_t mark;
	uint64_t spare;
};

#define AGENT_SLOT_MARK		0x6du
#define AGENT_SLOT_ADDRESS	((1ull << 48) - 1)

static inline uint64_t agent_slot_mark(uint64_t function, uint8_t undo)
{
	return (uint64_t)AGENT_SLOT_MARK << 56 | (uint64_t)undo << 48 |
	       (function & AGENT_SLOT_ADDRESS);
}

static inline bool agent_slot_is(const struct agent_slot *slot)
{
	return slot->mark >> 56 == AGENT_SLOT_MARK && slot->mark & AGENT_SLOT_ADDRESS &&
	       slot->thunk_cfa <= AGENT_SLOT && slot->stub_cfa <= AGENT_SLOT;
}

static inline uint64_t agent_slot_function(const struct agent_slot *slot)
{
	return slot->mark & AGENT_SLOT_ADDRESS;
}

static inline uint8_t agent_slot_undo(const struct agent_slot *slot)
{
	return slot->mark >> 48 & 0xff;
}

enum agent_role {			/* as enum alloc_role */
	AGENT_NEW = 0,
	AGENT_RESIZE,
	AGENT_FREE,
	AGENT_NEW_BY_REF,
	AGENT_GROWTH,			/* agent_growth.c; `call` says which */
};

struct agent_state;

/* One probed function. Arguments are numbers from 0 to 2, or -1. */
struct agent_probe {
	const struct agent_state *state;
	uint64_t address;			/* of the function: innermost PC of its stacks */
	uint8_t role;
	int8_t size, count, ptr;
	uint8_t fast;				/* enum agent_fast: agent_probe_fast() */
	struct ledger_function ledger;		/* if `entered`, its thunk calls agent_enter */
	/*
	 * AGENT_GROWTH: enum growth_call. AGENT_FREE: enum user_call; of a chain, whose thunk calls
	 * agent_enter, `count` is the argument with the offset of the link
	 */
	uint8_t call;
	uint32_t bytes;				/* of each block, where no argument is its size */
};

struct agent_thread {
	struct ledger_thread ledger;
	struct unwind_cache cache;
};

struct agent_state {
	uint64_t enabled;			/* 0: pass through */
	uint64_t wiped[LOG_PAGE / 8 - 1];	/* the rest of its page, which a fork wipes */
	struct ledger ledger;			/* ledger.log is `log`, in the target */
	uint32_t nr_areas;
	/*
	 * Offsets in the thread's control block (tracee/tcb.h), from the thread pointer on. 0 means
	 * not known; but self_offset is always known if there are `threads`.
	 */
	uint32_t self_offset, tid_offset, stack_offset;	/* stack_offset: {base, size} */
	/* of a hash of 64 bits: there are 2^(64 - this) `threads` */
	uint32_t threads_shift;
	/* The main thread's stack: [stack], as far as it may grow. */
	uint64_t main_low, main_high;
	const struct walk_map *map;		/* module map of the target; replaced as a whole */
	uint64_t setting;			/* cache_setting of its generation and the depth */
	/*
	 * Their number is a power of two. NULL: control blocks are not read, and no thread has
	 * state.
	 */
	struct agent_thread *threads;
	struct agent_range area[AGENT_AREAS];	/* without the agent's image */
	struct agent_stacks stacks;
	struct log log;				/* a view, in the target's addresses */
	struct agent_probe probe[AGENT_PROBES];
};

enum agent_fast {
	AGENT_FAST_NOT = 0,
	AGENT_FAST_ALL,		/* fast_path.c */
	AGENT_FAST_SAMPLE,		/* fast_path_sample.c */
};

/* Which fast path may its calls take? The fast paths handle no more cases than these. */
static inline enum agent_fast agent_probe_fast(const struct agent_state *state,
					       const struct agent_probe *probe)
{
	bool plain = probe->role == AGENT_FREE ||
		     (probe->role == AGENT_NEW && !probe->ledger.throwing && probe->size >= 0);

	if (!plain || !state->threads || !state->tid_offset || probe->ledger.user)
		return AGENT_FAST_NOT;
	if (state->ledger.sample)
		return AGENT_FAST_SAMPLE;
	if (state->ledger.depth < 2 || (probe->role == AGENT_FREE && state->ledger.history))
		return AGENT_FAST_NOT;
	return AGENT_FAST_ALL;
}

/*
 * Entry points, called by thunks with all registers saved (fast_path.c, slow_path.c). In
 * agent_offsets.h as AGENT_ENTER, AGENT_LEAVE, AGENT_RELEASE, AGENT_UNKNOWN_FREE.
 */

/*
 * Entry of a function that is `entered`. Nonzero: run the function as it is, and do not come back.
 */
uint64_t agent_enter(struct agent_frame *frame, const struct agent_probe *probe);
/* frame->ax is what the function returned. */
void agent_leave(struct agent_frame *frame, const struct agent_probe *probe);
/*
 * A free is about to run; sp is SP at its entry. Returns what ledger_release returns. If that is
 * not zero, agent_unknown_free must be called with the same arguments, the caller's RBP and RBX,
 * and this value as `said`. (So most frees need not save these two registers.)
 */
uint64_t agent_release(uint64_t block, uint64_t sp, const struct agent_probe *probe);
void agent_unknown_free(uint64_t block, uint64_t sp, const struct agent_probe *probe, uint64_t bp,
			uint64_t bx, uint64_t said);

/*
 * The same two for a function of AGENT_GROWTH, whose thunk is wide (agent_growth.c). In
 * agent_offsets.h as AGENT_GROWTH_ENTER, AGENT_GROWTH_LEAVE.
 */
uint64_t agent_growth_enter(struct agent_wide_frame *frame, const struct agent_probe *probe);
void agent_growth_leave(struct agent_wide_frame *frame, const struct agent_probe *probe);

_Static_assert(offsetof(struct agent_state, ledger) == LOG_PAGE, "page");
_Static_assert(sizeof(struct agent_frame) == 18 * 8, "frame");
_Static_assert(sizeof(struct agent_wide_frame) == 22 * 8, "frame");
_Static_assert(offsetof(struct agent_thread, ledger) == 0, "the one is the other");
