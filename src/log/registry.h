/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The thread registry: who allocated, and each writer's account. Freestanding.
 *
 * Entries are handed out in order, so that only those in use are ever looked at, and are found by a
 * hash over (thread pointer, LWP id) in an index of numbers twice as large, which is probed in a
 * line until an empty place; neither is ever taken back. An entry is written before its number is
 * put into the index (compare and swap). A writer that dies in between leaves an entry that nobody
 * finds.
 */
#pragma once

#include "log/layout.h"

/* Entries in use, as far as the region is to be believed; 1 at least. */
static inline uint32_t threads_count(const struct log *log)
{
	uint32_t nr = __atomic_load_n(&log->header->threads, __ATOMIC_ACQUIRE);

	if (UNLIKELY(nr - 1 >= log->nr_threads))
		nr = nr ? log->nr_threads : 1;
	return nr;
}

#if defined(__has_feature)
#define REGISTRY_TSAN	__has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__)
#define REGISTRY_TSAN	1
#else
#define REGISTRY_TSAN	0
#endif

/*
 * Add to a counter of the calling thread's own: in one instruction, since a signal handler of the
 * same thread may count, too. It is not locked: no other thread writes here.
 */
static inline void own_add(uint64_t *counter, uint64_t by)
{
#if defined(__x86_64__) && !REGISTRY_TSAN
	__asm__ volatile("addq %1, %0" : "+m"(*counter) : "er"(by) : "cc");
#else
	__atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
#endif
}

/* Is it entry 0, or none: one that several write? */
static inline bool thread_shared(const struct log *log, uint32_t thread)
{
	return thread - 1 >= log->nr_threads - 1;
}

/*
 * Add to an account. An entry has one writer at a time, but for entry 0, which all those have that
 * have no other.
 */
static inline void account_add(struct log *log, uint32_t thread, unsigned what, uint64_t by)
{
	if (UNLIKELY(thread_shared(log, thread)))
		__atomic_fetch_add(&log->thread[0].account[what], by, __ATOMIC_RELAXED);
	else
		own_add(&log->thread[thread].account[what], by);
}

/* A free of a block that is not in the table. */
static inline void account_miss(struct log *log, uint32_t thread)
{
	account_add(log, thread, log->header->sample ? LOG_ACCOUNT(unsampled_frees) :
						       LOG_ACCOUNT(unknown_frees), 1);
}

/* Add 1 to an account of a thread that log_thread has given. */
static inline void account_one(struct log *log, uint32_t thread, unsigned what)
{
	uint64_t *account = &log->thread[thread].account[what];

	if (UNLIKELY(!thread))
		__atomic_fetch_add(account, 1, __ATOMIC_RELAXED);
	else
		own_add(account, 1);
}

/*
 * One block and its bytes, which stand behind the blocks. The thread is one that log_thread has
 * given.
 */
static inline void account_block(struct log *log, uint32_t thread, unsigned what, uint64_t bytes)
{
	uint64_t *account = &log->thread[thread].account[what];

	if (UNLIKELY(!thread)) {
		__atomic_fetch_add(&account[0], 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&account[1], bytes, __ATOMIC_RELAXED);
	} else {
		own_add(&account[0], 1);
		own_add(&account[1], bytes);
	}
}

_Static_assert(LOG_ACCOUNT(alloc_bytes) == LOG_ACCOUNT(allocs) + 1, "allocs");
_Static_assert(LOG_ACCOUNT(free_bytes) == LOG_ACCOUNT(frees) + 1, "frees");
