/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shared by the short ways of recording (fast_path.c, fast_path_sample.c) and the long one
 * (slow_path.c). Freestanding.
 */
#pragma once

#include "agent/thread_state.h"

/* Marks a function that thunks call, by its offset in the image. */
#define ENTRY		__attribute__((visibility("default")))

/* What agent_leave and agent_release do in all cases. */
void record_leave(struct agent_frame *frame, const struct agent_probe *probe);
uint64_t record_release(uint64_t block, uint64_t sp, const struct agent_probe *probe);
/* What they do for probes that are not AGENT_FAST_ALL. */
void sample_leave(struct agent_frame *frame, const struct agent_probe *probe);
uint64_t sample_release(uint64_t block, uint64_t sp, const struct agent_probe *probe);

/* The id of the stack of a call, whose SP at entry and saved RBP and RBX these are. */
uint32_t record_stack(const struct agent_probe *probe, struct agent_thread *thread, uint64_t sp,
		      const uint64_t *saved);

static inline bool enabled(const struct agent_state *state)
{
	return LIKELY(__atomic_load_n(&state->enabled, __ATOMIC_RELAXED));
}

/* SP at the function's entry. */
static inline uint64_t entry_sp(const struct agent_frame *frame)
{
	return (uint64_t)&frame->return_address;
}

/* The size that was asked for, if the function has such an argument. */
static inline uint64_t size_of_block(const struct agent_frame *frame,
				     const struct agent_probe *probe)
{
	uint64_t size = frame->arg[probe->size];

	if (UNLIKELY(probe->count >= 0) &&
	    __builtin_mul_overflow(size, frame->arg[probe->count], &size))
		return UINT64_MAX;
	return size;
}

/* Remember a free by a probe that `wraps` as the thread's last one. */
static inline void note_freed(struct ledger_thread *thread, uint64_t block, uint64_t sp)
{
	thread->freed = block;
	thread->freed_sp = sp;
	thread->freed_ra = *(const volatile uint64_t *)sp;
}
