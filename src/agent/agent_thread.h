/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread's own state: found, held while the thread is in the agent, and the bounds of its stack.
 * Theory in state.h. Freestanding.
 */
#pragma once

#include "agent/cpu_x86_64.h"
#include "agent/state.h"

/* The log's functions change the memory that the view points to, not the view itself. */
static inline struct log *log_of(const struct agent_state *state)
{
	return (struct log *)(uintptr_t)&state->log;
}

/*
 * The state of a thread that is not in its first place; if it has none yet, a place is claimed for
 * it. NULL: no place is free.
 */
struct agent_thread *agent_thread_find(const struct agent_state *state, uint64_t tp);
/* The state belongs to another LWP than before, or to its first one. It is held afterwards. */
void agent_thread_adopt(const struct agent_state *state, struct agent_thread *thread, uint64_t tp,
			uint32_t lwp);
/*
 * The end of the stack that sp is on now; 0: it is not known. thread (may be NULL) remembers the
 * bounds.
 */
uint64_t agent_thread_bounds(const struct agent_state *state, struct ledger_thread *thread,
			     uint64_t sp);

/*
 * The end of the stack that holds address, whether it is the main thread's, this thread's or one of
 * state->stacks; 0: it is in none. thread may be NULL, and remembers nothing.
 */
uint64_t agent_thread_known_end(const struct agent_state *state,
				const struct ledger_thread *thread, uint64_t address);

/* The first of AGENT_THREAD_WAYS places. */
static inline uint64_t agent_thread_place(const struct agent_state *state, uint64_t tp)
{
	return tp * 0x9e3779b97f4a7c15ull >> state->threads_shift;
}

/*
 * The state of the current thread, if it is in its first place and the fast paths are open to it.
 * Otherwise NULL, and agent_thread_hold must be asked. There must be `threads` and a tid_offset.
 * The key of a state is a thread pointer that was checked when the place was claimed.
 */
static ALWAYS_INLINE struct agent_thread *agent_thread_idle(const struct agent_state *state)
{
	uint64_t tp = cpu_unchecked_thread_pointer();
	struct agent_thread *thread = &state->threads[agent_thread_place(state, tp)];

	if (UNLIKELY(!tp) || UNLIKELY(thread->ledger.key != tp) ||
	    UNLIKELY(thread->ledger.lwp != cpu_thread_word(state->tid_offset)) ||
	    UNLIKELY(thread->ledger.shut))
		return NULL;
	return thread;
}

/*
 * Hold the state of a thread that is idle, and let it go. The word is stored as it is loaded, as a
 * whole: the next call's load comes so soon that it takes the value from the store, which a
 * processor can only do if the store is not narrower.
 */
static ALWAYS_INLINE void agent_thread_begin(struct agent_thread *thread)
{
	thread->ledger.shut = 1;
	compiler_barrier();
}

static ALWAYS_INLINE void agent_thread_end(struct agent_thread *thread)
{
	compiler_barrier();
	thread->ledger.shut = 0;
}

/*
 * Hold the current thread's state; the caller must release it. NULL: the thread has none, or is in
 * the agent already.
 */
static inline struct agent_thread *agent_thread_hold(const struct agent_state *state)
{
	struct agent_thread *thread;
	uint32_t lwp;
	uint64_t tp;

	if (UNLIKELY(!state->threads) ||
	    UNLIKELY(!cpu_thread_pointer(state->self_offset, &tp)))
		return NULL;
	thread = &state->threads[agent_thread_place(state, tp)];
	if (UNLIKELY(thread->ledger.key != tp)) {
		thread = agent_thread_find(state, tp);
		if (!thread)
			return NULL;
	}
	lwp = state->tid_offset ? cpu_thread_word(state->tid_offset) : 0;
	if (UNLIKELY(thread->ledger.lwp != lwp)) {
		agent_thread_adopt(state, thread, tp, lwp);
		return thread;
	}
	if (UNLIKELY(thread->ledger.busy))
		return NULL;
	thread->ledger.busy = 1;
	compiler_barrier();
	return thread;
}

static inline void agent_thread_let_go(struct agent_thread *thread)
{
	if (UNLIKELY(!thread))
		return;
	compiler_barrier();
	thread->ledger.busy = 0;
}

/* The end of the memory that can be read from the word at sp on. SP is there, or was just there. */
static inline uint64_t agent_thread_stack_end(const struct agent_state *state,
					      struct ledger_thread *thread, uint64_t sp)
{
	uint64_t end;

	if (LIKELY(thread && ledger_holds(thread, sp)))
		return thread->stack_high;
	end = agent_thread_bounds(state, thread, sp);
	if (!end)
		end = agent_stacks_end(&state->stacks, sp);
	return end ? end : (sp | 4095) + 1;
}
