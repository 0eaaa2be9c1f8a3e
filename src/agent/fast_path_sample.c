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
 * Words that belong together are stored while the thread is marked busy, so a signal handler that
 * allocates in between finds it busy (state.h). Freestanding.
 */

#include "agent/slow_path.h"
#include "log/counting_filter.h"

/* False: nothing was done. */
static ALWAYS_INLINE bool pass(const struct agent_frame *frame, const struct agent_probe *probe)
{
	const struct agent_state *state = probe->state;
	struct agent_thread *thread = agent_thread_idle(state);
	uint64_t size = sample_size(size_of_block(frame, probe)), block = frame->ax;

	if (UNLIKELY(!thread) || UNLIKELY(!block) || UNLIKELY(thread->ledger.gap < size) ||
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

void fast_path_sample_leave(struct agent_frame *frame, const struct agent_probe *probe)
{
	if (UNLIKELY(probe->fast != AGENT_FAST_SAMPLE))
		slow_path_leave(frame, probe);
	else if (enabled(probe->state) && UNLIKELY(!pass(frame, probe)))
		slow_path_leave(frame, probe);
}

uint64_t fast_path_sample_release(uint64_t block, uint64_t sp, const struct agent_probe *probe)
{
	const struct agent_state *state = probe->state;
	struct agent_thread *thread;

	if (UNLIKELY(probe->fast != AGENT_FAST_SAMPLE))
		return slow_path_release(block, sp, probe);
	if (!enabled(state))
		return 0;
	thread = agent_thread_idle(state);
	if (UNLIKELY(!thread) || UNLIKELY(!block) || UNLIKELY(thread->ledger.freed == block) ||
	    UNLIKELY(!counting_filter_lacks(log_of(state), block)))
		return slow_path_release(block, sp, probe);
	agent_thread_begin(thread);
	if (UNLIKELY(probe->ledger.wraps))
		note_freed(&thread->ledger, block, sp);
	account_own(log_of(state), thread->ledger.log_thread, LOG_ACCOUNT(unsampled_frees));
	agent_thread_end(thread);
	return 0;
}
