/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * This process as a target: its modules with their rows, its own stacks copied, and libgcc's
 * unwinder as the truth.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/walk.h"

#define SELF_FRAMES	256

/* A traceback, and why it ended. */
struct trace {
	uint64_t pc[SELF_FRAMES];
	uint32_t nr;
	enum walk_end end;
};

/* The map of all modules that are loaded now, vDSO included. False if one cannot be read. */
bool self_map_init(struct walk_map *map);
void self_map_deinit(struct walk_map *map);

/*
 * Find the calling thread's stack. self_walk() does it too; before it is called from a handler,
 * this must have been.
 */
void self_thread_init(void);

/* Registers by DWARF number, as they are at the label behind the asm. */
#define SELF_REGS	17
#define SELF_CAPTURE(reg) \
	__asm__ volatile( \
		"leaq 0f(%%rip), %%rax\n\t" \
		"movq %%rax, 128(%0)\n\t" \
		"movq %%rbx, 24(%0)\n\t" \
		"movq %%rbp, 48(%0)\n\t" \
		"movq %%rsp, 56(%0)\n\t" \
		"movq %%r12, 96(%0)\n\t" \
		"movq %%r13, 104(%0)\n\t" \
		"movq %%r14, 112(%0)\n\t" \
		"movq %%r15, 120(%0)\n" \
		"0:" : : "r"(reg) : "rax", "memory")

/*
 * Walk from these registers over a copy of the stack that SP is on, up to max frames. From an
 * alternate signal stack on, the thread's own stack is read word by word.
 */
void self_walk(const struct walk_map *map, const uint64_t *reg, uint32_t max, struct trace *ret);
/*
 * What libgcc finds from the caller of this function on: pc[0] lies in that caller. Async-signal-
 * safe.
 */
void self_truth(struct trace *ret);
/*
 * Do all of got's frames from the first_got-th on, to the end, equal the truth's from its
 * first_want-th on?
 */
bool self_equal(const struct trace *got, uint32_t first_got, const struct trace *want,
		uint32_t first_want);
