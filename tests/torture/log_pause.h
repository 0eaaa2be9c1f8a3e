/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Included by force before the files of the log (log_tsan.sh): each atomic load, store and exchange may give the processor
 * away first. Without it a reader almost never meets a slot in change, since a slot is half a cache line.
 */
#pragma once

#include <sched.h>
#include <stdint.h>

static __thread uint32_t pause_random;

static inline void pause_maybe(void)
{
	if (!pause_random)
		pause_random = (uint32_t)(uintptr_t)&pause_random | 1;
	pause_random ^= pause_random << 13;
	pause_random ^= pause_random >> 17;
	pause_random ^= pause_random << 5;
	if (pause_random % 64 == 0)
		sched_yield();
}

#define __atomic_load_n(...)	(pause_maybe(), __atomic_load_n(__VA_ARGS__))
#define __atomic_store_n(...)	(pause_maybe(), __atomic_store_n(__VA_ARGS__))
#define __atomic_compare_exchange_n(...) \
	(pause_maybe(), __atomic_compare_exchange_n(__VA_ARGS__))
