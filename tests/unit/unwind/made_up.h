/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A made-up module with one function for each kind of row, and stacks for it. */
#pragma once

#include "base/compiler.h"
#include "unit.h"
#include "unwind/walk.h"

#define CODE	0x400000ull
#define STACK	0x7ffd00000000ull
#define WORDS	64

/* One module: function i is at CODE + 16 * i and has rows[i]. */
static const struct row rows[] = {
	{ .pc = 0x00, .cfa = ROW_CFA_SP, .cfa_offset = 8 },
	{ .pc = 0x10, .cfa = ROW_CFA_FP, .cfa_offset = 16, .fp = ROW_FP_CFA, .fp_offset = -16 },
	{ .pc = 0x20, .cfa = ROW_CFA_REG, .cfa_reg = 10 },
	{ .pc = 0x30, .cfa = ROW_CFA_FP_MEM, .cfa_offset = -8, .fp = ROW_FP_FP, .fp_offset = 0 },
	{ .pc = 0x40, .cfa = ROW_CFA_PLT, .cfa_offset = 8, .cfa_reg = 11 },
	{ .pc = 0x50, .cfa = ROW_CFA_SIGNAL },
	{ .pc = 0x60, .cfa = ROW_CFA_END },
	{ .pc = 0x70, .cfa = ROW_CFA_COMPLEX },
	{ .pc = 0x80, .cfa = ROW_CFA_NONE },
	{ .pc = 0x90, .cfa = ROW_CFA_SP_MEM, .cfa_offset = 8, .cfa_reg = 1 << 4 },
	{ .pc = 0xa0, .cfa = ROW_CFA_SP_RA_REG, .cfa_reg = 5 },
	{ .pc = 0xb0, .cfa = ROW_CFA_SP, .cfa_offset = 24, .bx = 2 },
	{ .pc = 0xc0, .cfa = ROW_CFA_REG, .cfa_reg = 3, .cfa_offset = 16 },
	{ .pc = 0xd0, .cfa = ROW_CFA_SP, .cfa_offset = 8, .fp = ROW_FP_UNDEFINED },
	{ .pc = 0xe0, .cfa = ROW_CFA_SP, .cfa_offset = 8, .bx = ROW_BX_LOST },
	{ .pc = 0xf0, .cfa = ROW_CFA_SP, .cfa_offset = 0 },
	/* r12 and r15 are saved, r14 is lost */
	{ .pc = 0x100, .cfa = ROW_CFA_SP, .cfa_offset = 32, .kept = 0x2f03 },
	{ .pc = 0x110, .cfa = ROW_CFA_REG, .cfa_reg = 12, .cfa_offset = 16 },
	{ .pc = 0x120, .cfa = ROW_CFA_REG_MEM, .cfa_reg = 1 << 4 | 13, .cfa_offset = 8, .kept = 0x000f },
	{ .pc = 0x130, .cfa = ROW_CFA_SP, .cfa_offset = 8, .fp = ROW_FP_REG, .fp_offset = 14 },
	{ .pc = 0x140, .cfa = ROW_CFA_SP_RA_REG, .cfa_reg = 15, .cfa_offset = 16 },
	{ .pc = 0x150, .cfa = ROW_CFA_FP_RA_REG, .cfa_reg = 15, .cfa_offset = 16 },
	{ .pc = 0x160, .cfa = ROW_CFA_SP_RA_AT, .cfa_reg = (uint8_t)-3, .cfa_offset = 32 },
	{ .pc = 0x170, .cfa = ROW_CFA_FP_RA_AT, .cfa_reg = 1, .cfa_offset = 16 },
};

#define CODE_LEN	0x180u

enum {
	LEAF = CODE + 0x05, FRAMED = CODE + 0x15, BY_R10 = CODE + 0x25, DRAP = CODE + 0x35,
	PLT = CODE + 0x40, SIGNAL = CODE + 0x55, OUTERMOST = CODE + 0x65,
	TOO_COMPLEX = CODE + 0x75, NO_CFI = CODE + 0x85,
	SP_MEM = CODE + 0x95, VFORK = CODE + 0xa5, SAVES_BX = CODE + 0xb5, BY_BX = CODE + 0xc5,
	LOSES_FP = CODE + 0xd5, LOSES_BX = CODE + 0xe5, STUCK = CODE + 0xf5, JIT = 0x10000000,
	KEEPS = CODE + 0x105, BY_R12 = CODE + 0x115, BY_R13_MEM = CODE + 0x125,
	FP_IN_R14 = CODE + 0x135, RA_IN_R15 = CODE + 0x145, FRAMED_RA_IN_R15 = CODE + 0x155,
	RA_BELOW = CODE + 0x165, FRAMED_RA_ABOVE = CODE + 0x175,
};

static const struct walk_module module = {
	.start = CODE,
	.end = CODE + CODE_LEN,
	.rows = { .row = rows, .nr = ARRAY_SIZE(rows) },
};

static const struct walk_map map = { .module = &module, .nr = 1, .generation = 1 };

static inline uint64_t slot(unsigned i)
{
	return STACK + 8 * i;
}

struct area_log {
	unsigned asked;
};

/*
 * The first 16 bytes are an instruction displaced from LEAF, the rest is a stub with 24 bytes of
 * frame.
 */
static inline bool translate(void *ctx, uint64_t *pc, int32_t *cfa_offset)
{
	struct area_log *log = ctx;

	log->asked++;
	if (*pc < JIT + 16) {
		*pc = LEAF;
		return true;
	}
	*cfa_offset = 24;
	return false;
}

/* A word as a stack has them, but at random: a PC, an address nearby, anything. */
static inline uint64_t random_word(uint64_t *state)
{
	uint64_t r = unit_random(state);

	switch (r % 4) {
	case 0:
	case 1:
		return CODE + (r >> 8) % CODE_LEN;
	case 2:
		return STACK - 64 + (r >> 8) % (8 * WORDS + 128);
	default:
		return r;
	}
}
