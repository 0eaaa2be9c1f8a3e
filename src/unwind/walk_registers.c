/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Registers of a frame that is not the innermost: RBX and R12 to R15 by where they were saved, and
 * those in a signal frame. They are hardly ever needed. Freestanding, as walk.c is.
 */

#include "unwind/walk_registers.h"

/* Read R12 + i in a frame that has not all registers. */
static NOINLINE bool kept_read(struct walker *walker, unsigned i, uint64_t *ret)
{
	const struct walk_regs *innermost = walker->innermost;
	uint64_t at;

	if (!walker->kept_at) {
		walker->wants_kept = true;
		return false;
	}
	at = walker->kept_at[i];
	if (at == BX_LOST)
		return false;
	if (at != BX_INNERMOST) {
		if (!word_read(walker->stack, at, ret))
			return false;
		note_slot(walker, at, *ret);
		return true;
	}
	if (walker->trace)
		walker->trace->whole = false;
	if (!innermost->regs || innermost->nr_regs <= FRAME_KEPT + i)
		return false;
	*ret = innermost->regs[FRAME_KEPT + i];
	return true;
}

void walk_registers_restore_kept(const struct walker *walker, const struct row *row, uint64_t cfa)
{
	for (unsigned i = 0; i < ROW_KEPT; i++) {
		unsigned n = row_kept(row, i);

		if (n)
			walker->kept_at[i] = n == ROW_KEPT_LOST ? BX_LOST : cfa - 8 * (uint64_t)n;
	}
}

void walk_registers_lose(struct walker *walker)
{
	walker->bx_at = BX_LOST;
	for (unsigned i = 0; walker->kept_at && i < ROW_KEPT; i++)
		walker->kept_at[i] = BX_LOST;
}

bool walk_register(struct walker *walker, unsigned reg, uint64_t *ret)
{
	static const uint8_t offsets[FRAME_REGS] = FRAME_SIGNAL_OFFSETS;

	if (reg == FRAME_SP) {
		*ret = walker->sp;
		return true;
	}
	if (reg >= FRAME_REGS)
		return false;
	if (walker->regs_from == REGS_SIGNAL)
		return word_read(walker->stack, walker->bx_at - offsets[FRAME_BX] + offsets[reg],
				 ret);
	if (reg == FRAME_BX && walker->bx_at > BX_LOST) {
		if (!word_read(walker->stack, walker->bx_at, ret))
			return false;
		note_slot(walker, walker->bx_at, *ret);
		return true;
	}
	if (walker->regs_from != REGS_INNERMOST && reg - FRAME_KEPT < ROW_KEPT)
		return kept_read(walker, reg - FRAME_KEPT, ret);
	if (walker->regs_from != REGS_INNERMOST &&
	    (reg != FRAME_BX || walker->bx_at != BX_INNERMOST))
		return false;
	if (!walker->innermost->regs || reg >= walker->innermost->nr_regs)
		return false;
	if (walker->trace && reg == FRAME_BX)
		walker->trace->bx_used = true;
	*ret = walker->innermost->regs[reg];
	return true;
}
