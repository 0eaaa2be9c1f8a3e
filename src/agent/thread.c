/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread's own state: what happens rarely. Freestanding; see thread.h. */

#include "agent/thread.h"

#include "log/quick.h"

static void thread_register(const struct agent_state *state, struct agent_thread *thread,
			    uint64_t tp, uint32_t lwp)
{
	thread->log_thread = log_thread(log_of(state), tp, lwp);
	thread->word = slot_stack(LOG_STACK_NONE, thread->log_thread, LOG_HEAP_UNKNOWN);
}

struct agent_thread *agent_thread_find(const struct agent_state *state, uint64_t tp)
{
	uint32_t place = agent_thread_place(state, tp);
	uint32_t last = (uint32_t)((1ull << (64 - state->threads_shift)) - 1);

	for (uint32_t i = 0; i < AGENT_THREAD_WAYS; i++) {
		struct agent_thread *thread = &state->threads[(place + i) & last];
		uint64_t key = __atomic_load_n(&thread->key, __ATOMIC_RELAXED);

		if (!key && __atomic_compare_exchange_n(&thread->key, &key, tp, false,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			/* Where LWP ids are not known, none will be another than before. */
			if (!state->tid_offset)
				thread_register(state, thread, tp, 0);
			return thread;
		}
		if (key == tp)
			return thread;
	}
	return NULL;
}

static void count_voided(const struct agent_state *state, const struct agent_thread *thread,
			 uint32_t nr)
{
	account_add(log_of(state), thread->log_thread, LOG_ACCOUNT(voided), nr);
}

/*
 * `busy` may be left from a thread that has died in the agent. A signal handler that comes before
 * the LWP id is stored does all of this itself, and lets go.
 */
void agent_thread_adopt(const struct agent_state *state, struct agent_thread *thread, uint64_t tp,
			uint32_t lwp)
{
	thread->busy = 1;
	compiler_barrier();
	thread->lwp = lwp;
	compiler_barrier();
	if (thread->nr_ops)
		count_voided(state, thread, thread->nr_ops);
	thread->nr_ops = 0;
	thread->stack_low = thread->stack_high = 0;
	thread->inserted = thread->freed = 0;
	thread_register(state, thread, tp, lwp);
	compiler_barrier();
	thread->busy = 1;
}

/* Is it inside [low, high)? */
static bool bounds_take(struct agent_thread *thread, uint64_t sp, uint64_t low, uint64_t high)
{
	if (sp < low || sp >= high)
		return false;
	if (thread) {
		thread->stack_low = low;
		thread->stack_high = high;
	}
	return true;
}

uint64_t agent_thread_bounds(const struct agent_state *state, struct agent_thread *thread,
			     uint64_t sp)
{
	const volatile uint64_t *block;
	uint64_t low, size;

	if (bounds_take(thread, sp, state->main_low, state->main_high))
		return state->main_high;
	if (!thread || !state->stack_offset)
		return 0;
	block = (const volatile uint64_t *)(thread->key + state->stack_offset);
	low = block[0];
	size = block[1];
	/* Of the main thread, glibc has no base there but the stack's end as size. */
	if (!low || size > UINT64_MAX - low || !bounds_take(thread, sp, low, low + size))
		return 0;
	return low + size;
}

void agent_thread_void(const struct agent_state *state, struct agent_thread *thread, uint64_t sp)
{
	bool bounded = agent_thread_holds(thread, sp) || agent_thread_bounds(state, thread, sp);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < thread->nr_ops; i++) {
		uint64_t at = thread->op[i].sp;

		if (at == sp || (at < sp && bounded && agent_thread_holds(thread, at)))
			continue;
		if (kept != i)
			thread->op[kept] = thread->op[i];
		kept++;
		compiler_barrier();	/* or this becomes a call of memmove */
	}
	if (kept == thread->nr_ops)
		return;
	count_voided(state, thread, thread->nr_ops - kept);
	thread->nr_ops = kept;
}
