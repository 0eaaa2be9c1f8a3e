/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts about calls: a return address is an address where a call instruction ends. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CALL_BYTES	7	/* the longest one, without prefixes */

/*
 * Returns the length in bytes of an indirect call (ff /2), from the bytes behind the opcode; 0: not
 * one.
 */
static inline unsigned call_indirect_length(const uint8_t *operand)
{
	uint8_t mod = operand[0] >> 6, rm = operand[0] & 7;
	bool sib = mod != 3 && rm == 4;

	if (mod == 3)
		return 2;
	if (mod == 2 || (mod == 0 && (rm == 5 || (sib && (operand[1] & 7) == 5))))
		return sib ? 7 : 6;
	return 2 + sib + mod;
}

/* Can a call instruction end behind these bytes? */
static inline bool call_ends(const uint8_t before[CALL_BYTES])
{
	if (before[CALL_BYTES - 5] == 0xe8)
		return true;
	for (unsigned len = 2; len <= CALL_BYTES; len++) {
		const uint8_t *at = before + CALL_BYTES - len;

		if (at[0] == 0xff && (at[1] >> 3 & 7) == 2 && call_indirect_length(at + 1) == len)
			return true;
	}
	return false;
}
