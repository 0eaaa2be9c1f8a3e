/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Unwind rows: the CFI of a module, compiled to a sorted table that a stack walk can search fast,
 * like the kernel's ORC. One row holds from its PC to the next row's.
 *
 * Freestanding: this header, and walk.h with walk.c, are compiled into the agent as
 * well. Compilation of the rows is in rows_compile.h and is mdbg's alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How the canonical frame address (the caller's SP) is found. */
enum row_cfa {
	ROW_CFA_NONE,		/* no CFI: the walk may try the frame pointer */
	ROW_CFA_SP,		/* SP + cfa_offset */
	ROW_CFA_FP,		/* BP + cfa_offset */
	/*
	 * Another register + cfa_offset; cfa_reg is its DWARF number. It is known in the innermost
	 * frame and in a frame that a signal interrupted. Those that functions keep for their
	 * callers are known in all frames, as far as rows say where they were saved: RBX (the
	 * loader's _dl_runtime_resolve keeps its frame address there), and R12 to R15 (row_kept).
	 */
	ROW_CFA_REG,
	/* the word at BP + cfa_offset (stack realignment, DRAP), plus row_add */
	ROW_CFA_FP_MEM,
	/* SP + cfa_offset + (((PC & 15) >= cfa_reg) << 3): the PLT's expression */
	ROW_CFA_PLT,
	ROW_CFA_SIGNAL,		/* a signal frame: the kernel's struct sigcontext lies at SP */
	ROW_CFA_END,		/* the outermost frame: the return address is undefined */
	ROW_CFA_COMPLEX,	/* an expression that no row can hold */
	ROW_CFA_SP_MEM,		/* the word at SP + cfa_offset, plus row_add (OpenSSL's assembly) */
	/* SP + cfa_offset, and the return address is in cfa_reg (vfork) */
	ROW_CFA_SP_RA_REG,
	/*
	 * A function that has gone on to another stack and has kept BP (go_switch.h): [BP] and
	 * [BP + 8] are a frame of the old one.
	 */
	ROW_CFA_FP_SWITCH,
	ROW_CFA_REG_MEM,	/* the word at another register + cfa_offset, plus row_add */
	ROW_CFA_FP_RA_REG,	/* BP + cfa_offset, and the return address is in cfa_reg */
	/* SP or BP + cfa_offset, and the return address is at CFA + 8 * the signed cfa_reg */
	ROW_CFA_SP_RA_AT,
	ROW_CFA_FP_RA_AT,
	ROW_CFA_KINDS,
};

/* How the caller's BP is found. */
enum row_fp {
	ROW_FP_SAME,		/* unchanged */
	ROW_FP_CFA,		/* saved at CFA + fp_offset */
	ROW_FP_FP,		/* saved at BP + fp_offset (DRAP) */
	ROW_FP_UNDEFINED,	/* lost, or none of these rules gives it */
	ROW_FP_REG,		/* in the register whose DWARF number is fp_offset */
	ROW_FP_KINDS,
};

/*
 * 16 bytes. The return address is at CFA - 8, unless `cfa` says otherwise (the compiler of rows
 * asserts this).
 */
struct row {
	/* offset from the module's row base (its lowest executable address) */
	uint32_t pc;
	int32_t cfa_offset;
	int16_t fp_offset;
	uint16_t kept;		/* the caller's R12 to R15, 4 bits each: row_kept */
	uint8_t cfa;		/* enum row_cfa */
	uint8_t cfa_reg;
	uint8_t fp;		/* enum row_fp */
	/* the caller's RBX: 0 unchanged, n saved at CFA - 8 * n, ROW_BX_LOST unknown */
	uint8_t bx;
};

#define ROW_BX_LOST	255

#define ROW_KEPT	4	/* registers, from FRAME_KEPT on */
#define ROW_KEPT_LOST	15

/* The caller's R12 + i: 0 unchanged, n saved at CFA - 8 * n, ROW_KEPT_LOST unknown. */
static inline unsigned row_kept(const struct row *row, unsigned i)
{
	return row->kept >> 4 * i & 15;
}

/* Where the CFA is a word plus a number, cfa_reg has both: the register, and the number / 8. */
#define ROW_ADD_MOST	(15 * 8)

static inline unsigned row_add(const struct row *row)
{
	return (row->cfa_reg >> 4) * 8u;
}

/* The register of a row whose CFA or return address needs one. */
static inline unsigned row_reg(const struct row *row)
{
	return row->cfa == ROW_CFA_REG_MEM ? row->cfa_reg & 15u : row->cfa_reg;
}

/*
 * The rows of one module, sorted by pc. Gaps between functions have a row of ROW_CFA_NONE, so that
 * a search never needs an end; row[0].pc may be above 0: then offsets below it are ROW_CFA_NONE,
 * too.
 */
struct rows {
	const struct row *row;
	uint32_t nr;
	/*
	 * With an index (NULL: none) a search looks at few rows only: index[i] is the last row at
	 * or below i << index_shift (row 0 if there is none), for each i up to nr_index - 1, which
	 * is the block of the last row.
	 */
	uint32_t nr_index;
	uint32_t index_shift;
	const uint32_t *index;
};

/* Returns the row that holds for offset pc, or NULL. */
const struct row *rows_find(const struct rows *rows, uint32_t pc);
