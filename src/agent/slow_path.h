/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shared by the fast paths of recording (fast_path.c, fast_path_sample.c) and the slow one
 * (slow_path.c). Freestanding.
 */
#pragma once

#include "agent/agent_thread.h"

/* Marks a function that thunks call, by its offset in the image. */
#define ENTRY		__attribute__((visibility("default")))

/* What agent_leave and agent_release do in all cases. */
void slow_path_leave(struct agent_frame *frame, const struct agent_probe *probe);
uint64_t slow_path_release(uint64_t block, uint64_t sp, const struct agent_probe *probe);
/* What they do for probes that are not AGENT_FAST_ALL. */
void fast_path_sample_leave(struct agent_frame *frame, const struct agent_probe *probe);
uint64_t fast_path_sample_release(uint64_t block, uint64_t sp, const struct agent_probe *probe);

/*
 * R12 to R15 of the function's caller, which a walk may need. They are in these registers where the
 * agent is entered, and where the fast path gives up: it jumps to slow_path_leave, and nothing that
 * it has put on the stack is left. There entry.S gives them to the functions below.
 */
#define R12	12	/* its DWARF number */
#define KEPT	uint64_t r12, uint64_t r13, uint64_t r14, uint64_t r15

void slow_path_leave_kept(struct agent_frame *frame, const struct agent_probe *probe, KEPT);
uint64_t agent_enter_kept(struct agent_frame *frame, const struct agent_probe *probe, KEPT);
void agent_unknown_free_kept(uint64_t block, uint64_t sp, const struct agent_probe *probe,
			     uint64_t bp, uint64_t bx, uint64_t said, KEPT);
uint64_t agent_growth_enter_kept(struct agent_wide_frame *frame, const struct agent_probe *probe,
				 KEPT);

/* Note them for a walk. Without a state of its own (NULL) a thread does not know them. */
static inline void keep(struct agent_thread *thread, KEPT)
{
	if (UNLIKELY(!thread))
		return;
	thread->cache.reg[R12] = r12;
	thread->cache.reg[R12 + 1] = r13;
	thread->cache.reg[R12 + 2] = r14;
	thread->cache.reg[R12 + 3] = r15;
}

/* The id of the stack of a call, whose SP at entry and saved RBP and RBX these are. */
uint32_t slow_path_stack(const struct agent_probe *probe, struct agent_thread *thread, uint64_t sp,
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
