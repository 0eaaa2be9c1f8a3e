/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The thread registry: which threads have allocated, and the accounts of each writer. Freestanding.
 *
 * Entries are handed out in order, so that only those in use are ever read. They are found by a
 * hash of (thread pointer, LWP id) in an index of entry numbers, which has twice as many places and
 * is searched linearly up to the first empty one. Neither entries nor places are ever taken back.
 * An entry is written before its number is put into the index (compare and swap). A writer that
 * dies in between leaves an entry that nobody finds.
 */
#pragma once

#include "log/log_layout.h"

/* The number of entries in use, bounded by their room; at least 1. */
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
 * Add to a counter that only the calling thread writes. It takes one instruction, since a signal
 * handler of the same thread may count, too. It needs no lock, because no other thread writes here.
 */
static inline void own_add(uint64_t *counter, uint64_t by)
{
	if (REGISTRY_TSAN)
		__atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
	else
		intrinsic_add(counter, by);
}

/* Is it entry 0, or no entry of this region? Several threads may write to entry 0. */
static inline bool thread_shared(const struct log *log, uint32_t thread)
{
	return thread - 1 >= log->nr_threads - 1;
}

/*
 * Add to an account. An entry has one writer at a time, except entry 0, which all threads share
 * that have no entry of their own.
 */
static inline void account_add(struct log *log, uint32_t thread, unsigned what, uint64_t by)
{
	if (UNLIKELY(thread_shared(log, thread)))
		__atomic_fetch_add(&log->thread[0].account[what], by, __ATOMIC_RELAXED);
	else
		own_add(&log->thread[thread].account[what], by);
}

/* Count a free of a block that is not in the table. */
static inline void account_miss(struct log *log, uint32_t thread)
{
	account_add(log, thread, log->header->sample ? LOG_ACCOUNT(unsampled_frees) :
						       LOG_ACCOUNT(unknown_frees), 1);
}

/* Add 1 to an account of a thread that log_thread has given, and that is not entry 0. */
static inline void account_own(struct log *log, uint32_t thread, unsigned what)
{
	own_add(&log->thread[thread].account[what], 1);
}

/* Count one block and its bytes for such a thread; the counter of bytes follows that of blocks. */
static inline void account_own_block(struct log *log, uint32_t thread, unsigned what,
				     uint64_t bytes)
{
	uint64_t *account = &log->thread[thread].account[what];

	own_add(&account[0], 1);
	own_add(&account[1], bytes);
}

/* The same for any thread that log_thread has given. */
static inline void account_block(struct log *log, uint32_t thread, unsigned what, uint64_t bytes)
{
	if (LIKELY(thread)) {
		account_own_block(log, thread, what, bytes);
		return;
	}
	__atomic_fetch_add(&log->thread[0].account[what], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&log->thread[0].account[what + 1], bytes, __ATOMIC_RELAXED);
}

_Static_assert(LOG_ACCOUNT(alloc_bytes) == LOG_ACCOUNT(allocs) + 1, "allocs");
_Static_assert(LOG_ACCOUNT(free_bytes) == LOG_ACCOUNT(frees) + 1, "frees");
