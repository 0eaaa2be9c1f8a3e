/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stacks that the agent can walk (theory in agent_stacks.h). Freestanding. */

#include "agent/agent_stacks.h"

#include "agent/agent_thread.h"

uint64_t agent_stacks_end(const struct agent_stacks *stacks, uint64_t address)
{
	uint64_t turn = __atomic_load_n(&stacks->turn, __ATOMIC_ACQUIRE);
	uint64_t nr = __atomic_load_n(&stacks->nr, __ATOMIC_RELAXED), low = 0, end = 0;

	if (LIKELY(!nr) || turn % 2 ||
	    log_now() > __atomic_load_n(&stacks->until, __ATOMIC_RELAXED))
		return 0;
	for (nr = nr < AGENT_STACKS ? nr : AGENT_STACKS; low < nr;) {
		uint64_t middle = (low + nr) / 2;
		const struct agent_range *range = &stacks->at[middle];

		if (__atomic_load_n(&range->start, __ATOMIC_RELAXED) <= address) {
			end = __atomic_load_n(&range->end, __ATOMIC_RELAXED);
			low = middle + 1;
		} else {
			nr = middle;
		}
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return turn == __atomic_load_n(&stacks->turn, __ATOMIC_RELAXED) && address < end ? end : 0;
}

void agent_stacks_miss(const struct agent_stacks *stacks, uint64_t address)
{
	struct agent_stacks *mine = (struct agent_stacks *)(uintptr_t)stacks;
	uint64_t misses = __atomic_load_n(&mine->misses, __ATOMIC_RELAXED);

	__atomic_store_n(&mine->missed[misses % AGENT_MISSED], address, __ATOMIC_RELAXED);
	__atomic_store_n(&mine->misses, misses + 1, __ATOMIC_RELEASE);
}

/* A word that is in no known stack. A page can be read as a whole, or not at all. */
static bool ask(struct agent_walk *walk, uint64_t address)
{
	uint64_t page = address & ~(uint64_t)(LOG_PAGE - 1);

	if (walk->page == page && page + LOG_PAGE - address >= sizeof(uint64_t))
		return true;
	agent_stacks_miss(&walk->state->stacks, address);
	if (!walk->state->stacks.asks)
		return false;
	walk->refused = !cpu_can_read(address);
	if (walk->refused)
		return false;
	walk->page = page;
	return true;
}

bool agent_stacks_word(void *ctx, uint64_t address, uint64_t *ret)
{
	struct agent_walk *walk = ctx;
	uint64_t end = agent_thread_known_end(walk->state, walk->thread, address);

	/* Below the start of the walk, on the same stack, is what was in use once. */
	if (end && address < walk->low && end == walk->high)
		return false;
	if (end ? end - address < sizeof(*ret) : !ask(walk, address))
		return false;
	*ret = *(const volatile uint64_t *)(uintptr_t)address;
	return true;
}
