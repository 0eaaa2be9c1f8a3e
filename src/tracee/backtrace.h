/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stack walks of a target's threads: the top of the stack is copied in one read, rows do the rest.
 */
#pragma once

#include "base/err.h"
#include "unwind/stack_walk.h"

struct regs;
struct target;
struct thread;

/*
 * The PCs of a stack, innermost first, from a thread's registers; see walk() for the rest. area as
 * in unwind/stack_walk.h, may be NULL.
 */
uint32_t stack_walk(struct target *target, const struct regs *regs, const struct walk_area *area,
		    uint64_t *pcs, uint32_t max, enum walk_end *end);

/*
 * stack_walk for a thread that is at the first instruction of a function, or was: the return address lies
 * at SP, whether there is CFI for the function (musl's have none) or not. max is not 0.
 */
uint32_t stack_walk_entry(struct target *target, const struct regs *regs,
			  const struct walk_area *area, uint64_t *pcs, uint32_t max,
			  enum walk_end *end);

/*
 * stack_walk with the places of frames: slot[i] is where the return address pc[i] lies, so that
 * the frame of the function of pc[i] is what lies between slot[i] and slot[i + 1], with that. 0:
 * it is not known where (slot[0] always is, a register has it).
 */
struct stack_frames {
	uint64_t *pc, *slot;
	uint32_t nr;
	enum walk_end end;
};

struct err *stack_frames(struct target *target, const struct regs *regs,
			 const struct walk_area *area, struct stack_frames *ret) MUST_CHECK;
void stack_frames_free(struct stack_frames *frames);

/*
 * The top of a thread's stack, from the red zone below SP up to `high`. Nothing of it (high == low)
 * where it could not be read at once.
 */
struct stack_top {
	const uint8_t *copy;
	uint64_t low, high;
};

/*
 * for_each_thread for who is going to walk all their stacks: those of stopped threads come with
 * a copy of their tops, made with few system calls; the others with none. fn drops no thread.
 */
void stack_each_top(struct target *target,
		    void (*fn)(struct thread *thread, const struct stack_top *top, void *ctx),
		    void *ctx);
/* stack_walk of a stopped thread. */
uint32_t stack_walk_top(const struct thread *thread, const struct stack_top *top,
			const struct walk_area *area, uint64_t *pcs, uint32_t max,
			enum walk_end *end);

/* Ranges of addresses. */
struct stack_range {
	uint64_t start, end;
	/*
	 * A thread in there was called from one of the other ranges, at most AGENT_STACK bytes
	 * up: what looks like a return address in this one does not count by itself.
	 */
	bool inner;
};

/*
 * May the thread with these registers still run through, or return into, one of the ranges? Exact
 * where CFI leads through its stack; where a frame has none, and behind the last one that was
 * found, any word counts. That may be one that an earlier call has left: what waits for such a
 * thread must have a limit.
 */
bool stack_uses(struct target *target, const struct regs *regs, const struct stack_range *range,
		uint32_t nr);

/*
 * SP and PC of a stuck thread, which is in the kernel and has no registers to be read; the others
 * are 0. False: not even those can be had.
 */
bool stack_stuck_regs(const struct thread *thread, struct regs *ret);
/*
 * stack_uses of a thread that is stopped or stuck. One that cannot be looked at may. top is of its
 * stack, as it still is; or NULL.
 */
bool stack_of_uses(struct thread *thread, const struct stack_top *top,
		   const struct stack_range *range, uint32_t nr);

/*
 * Where the agent's C, which has no CFI, was called from: the address on the stack of the first
 * word from sp up that is_return accepts (an address just past a thunk's call of the agent), 0 if
 * none is near. For a thread whose PC is in the agent: a walk can begin there, with that word as
 * PC, SP behind it, and BP and BX out of the struct agent_frame that begins behind it where there
 * is one.
 */
uint64_t stack_thunk_frame(struct target *target, uint64_t sp,
			   bool (*is_return)(void *ctx, uint64_t pc), void *ctx);
