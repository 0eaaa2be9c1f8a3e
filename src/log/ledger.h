/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ledger: the rules by which calls of an allocator's functions become records and accounts of
 * the log. The agent (agent/slow_path.c) and the tracer (probe/trap_ledger.c) both see calls and
 * pass them to the ledger, so the rules are written once, here.
 *
 * Theory of operation
 *
 * A call has an entry and a return. Both are identified by SP at the entry, where the return
 * address lies: no two calls of one thread that are under way have the same. A new block is
 * recorded when its function has returned, and its stack is walked then. The ledger must follow
 * only two kinds of functions while they run: a resize (realloc), which removes the old record
 * first, and a throwing operator new, which mdbg calls in its nothrow form, and whose nothrow form
 * may call the throwing one again. A call of these is an operation, and is listed from its entry to
 * its return:
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
 *	(*) log/log_unknown_free.h: unknown_frees, double_frees, own_frees; where the log samples
 *	    unsampled_frees
 *
 * Void. A call may be left by longjmp and never return. If its operation stayed in the list, a
 * later free of the block that it resized, or a throwing function called below it, would be taken
 * for part of it for ever. So the operation is removed at the first event that shows that the call
 * is gone: SP is back at the call's entry, or above it on the same stack. (Both values must be
 * inside the thread's bounds: on another stack, of a coroutine or a signal handler, a higher SP
 * means nothing.) This is not certain, since a signal handler's stack may lie inside the bounds of
 * its thread's stack. So if an operation returns after it was voided, the return is believed:
 * `voided` is decreased and the block is recorded. Only the record that the operation had removed
 * is lost.
 *
 * Order of a return. An operation stays in the list until the new record is in the table, so that a
 * reader always finds the block that a resize has removed.
 *
 * Nesting of blocks. A function may return a block that another one inside it has just recorded
 * (calloc calls malloc). The inner record then stands in the table at the block's address, is the
 * last one that this thread has made, and was made at a lower SP: it was part of this call. The
 * outer record takes its place, as if the inner one had never been, and `nested` counts one. The
 * ledger need not have seen the entry of the outer call for this. Inside of an operation, which may
 * be such an outer call, a block is not counted to its stack at once; it is `uncounted`. Otherwise
 * a reader would believe that a block was freed which was counted and is in no record any more
 * (log/log_totals.h). The outer record drops the count. If there is none, the block is counted with
 * the thread's next record, or when its last operation has returned.
 *
 * Nesting of frees. A free is part of another event in two cases. It frees the block that a resize
 * around it is resizing. Or another free has called it or jumped to it (operator delete jumps to
 * free): then it is the same block, which is no longer in the table, SP is the same or lower, and
 * the return address of that other free is still in its place on the stack. Only frees that may
 * lead to others (`wraps`) are remembered for that.
 *
 * Sampling (log/sample.h). A thread counts its bytes down to the next sample; a block that comes
 * before it is counted in `unsampled`, and its stack is not walked. To subtract a block from the
 * countdown, and see whether a sample is in it, is called to draw for it. An inner and an outer
 * call that return the same block must be drawn for once: the draw for the inner one is taken back,
 * whatever its result was, and the draw for the outer one uses the outer one's size. An inner block
 * that was not sampled is in no table. So the table cannot tell it from an older block of this
 * thread at the same address that another thread has freed, and that the allocator has now given
 * out again. Therefore the entry of a function that may call another one notes how many blocks the
 * thread has drawn for (`draws`): if the last of them is this block, and was drawn for since that
 * entry, it is an inner one. For the same reason the last free that may lead to others is forgotten
 * when its block is given out again. A thread takes over a new rate when it draws.
 *
 * History (log/free_history.h). A free is remembered when its record was taken out. A resize is
 * remembered when it has returned and has moved or freed its block, if it was listed.
 *
 * Domains. Blocks are compared by their keys in the log, which contain the number of the process
 * and LOG_DOMAIN_USER. So a block of an allocator that the user has named is never taken for one of
 * malloc's.
 *
 * Without a thread's state (`thread` is NULL, in the agent only) an event is recorded all the same,
 * with entry 0 of the registry. Some things cannot be told apart then: nested frees count as
 * unknown, nested blocks as replaced, each block is drawn for on its own. A resize keeps what it
 * took in the words of its call. A throwing function could not be told from its own nothrow form,
 * so it runs as it is and counts as voided.
 *
 * Sizes of unknown blocks (log/log_unknown_free.h). A free or a resize that is `headed` adds the size
 * of its block to sized_bytes; a resize that fails takes it back. A free that is not, and has led to
 * one that is, has left the block in `unsized` for it.
 *
 * The environment is supplied by the file that includes ledger_events.h: it walks stacks, reads
 * them, and knows their bounds. Functions that need none of that are in ledger.c. Freestanding.
 */
#pragma once

#include "log/fast_path.h"
#include "log/log_unknown_free.h"
#include "log/sample.h"

#define LEDGER_OPS		8

/* An operation: a call that was entered and has not returned. */
struct ledger_op {
	uint64_t sp;				/* at entry */
	const struct ledger_function *function;	/* compared, and never followed */
	uint64_t block;				/* that is resized; 0 */
	/* its result, set before the block is recorded; 0 */
	uint64_t gave;
	uint32_t took;				/* `old` was in the log, and was taken out */
	uint32_t missed;			/* it was not, and was counted as an unknown free */
	uint32_t inside, pad;			/* part of an outer operation on the same block */
	struct log_record old;
};

/* A block that is recorded, and will be counted to its stack unless it is an outer call's. */
struct ledger_uncounted {
	uint64_t time;				/* of its record; 0: there is none */
	uint64_t blocks, bytes;
	uint32_t stack, pad;
};

/* All that the ledger knows about a thread. All zero at the beginning. */
struct ledger_thread {
	uint64_t key;				/* thread pointer; 0: free */
	uint32_t lwp;
	uint32_t log_thread;			/* registry entry */
	/* Read as one word it is not 0 if the thread must not take the agent's fast paths. */
	union {
		struct {
			uint16_t busy;		/* the agent's: the thread is in it */
			uint16_t slow;		/* the agent's: this log_thread cannot take them */
			uint32_t nr_ops;
		};
		uint64_t shut;
	};
	uint64_t stack_low, stack_high;		/* 0, 0: not known */
	uint64_t last_time;			/* of the last record */
	uint64_t word;				/* of its slots in the log, without stack */
	uint64_t inserted, inserted_sp;		/* its block, and SP at its function's entry */
	uint64_t freed, freed_sp, freed_ra;	/* the last free by a function that `wraps` */
	uint64_t unsized;		/* its block, if the free that it leads to is to tell the size */
	/* Sampling: up to `random` on one cache line. */
	uint64_t gap;				/* bytes to the next sample */
	uint64_t drawn, drawn_gap;		/* last block drawn for; the gap before it */
	uint16_t drawn_in;			/* it was sampled */
	uint16_t rate;				/* of the countdown (sample.h) */
	uint32_t draws;				/* blocks drawn for, ever */
	uint64_t random;			/* 0: not begun */
	struct ledger_op op[LEDGER_OPS];	/* outermost first */
	struct ledger_uncounted uncounted;
	uint64_t began;			/* the agent's: its slow path, where it is measured */
};

/* The log that calls are recorded in, and how. */
struct ledger {
	struct log *log;
	/* 0: all are recorded. Or mean bytes between samples, unless the log has a rate. */
	uint64_t sample;
	uint64_t history;		/* frees are remembered: as header->free_history */
	uint32_t depth;			/* frames of a stack */
	struct free_facts facts;	/* of what frees of unknown blocks are */
};

/* What a function that the user has named does with what it is given, if it is not one block. */
enum user_call {
	USER_CALL_BLOCK,
	USER_CALL_REF,			/* takes a reference to an object (ref_ring.h) */
	USER_CALL_UNREF,		/* gives it back */
	USER_CALL_CHAIN,		/* frees all blocks of a chain */
};

#define USER_CHAIN_MOST	(1u << 20)	/* blocks of a chain; the rest of it stays listed */

/* The properties of a function. */
struct ledger_function {
	uint8_t resize;
	uint8_t throwing;		/* its nothrow form is called instead */
	uint8_t wraps;			/* a free that may lead to another one */
	uint8_t user;			/* of the user's domain (LOG_DOMAIN_USER) */
	uint8_t entered;		/* its calls come to ledger_enter */
	uint8_t headed;			/* it reads the word before its block, as glibc lays it */
};

/* Two words that the environment keeps from ledger_enter to ledger_leave. */
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
 * The answer of ledger_release. If it is not zero, the stack is wanted, and ledger_unknown_free
 * must be called with the same call and this answer.
 *
 *	LEDGER_UNKNOWN	the log does not have the block
 *	LEDGER_FREED	it does not, but it had: its retired record is there
 *	else		the free is to be remembered, of the block that was recorded at that time
 */
#define LEDGER_UNKNOWN	1u
#define LEDGER_FREED	2u

/* This answer, for a block that log_record_remove has not found. */
static inline uint64_t ledger_missed(const struct log_record *old)
{
	return old->address ? LEDGER_FREED : LEDGER_UNKNOWN;
}

/* The thread's entry in the registry; 0 for all threads without a state. */
static inline uint32_t ledger_number(const struct ledger_thread *thread)
{
	return LIKELY(thread) ? thread->log_thread : 0;
}

/* Is sp inside the bounds of the thread's stack? */
static inline bool ledger_holds(const struct ledger_thread *thread, uint64_t sp)
{
	return sp >= thread->stack_low && sp < thread->stack_high;
}

/*
 * A time stamp that is later than the thread's last one, and differs from those that other threads
 * may read at the same moment: its lowest bits are the thread's number in the log. (They are equal
 * for threads whose numbers differ by a multiple of TIME_STEP. The step is some 10 ns, less than a
 * record takes, so that no thread runs ahead of the clock.)
 */
#define TIME_STEP	32ull

static ALWAYS_INLINE uint64_t ledger_time(const struct ledger_thread *thread)
{
	uint64_t now = log_now(), next = thread->last_time + TIME_STEP;

	return (MAX(now, next) & ~(TIME_STEP - 1)) | (thread->log_thread & (TIME_STEP - 1));
}

/*
 * A signal handler of the same thread that runs after this point sees all that was stored before
 * it.
 */
static inline void compiler_barrier(void)
{
	__asm__ volatile("" : : : "memory");
}

/*
 * A thread has ended, or its state goes to another one: void all operations that it had under way.
 */
void ledger_abandon(struct log *log, struct ledger_thread *thread);

/*
 * The log was reset: records that resizes have taken out are from before that and must not come
 * back. The thread must not write meanwhile.
 */
void ledger_reset(struct ledger_thread *thread);

/* Count the block of the thread that is uncounted, unless the log has forgotten it (log_reset). */
void ledger_count_now(struct log *log, struct ledger_thread *thread);

static ALWAYS_INLINE void ledger_settle(struct log *log, struct ledger_thread *thread)
{
	if (UNLIKELY(thread->uncounted.time))
		ledger_count_now(log, thread);
}

/* The block of this record is uncounted for now. The thread has no other one. */
void ledger_put_off(struct ledger_thread *thread, const struct log_record *record,
		    struct sample_share share);

/*
 * Drop the operations that an event at sp shows to be void, and count them. (The breakpoint engine
 * counts plain calls itself: drop_call in probe/trap_ledger.c.) bounded: sp is inside the thread's
 * bounds.
 */
void ledger_void(struct log *log, struct ledger_thread *thread, uint64_t sp, bool bounded);
/*
 * Do log_record_insert for a block that may be the same as the thread's last one, of time `last`;
 * the record of that one is then part of this call.
 */
bool ledger_insert_again(struct ledger_call call, const struct log_record *record,
			 uint64_t last);
/* Take back the inner record of a call that turns out not to be sampled. */
void ledger_take_back(struct ledger_call call, uint64_t block);
/* A resize has failed: put back what its entry took. op is NULL if it was not listed. */
void ledger_put_back(struct ledger_call call, const struct ledger_words *words,
		     const struct ledger_op *op);
