/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread's own state: found, held while the thread is in the agent, and the bounds of its stack.
 * Theory in state.h. Freestanding.
 */
#pragma once

#include "agent/cpu_x86_64.h"
#include "agent/state.h"

/* The log's functions change what the view leads to, not the view. */
static inline struct log *log_of(const struct agent_state *state)
{
	return (struct log *)(uintptr_t)&state->log;
}

/* The place of a thread that is not in its first, or NULL: claim one if there is none. */
struct agent_thread *agent_thread_find(const struct agent_state *state, uint64_t tp);
/* Another LWP than before, or the first. Held afterwards. */
void agent_thread_adopt(const struct agent_state *state, struct agent_thread *thread, uint64_t tp,
			uint32_t lwp);
/* Bounds that hold for sp now: the end, 0: none is known. thread (may be NULL) remembers them. */
uint64_t agent_thread_bounds(const struct agent_state *state, struct ledger_thread *thread,
			     uint64_t sp);

/* The first of AGENT_THREAD_WAYS places. */
static inline uint32_t agent_thread_place(const struct agent_state *state, uint64_t tp)
{
	return (uint32_t)(tp * 0x9e3779b97f4a7c15ull >> state->threads_shift);
}

/* The current thread's LWP id; 0 where it is not known. */
static ALWAYS_INLINE uint32_t agent_thread_lwp(const struct agent_state *state, uint64_t tp)
{
	return LIKELY(state->tid_offset) ? *(const volatile uint32_t *)(tp + state->tid_offset) : 0;
}

/*
 * Where there are states of threads: that of the current one, if it is in its first place, and the
 * thread is not in the agent and has nothing under way. Else NULL: agent_thread_hold knows more.
 */
static ALWAYS_INLINE struct agent_thread *agent_thread_idle(const struct agent_state *state)
{
	struct agent_thread *thread;
	uint32_t lwp;
	uint64_t tp;

	if (UNLIKELY(!cpu_thread_pointer(state->self_offset, &tp)))
		return NULL;
	thread = &state->threads[agent_thread_place(state, tp)];
	if (UNLIKELY(thread->ledger.key != tp))
		return NULL;
	lwp = agent_thread_lwp(state, tp);
	if (UNLIKELY(thread->ledger.lwp != lwp) || UNLIKELY(*(const uint64_t *)&thread->ledger.busy))
		return NULL;
	return thread;
}

/* The current thread's state, to be let go; NULL: it has none, or is in the agent already. */
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
	lwp = agent_thread_lwp(state, tp);
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

/* Memory can be read from the word at sp, where SP is or has just been, up to here. */
static inline uint64_t agent_thread_stack_end(const struct agent_state *state,
					      struct ledger_thread *thread, uint64_t sp)
{
	uint64_t end;

	if (LIKELY(thread && ledger_holds(thread, sp)))
		return thread->stack_high;
	end = agent_thread_bounds(state, thread, sp);
	return end ? end : (sp | 4095) + 1;
}
