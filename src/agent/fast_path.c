/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The fast path of recording. It handles the block of a plain function, or a free, if the thread
 * has nothing else under way, the unwind cache knows its stack, and the block's record is in the
 * directory (log/directory.h). Nearly all calls of a program are of this kind, so their cost is
 * counted in instructions: the processor runs three and a half of them in a cycle. So nothing is
 * put in memory that may not be needed, and other functions are only called as the last step, which
 * saves registers. Every other case is for slow_path.c, which begins from the start. Freestanding.
 */

#include "agent/unwind_cache_find.h"
#include "agent/slow_path.h"

/* The block's record is not for the directory. */
static NOINLINE void insert_elsewhere(const struct agent_state *state, struct agent_thread *thread,
				      uint64_t block, uint64_t size, struct cache_entry *entry)
{
	size = MIN(size, LOG_SIZE_MAX);
	if (log_record_insert_slow(log_of(state), block, size, thread->ledger.last_time,
			 thread->ledger.word | entry->stack, NULL))
		unwind_cache_count(entry, 1, size);
	agent_thread_end(thread);
}

/* The block's record is not that of its granule. */
static NOINLINE uint64_t remove_elsewhere(const struct agent_state *state,
					  struct agent_thread *thread, uint64_t block)
{
	struct log *log = log_of(state);
	struct log_record old;
	uint64_t size;
	bool known;

	if (LIKELY(directory_remove_half(log, block, &size))) {
		account_own_block(log, thread->ledger.log_thread, LOG_ACCOUNT(frees), size);
		agent_thread_end(thread);
		return 0;
	}
	known = log_record_remove_slow(log, block, thread->ledger.log_thread, &old);
	agent_thread_end(thread);
	return known ? 0 : ledger_missed(&old);
}

/*
 * The start of a walk of the call's stack. The compiler keeps it out of memory where its address is
 * not taken, and loads nothing of it that is not asked for.
 */
static ALWAYS_INLINE struct cache_walk walk_of(const struct agent_frame *frame,
					       const struct agent_probe *probe,
					       const struct agent_thread *thread)
{
	struct cache_walk walk;

	walk.setting = __atomic_load_n(&probe->state->setting, __ATOMIC_RELAXED);
	walk.function = probe->address;
	walk.pc = frame->return_address;
	walk.sp = entry_sp(frame) + 8;
	walk.bp = frame->bp;
	walk.bx = frame->bx;
	walk.high = thread->ledger.stack_high;
	return walk;
}

/*
 * All but the stack id, which the cache's entry has. The block is counted last (log/log_totals.h).
 * With no slot the record is not for the directory.
 */
static ALWAYS_INLINE void record(const struct agent_frame *frame, const struct agent_probe *probe,
				 struct agent_thread *thread, struct cache_entry *entry,
				 const struct directory_slot *slot, uint64_t size)
{
	struct log *log = log_of(probe->state);
	uint64_t block = frame->ax, time = ledger_time(&thread->ledger);
	struct directory_words words = {
		.ticks = (time - log->header->origin) >> WHO_TICK_SHIFT,
		.thread = thread->ledger.log_thread,
		.size = size,
		.stack = entry->stack,
	};

	thread->ledger.last_time = time;
	thread->ledger.inserted = block;
	thread->ledger.inserted_sp = entry_sp(frame);
	if (!slot || UNLIKELY(!directory_words_fit(block, &words)) ||
	    UNLIKELY(!directory_slot_is_vacant(slot))) {
		insert_elsewhere(probe->state, thread, block, words.size, entry);
		return;
	}
	directory_store_words(slot, block, &words);
	account_own_block(log, thread->ledger.log_thread, LOG_ACCOUNT(allocs), words.size);
	unwind_cache_count(entry, 1, words.size);
	agent_thread_end(thread);
}

/*
 * Find where a record is. Its line may be far away: begin to load it while other work is done.
 * False: its place in the directory is not known, or the block is NULL.
 */
static ALWAYS_INLINE bool find_spot(const struct agent_state *state, uint64_t block,
				    struct directory_spot *ret)
{
	if (UNLIKELY(!directory_spot(log_of(state), block, ret)))
		return false;
	__builtin_prefetch(&ret->line->who[ret->at], 1);
	return true;
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

/*
 * The cache has several stacks that begin alike, as where all call malloc through one function; or
 * it does not know this stack yet. Or there is no slot: the record is not for the directory.
 */
static NOINLINE void leave_by_branches(struct agent_frame *frame, const struct agent_probe *probe,
				       struct agent_thread *thread, uint64_t *who, uint32_t *what)
{
	struct cache_walk walk = walk_of(frame, probe, thread);
	const struct directory_slot slot = { who, what };
	uint64_t key = walk_key(&walk);
	struct cache_item *item = item_guess(&thread->cache, key);
	struct cache_entry *entry;

	if (UNLIKELY(!branch_at(item, key)))
		item = item_find(&thread->cache, key);
	entry = unwind_cache_find_from(&thread->cache, &walk, item, key);
	if (LIKELY(entry)) {
		record(frame, probe, thread, entry, LIKELY(who) ? &slot : NULL,
		       size_of_block(frame, probe));
		return;
	}
	agent_thread_end(thread);
	slow_path_leave(frame, probe);
}

/*
 * The entry of the call's stack, if it is where most are; else NULL. These are the conditions of
 * entry_holds, but what an entry is compared with is loaded only there, so that registers are free
 * for other things.
 */
static ALWAYS_INLINE struct cache_entry *guess(const struct agent_frame *frame,
					       const struct agent_probe *probe,
					       struct agent_thread *thread)
{
	uint64_t pc = frame->return_address, sp = entry_sp(frame) + 8, function = probe->address;
	struct cache_entry *entry =
		(struct cache_entry *)item_guess(&thread->cache, start_key(pc, sp, function));

	if (LIKELY(entry->item.kind == CACHE_ENTRY) && LIKELY(entry->pc == pc) &&
	    LIKELY(entry->sp == sp) && LIKELY(entry->high == thread->ledger.stack_high) &&
	    LIKELY(entry->function == function) &&
	    LIKELY(entry->setting ==
		   __atomic_load_n(&probe->state->setting, __ATOMIC_RELAXED)) &&
	    (LIKELY(!entry->regs_used) || entry_regs_hold(entry, frame->bp, frame->bx)) &&
	    LIKELY(entry_slots_hold(entry, sp)))
		return entry;
	return NULL;
}

/* Record the block in the slot. */
static ALWAYS_INLINE void leave_at(struct agent_frame *frame, const struct agent_probe *probe,
				   struct agent_thread *thread, const struct directory_slot *slot,
				   uint64_t size)
{
	struct cache_entry *entry = guess(frame, probe, thread);

	if (LIKELY(entry))
		record(frame, probe, thread, entry, slot, size);
	else
		leave_by_branches(frame, probe, thread, slot->who, slot->what);
}

/* The block does not have its granule for itself, but perhaps the lower half of it. */
static NOINLINE void leave_half(struct agent_frame *frame, const struct agent_probe *probe,
				struct agent_thread *thread)
{
	uint64_t size = size_of_block(frame, probe);
	struct directory_slot slot;

	if (directory_half_is_open(log_of(probe->state), frame->ax, size, &slot))
		leave_at(frame, probe, thread, &slot, size);
	else
		leave_by_branches(frame, probe, thread, NULL, NULL);
}

/* False: nothing was done. */
static ALWAYS_INLINE bool leave(struct agent_frame *frame, const struct agent_probe *probe)
{
	const struct agent_state *state = probe->state;
	struct agent_thread *thread = agent_thread_idle(state);
	struct log *log = log_of(state);
	struct directory_spot spot;
	struct directory_slot slot;
	uint64_t size;

	if (UNLIKELY(!thread) || UNLIKELY(!ledger_holds(&thread->ledger, entry_sp(frame))) ||
	    UNLIKELY(thread->ledger.inserted == frame->ax) ||
	    UNLIKELY(!find_spot(state, frame->ax, &spot)))
		return false;
	agent_thread_begin(thread);
	size = size_of_block(frame, probe);
	if (UNLIKELY(!directory_has_granule(log, frame->ax, size))) {
		leave_half(frame, probe, thread);
		return true;
	}
	if (UNLIKELY(!directory_is_open(log, &spot, frame->ax))) {
		leave_by_branches(frame, probe, thread, NULL, NULL);
		return true;
	}
	slot = directory_slot(&spot);
	leave_at(frame, probe, thread, &slot, size);
	return true;
}

ENTRY void agent_leave(struct agent_frame *frame, const struct agent_probe *probe)
{
	if (UNLIKELY(probe->fast != AGENT_FAST_ALL))
		fast_path_sample_leave(frame, probe);
	else if (enabled(probe->state) && UNLIKELY(!leave(frame, probe)))
		slow_path_leave(frame, probe);
}

/* Take out the record at the spot, or wherever else it is. */
static ALWAYS_INLINE uint64_t release_at(uint64_t block, uint64_t sp,
					 const struct agent_probe *probe,
					 struct agent_thread *thread,
					 const struct directory_spot *spot)
{
	struct log *log = log_of(probe->state);
	uint64_t size;

	agent_thread_begin(thread);
	if (UNLIKELY(probe->ledger.wraps))
		note_freed(&thread->ledger, block, sp);
	if (UNLIKELY(!directory_remove(log, spot, block, NULL, &size)))
		return remove_elsewhere(probe->state, thread, block);
	account_own_block(log, thread->ledger.log_thread, LOG_ACCOUNT(frees), size);
	agent_thread_end(thread);
	return 0;
}

/*
 * The page has halves, so the record may be that of the lower half alone. Which of the two it is
 * will be known only when the granule's is there. So this code begins to load both.
 */
static NOINLINE uint64_t release_half(uint64_t block, uint64_t sp, const struct agent_probe *probe,
				      struct agent_thread *thread)
{
	const struct log *log = log_of(probe->state);
	struct directory_spot spot, half;

	if (UNLIKELY(!directory_spot(log, block, &spot)))
		return slow_path_release(block, sp, probe);
	if (directory_is_lower(block) && directory_spot(log, block + DIRECTORY_HALVES, &half))
		__builtin_prefetch(&half.line->who[half.at], 1);
	return release_at(block, sp, probe, thread, &spot);
}

ENTRY uint64_t agent_release(uint64_t block, uint64_t sp, const struct agent_probe *probe)
{
	const struct agent_state *state = probe->state;
	struct agent_thread *thread;
	struct directory_spot spot;

	if (UNLIKELY(probe->fast != AGENT_FAST_ALL))
		return fast_path_sample_release(block, sp, probe);
	if (!enabled(state))
		return 0;
	thread = agent_thread_idle(state);
	if (UNLIKELY(!thread) || UNLIKELY(thread->ledger.freed == block) ||
	    UNLIKELY(!find_spot(state, block, &spot)))
		return slow_path_release(block, sp, probe);
	fetch_head(block);
	if (UNLIKELY(directory_has_halves(&spot)))
		return release_half(block, sp, probe, thread);
	return release_at(block, sp, probe, thread, &spot);
}
