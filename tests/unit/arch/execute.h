/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running pieces of machine code with every register known before and after. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* In this order in memory; execute() in execute.c knows it. */
enum { RAX, RBX, RCX, RDX, RSI, RDI, RBP, R8, R9, R10, R11, R12, R13, R14, R15, FLAGS, NR_EXECUTE };

struct cpu {
	uint64_t reg[NR_EXECUTE];
	uint64_t below[32];	/* out: what the code has left below SP, where zeros were before */
};

/* Arithmetic flags: what an instruction may leave different and a probe must not. */
#define FLAGS_MASK	0x8d5u

/* Call code with the registers of in, SP as the ABI has it; out is what it left. */
void execute(const void *code, const struct cpu *in, struct cpu *out);
/* Registers with a different value each. */
void cpu_fill(struct cpu *cpu);

/*
 * Pages to write and run code in, at most 1 GB away from near, or (far) more than 4 GB. NULL: none.
 */
void *area_near(const void *near, size_t len);
void *area_far(const void *near, size_t len);
