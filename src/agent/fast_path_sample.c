/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The short way where the log samples: a plain function's block that is not sampled, or the free of
 * one that was not, by a thread that has nothing else under way.
 *
 * The block is in no table and no stack is walked for it: what is left is to know the thread, to
 * count its bytes down to the next sample, to remember what may turn out to be part of an outer
 * call's block (state.h, sampling), and an account. For a free one byte of the log's counting
 * filter says that the block is not recorded (log/counting_filter.h). A block in which the
 * countdown ends, and a free of which the counting filter does not know, are for slow_path.c, as is
 * all that is the least unusual; it begins from the start.
 *
 * A signal handler that allocates while words that belong together are being stored finds the
 * thread busy, as ever (state.h). Freestanding.
 */

#include "agent/slow_path.h"
#include "log/counting_filter.h"

/* False: nothing is done. */
static ALWAYS_INLINE bool pass(const struct agent_frame *frame, const struct agent_probe *probe)
{
	const struct agent_state *state = probe->state;
	struct agent_thread *thread = agent_thread_idle(state);
	uint64_t size = sample_size(size_of_block(frame, probe)), block = frame->ax;

	if (UNLIKELY(!thread) || UNLIKELY(!block) || UNLIKELY(thread->ledger.gap < size) ||
	    (UNLIKELY(probe->ledger.entered) && thread->ledger.drawn == block))
		return false;
	thread->ledger.busy = 1;
	compiler_barrier();
	if (UNLIKELY(thread->ledger.freed == block))
		thread->ledger.freed = 0;
	thread->ledger.draws++;
	thread->ledger.drawn = block;
	thread->ledger.drawn_gap = thread->ledger.gap;
	thread->ledger.drawn_in = 0;
	thread->ledger.gap -= size;
	account_one(log_of(state), thread->ledger.log_thread, LOG_ACCOUNT(unsampled));
	agent_thread_let_go(thread);
	return true;
}

void sample_leave(struct agent_frame *frame, const struct agent_probe *probe)
{
	if (UNLIKELY(probe->fast != AGENT_FAST_SAMPLE) || UNLIKELY(!pass(frame, probe)))
		record_leave(frame, probe);
}

uint64_t sample_release(uint64_t block, uint64_t sp, const struct agent_probe *probe)
{
	const struct agent_state *state = probe->state;
	struct agent_thread *thread;

	if (UNLIKELY(probe->fast != AGENT_FAST_SAMPLE))
		return record_release(block, sp, probe);
	thread = agent_thread_idle(state);
	if (UNLIKELY(!thread) || UNLIKELY(!block) || UNLIKELY(thread->ledger.freed == block) ||
	    UNLIKELY(!counting_filter_lacks(log_of(state), block)))
		return record_release(block, sp, probe);
	thread->ledger.busy = 1;
	compiler_barrier();
	if (UNLIKELY(probe->ledger.wraps))
		note_freed(&thread->ledger, block, sp);
	account_one(log_of(state), thread->ledger.log_thread, LOG_ACCOUNT(unsampled_frees));
	agent_thread_let_go(thread);
	return 0;
}
