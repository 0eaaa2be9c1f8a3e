/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stack walks of a target's threads: the top of the stack is copied by one read and walked with the
 * rows.
 */
#pragma once

#include "base/err.h"
#include "unwind/walk.h"

struct memory;
struct regs;
struct target;
struct thread;

/*
 * The PCs of a stack, innermost first, from a thread's registers; see walk() for the rest. area as
 * in unwind/walk.h, may be NULL.
 */
uint32_t backtrace_walk(struct target *target, const struct regs *regs,
			const struct walk_area *area,
			uint64_t *pcs, uint32_t max, enum walk_end *end);

/*
 * backtrace_walk for registers as at the first instruction of a function: the return address lies
 * at SP, whether the function has CFI or not (musl's have none). max is not 0.
 */
uint32_t backtrace_walk_entry(struct target *target, const struct regs *regs,
			      const struct walk_area *area, uint64_t *pcs, uint32_t max,
			      enum walk_end *end);

/*
 * The registers in frame nr of that walk (unwind/walk.h). False: the walk does not come that far, or
 * there is no memory for it.
 */
bool backtrace_frame(struct target *target, const struct regs *regs, const struct walk_area *area,
		     uint32_t nr, struct walk_frame *ret) MUST_CHECK;

/*
 * backtrace_walk with the places of the frames: slot[i] is the address of the return address pc[i];
 * so the frame of the function of pc[i] lies behind slot[i] and ends with slot[i + 1]. 0: the place
 * is not known (slot[0] always is 0, since pc[0] is in a register).
 */
struct stack_frames {
	uint64_t *pc, *slot;
	uint32_t nr;
	enum walk_end end;
};

/* memory: NULL for the target's, or a snapshot of it. */
struct err *backtrace_frames(struct target *target, struct memory *memory, const struct regs *regs,
			     const struct walk_area *area, struct stack_frames *ret) MUST_CHECK;
void backtrace_frames_free(struct stack_frames *frames);
/*
 * The frame that has the word at this address of the stack: *pc_ret is in its function, and is a
 * return address if *returns_ret. False: the walk has not come that far.
 */
bool backtrace_frames_at(const struct stack_frames *frames, uint64_t address, uint64_t *pc_ret,
			 bool *returns_ret);

/*
 * A copy of the top of a thread's stack, from the red zone below SP up to `high`. It is empty (high
 * == low) if it could not be read with the others.
 */
struct stack_top {
	const uint8_t *copy;
	uint64_t low, high;
};

/*
 * Like for_each_thread, for callers that walk all stacks: fn gets each stopped thread with a copy
 * of the top of its stack; the copies are made with few system calls. Other threads come without a
 * copy. fn must not drop threads.
 */
void backtrace_each_top(struct target *target,
			void (*fn)(struct thread *thread, const struct stack_top *top, void *ctx),
			void *ctx);
/* backtrace_walk of a stopped thread. */
uint32_t backtrace_walk_top(const struct thread *thread, const struct stack_top *top,
			    const struct walk_area *area, uint64_t *pcs, uint32_t max,
			    enum walk_end *end);

/* Ranges of addresses. */
struct stack_range {
	uint64_t start, end;
	/*
	 * This is code that calls nobody: a thread is inside by its PC, or by one that a signal has
	 * saved, and a word that looks like a return address into it does not count.
	 */
	bool inner;
};

/*
 * May the thread with these registers still run in one of the ranges, or return into one? By its
 * memory alone (theory in stack_use.c): false is certain for the stacks that it is on. True may be
 * a word that an earlier call has left there, so a wait for such a thread must have a limit.
 */
bool stack_uses(struct target *target, const struct regs *regs, const struct stack_range *range,
		uint32_t nr);
/*
 * The stack of the thread with these registers, as its control block has it (guard pages at the low
 * end may belong to it). False: it is not known.
 */
bool stack_use_by_thread(struct target *target, const struct regs *regs, uint64_t *low_ret,
			 uint64_t *high_ret);
/* After the last stack_use_of_thread of a stop: what was read for it is read anew when needed. */
void stack_use_forget(struct target *target);

/*
 * SP and PC of a stuck thread, which is in the kernel, so that its registers cannot be read; the
 * others are set to 0. False: SP and PC cannot be read either.
 */
bool stack_use_stuck_regs(const struct thread *thread, struct regs *ret);
/*
 * stack_uses for a thread that is stopped or stuck; true if its stack cannot be examined.
 * stack_use_forget comes after the last one of a stop.
 */
bool stack_use_of_thread(struct thread *thread, const struct stack_range *range, uint32_t nr);

/*
 * Find the caller of the agent's C code, which has no CFI, for a thread whose PC is in the agent.
 * Returns the stack address of the first word from sp up that is_return accepts (an address just
 * past a thunk's call of the agent); 0 if none is near. A walk can begin there: with that word as
 * PC, SP behind it, and BP and BX from the struct agent_frame behind it, if there is one. memory is
 * the target's, or a snapshot of it.
 */
uint64_t stack_use_thunk_frame(struct target *target, struct memory *memory, uint64_t sp,
			       bool (*is_return)(void *ctx, uint64_t pc), void *ctx);
