/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ledger: what the calls of an allocator's functions mean to the log. The agent
 * (agent/slow_path.c) and the tracer (probe/trap_ledger.c) both see calls and tell the ledger; here
 * is all that it takes to make records and accounts of them, once.
 *
 * Theory of operation
 *
 * A call has an entry and a return, each at the same SP: that of the entry, where the return
 * address lies, so that it names one call of one thread. A new block is recorded when its function
 * has returned; its stack is walked there. Only two kinds of functions must be known while they
 * run: one that takes something out first (a resize: realloc), and one that may come round to
 * itself (a throwing operator new, which is called in its nothrow form, and that may call the
 * throwing one). A call of these is an operation, and is listed from its entry to its return:
 *
 *	UNDER WAY	it is in thread->op[]; what a resize has taken out is in its `old` (`took`)
 *	INSIDE		it is in thread->op[], and part of one around it that resizes the same block
 *	VOID		it is not in the list, though nobody has seen it return
 *
 *	event				operation		recorded	counted
 *
 *	enter a resize			-> UNDER WAY		block out	frees, or unknown free (*)
 *	- inside of its block's resize	-> INSIDE
 *	enter a throwing function	-> UNDER WAY
 *	- inside of a call of the same	runs as it is
 *	leave with a block		UNDER WAY -> gone	block in	allocs
 *	leave without, resized to 0	UNDER WAY -> gone
 *	leave without			UNDER WAY -> gone	`old` back in	failed
 *	leave				INSIDE -> gone				nested
 *	leave with a block		VOID -> gone		block in	voided - 1, allocs
 *	leave without			VOID -> gone				voided - 1, failed
 *	leave a plain function		none			block in	allocs, failed
 *	leave with a block that an	as above		in its place	nested
 *	  inner call has given
 *	release				none			block out	frees, or unknown free (*)
 *	- inside of its block's resize	none					nested
 *	  or of another release of it
 *	release 0			none					null_frees
 *	leave one around it		-> VOID					voided
 *	any event at the same SP, or	-> VOID					voided
 *	  higher on the same stack
 *	enter LEDGER_OPS inside it	-> VOID					voided
 *	abandon (its thread has ended)	-> VOID					voided
 *
 *	(*) log/unknown_free.h: unknown_frees, double_frees, own_frees; where the log samples
 *	    unsampled_frees
 *
 * Void. A call may be left by longjmp, and never return. If the operation stayed, a free of the
 * block that it resized, and a throwing function called below it, would be taken for part of it
 * for ever. So it goes with the first event that shows it: SP is back at its entry, or above it on
 * the same stack. (Both must be inside the thread's bounds: on another stack, of a coroutine or a
 * signal handler, a higher SP means nothing.) Nothing is certain there, a signal handler's stack
 * may lie within the bounds of its thread's; so an operation that returns though it was taken for
 * void is taken at its word, counted down again, and its block is recorded. Only what it took out
 * is lost.
 *
 * Popped last. An operation stays in the list until the new record is in, so that a reader always
 * finds what it took.
 *
 * Nesting of blocks. A function may return a block that another one inside it has just recorded
 * (calloc calls malloc). The inner record then stands in the table at the block's address, is the
 * last one that this thread has made, and was made at a lower SP: it was part of this call. The
 * outer record takes its place, as if the inner one had never been, and `nested` counts one. It
 * needs no entry of the outer call.
 *
 * Nesting of frees. A free is part of another event if the block is the one that a resize around
 * it has in hand, or if another free has led to it (operator delete jumps to free): the same block
 * again, no longer in the table, at the same or a lower SP, and the return address of that other
 * free still stands where it was. Only frees that may lead to others (`wraps`) are remembered for
 * that.
 *
 * Sampling (log/sample.h). A thread counts its bytes down to the next sample; a block that comes
 * before it is counted in `unsampled`, and its stack is not walked. An outer record that takes the
 * place of an inner one is the same block, and is drawn for once: by the size that the outer one
 * has, with the countdown as it was before the inner one, whichever way that went. An inner block
 * that was not sampled is in no table, so nothing there tells it from one that the thread has had
 * before, another thread has freed, and the allocator has given again. So the entry of a function
 * that may lead to another one notes how many blocks the thread has drawn for (`draws`); the last
 * one, if it is this block and was drawn for since, is an inner one. For the same reason the last
 * free that may lead to others is forgotten when its block is given again.
 *
 * History (log/free_history.h). A free is remembered when its block was taken out; a resize that
 * has moved or freed its block, when it has returned, if it was listed.
 *
 * Domains. Blocks are compared as the log knows them, with the number of the process and
 * LOG_DOMAIN_USER: a block of an allocator that the user has named is never the same as malloc's.
 *
 * Without a thread's state (`thread` is NULL, in the agent only) an event is recorded all the
 * same, with entry 0 of the registry. Some things cannot be told apart then: nested frees
 * count as unknown, nested blocks as replaced, each block is drawn for on its own. A resize keeps
 * in the words of its call what it took. A throwing function cannot tell its own twin, runs as it
 * is, and counts as voided.
 *
 * The environment is supplied by the file that includes ledger_events.h: it walks stacks, reads
 * them, and knows their bounds. Functions that need none of that are in ledger.c. Freestanding.
 */
#pragma once

#include "log/fast_path.h"
#include "log/sample.h"
#include "log/unknown_free.h"

#define LEDGER_OPS		8
#define LEDGER_SIZE_MAX		((1ull << 48) - 1)	/* that a record can hold */

/* An operation that was entered and has not returned. */
struct ledger_op {
	uint64_t sp;				/* at entry */
	const struct ledger_function *function;	/* compared, and never followed */
	uint64_t block;				/* that is resized; 0 */
	uint64_t gave;				/* its result, from before that is recorded on; 0 */
	uint32_t took;				/* old was in the log, and was taken out */
	uint32_t missed;			/* it was not, and its free was counted so */
	uint32_t inside, pad;			/* part of an outer operation on the same block */
	struct log_record old;
};

/* All that is known of a thread. All zero at the beginning. */
struct ledger_thread {
	uint64_t key;				/* thread pointer; 0: free */
	uint32_t lwp;
	uint32_t log_thread;			/* registry entry */
	uint32_t busy __attribute__((aligned(8)));	/* the agent's: it is in it */
	uint32_t nr_ops;
	uint64_t stack_low, stack_high;		/* 0, 0: not known */
	uint64_t last_time;			/* of the last record */
	uint64_t word;				/* of its slots in the log, but for the stack */
	uint64_t inserted, inserted_sp;		/* its block, and SP at its function's entry */
	uint64_t freed, freed_sp, freed_ra;	/* the last free by a function that `wraps` */
	/* Sampling: up to `random` on one cache line. */
	uint64_t gap;				/* bytes to the next sample */
	uint64_t drawn, drawn_gap;		/* last block drawn for; the gap before it */
	uint32_t drawn_in;			/* it was sampled */
	uint32_t draws;				/* blocks drawn for, ever */
	uint64_t random;			/* 0: not begun */
	struct ledger_op op[LEDGER_OPS];	/* outermost first */
};

/* The log that calls are recorded in, and how. */
struct ledger {
	struct log *log;
	uint64_t sample;		/* 0: all are recorded; or mean bytes between samples */
	uint64_t history;		/* frees are remembered: as header->free_history */
	uint32_t depth;			/* frames of a stack */
	struct free_facts facts;	/* of what frees of unknown blocks are */
};

/* The properties of a function. */
struct ledger_function {
	uint8_t resize;
	uint8_t throwing;		/* its nothrow form is called instead */
	uint8_t wraps;			/* a free that may lead to another one */
	uint8_t user;			/* of the user's domain (LOG_DOMAIN_USER) */
	uint8_t entered;		/* its calls come to ledger_enter */
};

/* Two words that the caller keeps from ledger_enter to ledger_leave. */
struct ledger_words {
	uint64_t how;			/* enum ledger_how */
	uint64_t what;
};

enum ledger_how {
	LEDGER_LISTED,			/* what: how many blocks the thread had drawn for */
	LEDGER_ALONE,			/* no thread to list it; what: LEDGER_TOOK | size, or 0 */
};

#define LEDGER_TOOK	(1ull << 63)

/* One call, at its entry or its return. */
struct ledger_call {
	const struct ledger *ledger;
	struct ledger_thread *thread;	/* NULL: its state is not to be had */
	const struct ledger_function *function;
	uint64_t sp;			/* at the function's entry */
	uint64_t block;			/* that is resized, or freed, as in a record; 0: none */
	const void *env;		/* the environment's own */
};

/*
 * The answer of ledger_release. Nonzero: the stack is wanted, and ledger_unknown_free is to be
 * called with the same call and this.
 *
 *	LEDGER_UNKNOWN	the log does not have the block
 *	LEDGER_FREED	it does not, but it had: its retired record is there
 *	else		the free is to be remembered, of the block that was recorded at that time
 */
#define LEDGER_UNKNOWN	1u
#define LEDGER_FREED	2u

/* That answer for a block that log_remove has not found. */
static inline uint64_t ledger_missed(const struct log_record *old)
{
	return old->address ? LEDGER_FREED : LEDGER_UNKNOWN;
}

/* Its entry in the registry; 0 for all that have no state. */
static inline uint32_t ledger_number(const struct ledger_thread *thread)
{
	return LIKELY(thread) ? thread->log_thread : 0;
}

/* Is it inside the bounds of the thread's stack? */
static inline bool ledger_holds(const struct ledger_thread *thread, uint64_t sp)
{
	return sp - thread->stack_low < thread->stack_high - thread->stack_low;
}

/*
 * Later than the thread's last record, and another than those of other threads, which may read the
 * same stamp at the same moment: the lowest bits are the thread's number in the log. (They are the
 * same for threads whose numbers differ by a multiple of TIME_STEP. The step is some 10 ns, less
 * than a record takes, so that no thread runs ahead of the clock.)
 */
#define TIME_STEP	32ull

static ALWAYS_INLINE uint64_t ledger_time(const struct ledger_thread *thread)
{
	uint64_t now = log_now(), next = thread->last_time + TIME_STEP;

	return (MAX(now, next) & ~(TIME_STEP - 1)) | (thread->log_thread & (TIME_STEP - 1));
}

/* A signal handler of the same thread sees what was stored before in all that comes after. */
static inline void compiler_barrier(void)
{
	__asm__ volatile("" : : : "memory");
}

/* A thread has ended, or is another one from now on: what it had under way is void. */
void ledger_abandon(struct log *log, struct ledger_thread *thread);

/* The log was reset: what resizes have in hand is from before. The thread must not write. */
void ledger_reset(struct ledger_thread *thread);

/* Drop what an event at sp shows to be void; bounded: sp is inside the thread's bounds. */
void ledger_void(struct log *log, struct ledger_thread *thread, uint64_t sp, bool bounded);
/*
 * log_insert of a block that may be the same as the thread's last one, of time `last`, whose record
 * is then part of this call.
 */
bool ledger_insert_again(struct ledger_call call, const struct log_record *record,
			 uint64_t last);
/* The inner record of a call that turns out not to be sampled. */
void ledger_take_back(struct ledger_call call, uint64_t block);
/* A resize has failed: what its entry took is as it was. op is NULL if it was not listed. */
void ledger_put_back(struct ledger_call call, const struct ledger_words *words,
		     const struct ledger_op *op);
_Static_assert(offsetof(struct ledger_thread, nr_ops) ==
	       offsetof(struct ledger_thread, busy) + sizeof(uint32_t), "read as one word");
