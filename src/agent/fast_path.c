/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The short way of recording. It handles the block of a plain function, or a free, if the thread
 * has nothing else under way, the unwind cache knows its stack, and the block's record is in the
 * directory (log/directory.h). Nearly all calls of a program are of this kind, so their cost is
 * counted in instructions: the processor runs three and a half of them in a cycle. So nothing is
 * put in memory that may not be needed, and other functions are only called as the last step, which
 * saves registers. Every other case is for slow_path.c, which begins from the start. Freestanding.
 */

#include "agent/unwind_cache_find.h"
#include "agent/slow_path.h"

/* The block's record is not for the directory, or its place there is not known. */
static NOINLINE void insert_elsewhere(const struct agent_state *state, struct agent_thread *thread,
				      uint64_t block, uint64_t size, struct cache_entry *entry)
{
	if (record_insert(log_of(state), block, size, thread->ledger.last_time,
			 thread->ledger.word | entry->stack, NULL))
		unwind_cache_count(entry, 1, size);
	agent_thread_let_go(thread);
}

static NOINLINE uint64_t remove_elsewhere(const struct agent_state *state,
					  struct agent_thread *thread, uint64_t block)
{
	struct log_record old;
	bool known = record_remove(log_of(state), block, thread->ledger.log_thread, &old);

	agent_thread_let_go(thread);
	return known ? 0 : ledger_missed(&old);
}

/*
 * The start of a walk of the call's stack. The compiler keeps it out of memory where its address is
 * not taken.
 */
static ALWAYS_INLINE struct cache_walk walk_of(const struct agent_frame *frame,
					       const struct agent_probe *probe,
					       const struct agent_thread *thread)
{
	struct cache_walk walk;

	walk.map = __atomic_load_n(&probe->state->map, __ATOMIC_RELAXED);
	walk.function = probe->address;
	walk.pc = frame->return_address;
	walk.sp = entry_sp(frame) + 8;
	walk.bp = frame->bp;
	walk.bx = frame->bx;
	walk.high = thread->ledger.stack_high;
	walk.depth = probe->state->ledger.depth;
	return walk;
}

/*
 * All but the stack id, which the cache's entry has. The block is counted last (log/totals.h).
 */
static ALWAYS_INLINE void record(const struct agent_frame *frame, const struct agent_probe *probe,
				 struct agent_thread *thread, uint64_t size,
				 struct cache_entry *entry, const struct directory_spot *spot)
{
	const struct agent_state *state = probe->state;
	uint64_t block = frame->ax, stack = thread->ledger.word | entry->stack;

	thread->ledger.last_time = ledger_time(&thread->ledger);
	thread->ledger.inserted = block;
	thread->ledger.inserted_sp = entry_sp(frame);
	if (LIKELY(spot->line) &&
	    LIKELY(directory_insert(log_of(state), spot, block,
				    (struct slot_words){ thread->ledger.last_time, size,
							 stack }))) {
		account_block(log_of(state), thread->ledger.log_thread, LOG_ACCOUNT(allocs), size);
		unwind_cache_count(entry, 1, size);
		agent_thread_let_go(thread);
	} else {
		insert_elsewhere(state, thread, block, size, entry);
	}
}

/* Find where a record is. Its line may be far away: begin to load it while other work is done. */
static ALWAYS_INLINE void find_spot(const struct agent_state *state, uint64_t block,
				    struct directory_spot *ret)
{
	if (LIKELY(directory_spot(log_of(state), block, ret)))
		__builtin_prefetch(&ret->line->who[ret->at], 1);
}

/*
 * The allocator will read a word before the block (glibc's does), which is far away if the block
 * has not been used for long. Without mdbg the processor begins that load early, while it still
 * works on other frees. A locked instruction here, or one that reads the clock, stops it from
 * beginning anything before that instruction has ended. So this code begins the load itself, and
 * looks at the log while it is under way.
 */
static ALWAYS_INLINE void fetch_head(uint64_t block)
{
	__builtin_prefetch((const void *)(uintptr_t)(block - sizeof(uint64_t)));
}

/* The cache has several stacks that begin alike, or it does not know this stack yet. */
static NOINLINE void leave_by_branches(struct agent_frame *frame, const struct agent_probe *probe,
				       struct agent_thread *thread)
{
	struct cache_walk walk = walk_of(frame, probe, thread);
	struct cache_entry *entry;
	struct directory_spot spot;

	find_spot(probe->state, frame->ax, &spot);
	entry = unwind_cache_find(&thread->cache, &walk);
	if (LIKELY(entry)) {
		record(frame, probe, thread, size_of_block(frame, probe), entry, &spot);
		return;
	}
	agent_thread_let_go(thread);
	record_leave(frame, probe);
}

/* False: nothing was done. */
static ALWAYS_INLINE bool leave(struct agent_frame *frame, const struct agent_probe *probe)
{
	const struct agent_state *state = probe->state;
	struct agent_thread *thread = agent_thread_idle(state);
	uint64_t size = size_of_block(frame, probe);
	struct cache_walk walk;
	struct cache_item *item;
	struct directory_spot spot;

	if (UNLIKELY(!thread) || UNLIKELY(!ledger_holds(&thread->ledger, entry_sp(frame))) ||
	    UNLIKELY(thread->ledger.inserted == frame->ax) ||
	    UNLIKELY(!address_fits(frame->ax)) ||
	    UNLIKELY(size > LOG_SIZE_MAX))
		return false;
	thread->ledger.busy = 1;
	compiler_barrier();
	walk = walk_of(frame, probe, thread);
	item = item_guess(&thread->cache, walk_key(&walk));
	find_spot(state, frame->ax, &spot);
	if (LIKELY(item->kind == CACHE_ENTRY) &&
	    LIKELY(entry_holds((struct cache_entry *)item, &walk)))
		record(frame, probe, thread, size, (struct cache_entry *)item, &spot);
	else
		leave_by_branches(frame, probe, thread);
	return true;
}

ENTRY void agent_leave(struct agent_frame *frame, const struct agent_probe *probe)
{
	if (!enabled(probe->state))
		return;
	if (UNLIKELY(probe->fast != AGENT_FAST_ALL))
		sample_leave(frame, probe);
	else if (UNLIKELY(!leave(frame, probe)))
		record_leave(frame, probe);
}

ENTRY uint64_t agent_release(uint64_t block, uint64_t sp, const struct agent_probe *probe)
{
	const struct agent_state *state = probe->state;
	struct agent_thread *thread;
	struct directory_spot spot;
	uint64_t size;

	if (!enabled(state))
		return 0;
	if (UNLIKELY(probe->fast != AGENT_FAST_ALL))
		return sample_release(block, sp, probe);
	thread = agent_thread_idle(state);
	if (UNLIKELY(!thread) || UNLIKELY(!address_fits(block)) ||
	    UNLIKELY(thread->ledger.freed == block))
		return record_release(block, sp, probe);
	fetch_head(block);
	thread->ledger.busy = 1;
	compiler_barrier();
	if (UNLIKELY(probe->ledger.wraps))
		note_freed(&thread->ledger, block, sp);
	find_spot(state, block, &spot);
	if (UNLIKELY(!spot.line) ||
	    UNLIKELY(!directory_remove(log_of(state), &spot, block, NULL, &size)))
		return remove_elsewhere(state, thread, block);
	account_block(log_of(state), thread->ledger.log_thread, LOG_ACCOUNT(frees), size);
	agent_thread_let_go(thread);
	return 0;
}
