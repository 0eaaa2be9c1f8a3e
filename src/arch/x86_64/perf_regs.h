/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which registers a performance event's sample has, and where they are: those that a walk needs
 * (<asm/perf_regs.h> numbers them).
 */
#pragma once

#include <stdint.h>

/* AX BX CX DX SI DI BP SP IP, R8 to R15 */
#define PERF_REGS_MASK	0xff01ffull
#define PERF_REGS_NR	17

#define PERF_REGS_FP	6		/* which of them are these */
#define PERF_REGS_SP	7
#define PERF_REGS_PC	8
#define PERF_REGS_DWARF	16

/* Sort the registers of a sample, which are in the order of the mask's bits, by DWARF number. */
static inline void perf_regs_sort(const uint64_t *sample, uint64_t dwarf[PERF_REGS_DWARF])
{
	/* AX DX CX BX SI DI BP SP, R8 to R15 */
	static const uint8_t from[] = { 0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16 };

	for (unsigned i = 0; i < PERF_REGS_DWARF; i++)
		dwarf[i] = sample[from[i]];
}
