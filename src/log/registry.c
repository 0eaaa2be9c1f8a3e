/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The thread registry: look-up and new entries. Freestanding; see registry.h. */

#include "log/registry.h"

#include "log/budget.h"

/*
 * The index is at most half full and well spread: a search that comes this far means that somebody
 * has written over the region.
 */
#define PROBE_MAX	4096
/* What an entry takes of the index, which is filled all over: most have a page of it for themselves. */
#define REGISTRY_INDEX	(LOG_PAGE / 2)

static uint32_t hash_thread(uint64_t thread_pointer, uint32_t lwp)
{
	uint64_t hash = (thread_pointer ^ (uint64_t)lwp << 32 ^ lwp) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)((hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ull >> 32);
}

/* Make a new entry. 0: there is no room. */
static uint32_t entry_create(struct log *log, uint64_t thread_pointer, uint32_t lwp)
{
	uint32_t nr = threads_count(log);

	do {
		if (nr >= log->nr_threads || !log_may_take(log, sizeof(*log->thread) + REGISTRY_INDEX))
			return 0;
	} while (!__atomic_compare_exchange_n(&log->header->threads, &nr, nr + 1, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	log_take(log, sizeof(*log->thread) + REGISTRY_INDEX);
	__atomic_store_n(&log->thread[nr].thread_pointer, thread_pointer, __ATOMIC_RELAXED);
	__atomic_store_n(&log->thread[nr].lwp, lwp, __ATOMIC_RELAXED);
	return nr;
}

static bool entry_is(const struct log *log, uint32_t thread, uint64_t thread_pointer, uint32_t lwp)
{
	const struct log_entry *entry = &log->thread[thread];

	return thread < log->nr_threads &&
	       __atomic_load_n(&entry->thread_pointer, __ATOMIC_RELAXED) == thread_pointer &&
	       __atomic_load_n(&entry->lwp, __ATOMIC_RELAXED) == lwp;
}

uint32_t registry_thread(struct log *log, uint64_t thread_pointer, uint32_t lwp)
{
	uint32_t mask = 2 * log->nr_threads - 1, at = hash_thread(thread_pointer, lwp);
	uint32_t created = 0;

	for (unsigned probes = 0; probes < PROBE_MAX; probes++, at++) {
		uint32_t *index = &log->thread_index[at & mask];
		uint32_t thread = __atomic_load_n(index, __ATOMIC_ACQUIRE);

		if (!thread) {
			if (!created)
				created = entry_create(log, thread_pointer, lwp);
			if (!created ||
			    __atomic_compare_exchange_n(index, &thread, created, false,
							__ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
				return created;
		}
		/*
		 * Look at the place also if another thread has just taken it: its entry may be for
		 * this thread.
		 */
		if (entry_is(log, thread, thread_pointer, lwp))
			return thread;
	}
	return 0;
}

void registry_count(struct log *log, uint32_t thread, unsigned what, uint64_t by)
{
	if (what < sizeof(struct log_accounts) / sizeof(uint64_t))
		account_add(log, thread, what, by);
}
