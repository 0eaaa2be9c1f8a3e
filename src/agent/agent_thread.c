/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread's own state: the rare cases. Freestanding; see agent_thread.h. */

#include "agent/agent_thread.h"

#include "log/budget.h"

static void thread_register(const struct agent_state *state, struct agent_thread *thread,
			    uint64_t tp, uint32_t lwp)
{
	uint32_t number = registry_thread(log_of(state), tp, lwp);

	thread->ledger.log_thread = number;
	thread->ledger.slow = thread_shared(log_of(state), number) ||
			      !directory_takes_thread(number);
	thread->ledger.word = slot_stack(LOG_STACK_NONE, number, LOG_HEAP_UNKNOWN);
}

struct agent_thread *agent_thread_find(const struct agent_state *state, uint64_t tp)
{
	uint64_t place = agent_thread_place(state, tp);
	uint64_t last = (1ull << (64 - state->threads_shift)) - 1;

	for (uint32_t i = 0; i < AGENT_THREAD_WAYS; i++) {
		struct agent_thread *thread = &state->threads[(place + i) & last];
		uint64_t key = __atomic_load_n(&thread->ledger.key, __ATOMIC_RELAXED);

		if (!key && !log_may_take(&state->log, sizeof(*thread)))
			return NULL;
		if (!key && __atomic_compare_exchange_n(&thread->ledger.key, &key, tp, false,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			log_take(&state->log, sizeof(*thread));
			/* If LWP ids are not known, the id never differs from the one before. */
			if (!state->tid_offset)
				thread_register(state, thread, tp, 0);
			return thread;
		}
		if (key == tp)
			return thread;
	}
	return NULL;
}

/*
 * `busy` may still be set by a thread that has died in the agent. A signal handler that comes
 * before the LWP id is stored does all of this itself, and clears `busy` again.
 */
void agent_thread_adopt(const struct agent_state *state, struct agent_thread *thread, uint64_t tp,
			uint32_t lwp)
{
	thread->ledger.busy = 1;
	compiler_barrier();
	thread->ledger.lwp = lwp;
	compiler_barrier();
	ledger_abandon(log_of(state), &thread->ledger);
	thread_register(state, thread, tp, lwp);
	compiler_barrier();
	thread->ledger.busy = 1;
}

static bool is_in(uint64_t address, uint64_t low, uint64_t high, struct agent_range *ret)
{
	*ret = (struct agent_range){ low, high };
	return address >= low && address < high;
}

/* key: of the thread's state; 0: it has none. */
static bool find_bounds(const struct agent_state *state, uint64_t key, uint64_t address,
			struct agent_range *ret)
{
	const volatile uint64_t *block;
	uint64_t low, size;

	if (is_in(address, state->main_low, state->main_high, ret))
		return true;
	if (!key || !state->stack_offset)
		return false;
	block = (const volatile uint64_t *)(key + state->stack_offset);
	low = block[0];
	size = block[1];
	/* For the main thread glibc has no base there, and its size field has the stack's end. */
	return low && size <= UINT64_MAX - low && is_in(address, low, low + size, ret);
}

uint64_t agent_thread_bounds(const struct agent_state *state, struct ledger_thread *thread,
			     uint64_t sp)
{
	struct agent_range range;

	if (!find_bounds(state, thread ? thread->key : 0, sp, &range))
		return 0;
	if (thread) {
		thread->stack_low = range.start;
		thread->stack_high = range.end;
	}
	return range.end;
}

uint64_t agent_thread_known_end(const struct agent_state *state,
				const struct ledger_thread *thread, uint64_t address)
{
	struct agent_range range;

	return find_bounds(state, thread ? thread->key : 0, address, &range) ?
		       range.end : agent_stacks_end(&state->stacks, address);
}
