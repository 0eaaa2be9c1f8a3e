/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The fast path where the log samples: a plain function's block that is not sampled, or the free of
 * one that was not, by a thread that has nothing else under way.
 *
 * The block is in no table and no stack is walked for it. So only this is left to do: find the
 * thread, count its bytes down to the next sample, remember the block in case an outer call returns
 * it too (log/ledger.h, Sampling), and count it in an account. For a free one byte of the log's
 * counting filter says that the block is not recorded (log/counting_filter.h). A block in which the
 * countdown ends, a free for which the counting filter has no answer, and every unusual case are
 * for slow_path.c, which begins from the start.
 *
 * How long that takes is measured here, in one of AGENT_TIMED calls, and in the slow path in all of
 * them: by that and the numbers of calls mdbg knows what the agent takes (log/sample_cost.h). A call
 * that was interrupted meanwhile is left out.
 *
 * Words that belong together are stored while the thread is marked busy, so a signal handler that
 * allocates in between finds it busy (state.h). Freestanding.
 */

#include "agent/slow_path.h"
#include "log/counting_filter.h"

#define AGENT_TIMED	256u		/* a power of two */
#define TIMED_MOST	(1u << 14)	/* ticks: more than a few cache misses */

/* Is this call measured? It is so until the thread's next block. */
static ALWAYS_INLINE bool is_timed(const struct agent_thread *thread)
{
	return UNLIKELY(!(thread->ledger.draws % AGENT_TIMED));
}

/* Two stamps were taken before a call, one after the other, and one after it. */
static void note_timed(const struct agent_state *state, const uint64_t *stamp)
{
	uint64_t alone = stamp[1] - stamp[0], ticks = stamp[2] - stamp[1];
	struct agent_thread *thread = agent_thread_idle(state);

	if (!thread || ticks > TIMED_MOST)
		return;
	account_add(log_of(state), thread->ledger.log_thread, LOG_ACCOUNT(timed_calls), 1);
	account_add(log_of(state), thread->ledger.log_thread, LOG_ACCOUNT(timed_ticks),
		    ticks - MIN(alone, ticks));
}

/* False: nothing was done. */
static ALWAYS_INLINE bool pass(const struct agent_frame *frame, const struct agent_probe *probe,
			       bool timed)
{
	const struct agent_state *state = probe->state;
	struct agent_thread *thread = agent_thread_idle(state);
	uint64_t size = sample_size(size_of_block(frame, probe)), block = frame->ax;

	if (UNLIKELY(!thread) || (!timed && is_timed(thread)) || UNLIKELY(!block) ||
	    UNLIKELY(thread->ledger.gap < size) || UNLIKELY(size >= SAMPLE_LARGE) ||
	    UNLIKELY(thread->ledger.rate != log_rate(log_of(state))) ||
	    (UNLIKELY(probe->ledger.entered) && thread->ledger.drawn == block))
		return false;
	agent_thread_begin(thread);
	if (UNLIKELY(thread->ledger.freed == block))
		thread->ledger.freed = 0;
	thread->ledger.draws++;
	thread->ledger.drawn = block;
	thread->ledger.drawn_gap = thread->ledger.gap;
	thread->ledger.drawn_in = 0;
	thread->ledger.gap -= size;
	account_own(log_of(state), thread->ledger.log_thread, LOG_ACCOUNT(unsampled));
	agent_thread_end(thread);
	return true;
}

static NOINLINE bool pass_timed(const struct agent_frame *frame, const struct agent_probe *probe)
{
	uint64_t stamp[3];
	bool passed;

	stamp[0] = intrinsic_stamp_in_order();
	stamp[1] = intrinsic_stamp_in_order();
	passed = pass(frame, probe, true);
	stamp[2] = intrinsic_stamp_in_order();
	if (passed)
		note_timed(probe->state, stamp);
	return passed;
}

/* The fast path has given up: because the call is to be measured, or because it is none for it. */
static NOINLINE void leave_rarely(struct agent_frame *frame, const struct agent_probe *probe)
{
	const struct agent_thread *thread = agent_thread_idle(probe->state);

	if (!thread || !is_timed(thread) || !pass_timed(frame, probe))
		slow_path_leave(frame, probe);
}

void fast_path_sample_leave(struct agent_frame *frame, const struct agent_probe *probe)
{
	if (UNLIKELY(probe->fast != AGENT_FAST_SAMPLE))
		slow_path_leave(frame, probe);
	else if (enabled(probe->state) && UNLIKELY(!pass(frame, probe, false)))
		leave_rarely(frame, probe);
}

/* The same for a free. */
static ALWAYS_INLINE bool pass_free(uint64_t block, uint64_t sp, const struct agent_probe *probe,
				    bool timed)
{
	const struct agent_state *state = probe->state;
	struct agent_thread *thread = agent_thread_idle(state);

	if (UNLIKELY(!thread) || (!timed && is_timed(thread)) || UNLIKELY(!block) ||
	    UNLIKELY(thread->ledger.freed == block) ||
	    UNLIKELY(!counting_filter_lacks(log_of(state), block)))
		return false;
	agent_thread_begin(thread);
	if (UNLIKELY(probe->ledger.wraps))
		note_freed(&thread->ledger, block, sp);
	account_own(log_of(state), thread->ledger.log_thread, LOG_ACCOUNT(unsampled_frees));
	agent_thread_end(thread);
	return true;
}

static NOINLINE bool pass_free_timed(uint64_t block, uint64_t sp, const struct agent_probe *probe)
{
	uint64_t stamp[3];
	bool passed;

	stamp[0] = intrinsic_stamp_in_order();
	stamp[1] = intrinsic_stamp_in_order();
	passed = pass_free(block, sp, probe, true);
	stamp[2] = intrinsic_stamp_in_order();
	if (passed)
		note_timed(probe->state, stamp);
	return passed;
}

static NOINLINE uint64_t release_rarely(uint64_t block, uint64_t sp,
					const struct agent_probe *probe)
{
	const struct agent_thread *thread = agent_thread_idle(probe->state);

	if (thread && is_timed(thread) && pass_free_timed(block, sp, probe))
		return 0;
	return slow_path_release(block, sp, probe);
}

uint64_t fast_path_sample_release(uint64_t block, uint64_t sp, const struct agent_probe *probe)
{
	if (UNLIKELY(probe->fast != AGENT_FAST_SAMPLE))
		return slow_path_release(block, sp, probe);
	if (!enabled(probe->state) || LIKELY(pass_free(block, sp, probe, false)))
		return 0;
	return release_rarely(block, sp, probe);
}
