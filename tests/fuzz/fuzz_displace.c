/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes as the code of a function: what cannot be moved must be refused, what is moved must
 * keep its promises about lengths. The first eight bytes choose how far away it is moved, and how
 * much of it.
 */

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"

#define FROM	0x555555554000ull

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_displaced(const struct displaced *displaced, size_t min_len, size_t len)
{
	size_t i;

	if (displaced->len > DISPLACED_MAX || displaced->nr > DISPLACED_INSNS)
		abort();
	if (displaced->consumed < min_len || displaced->consumed > len)
		abort();
	for (i = 0; i < displaced->nr; i++)
		if (displaced->insn[i].from >= displaced->consumed || displaced->insn[i].to >= displaced->len)
			abort();
}

/* It comes to an end, and each one leaves the code. */
static void check_jumps_out(const uint8_t *bytes, size_t len)
{
	size_t at = 0, before;
	uint64_t to;

	for (;;) {
		before = at;
		to = arch_x86_64.jump_out(bytes, len, FROM, &at);
		if (at < before || at > len)
			abort();
		if (!to)
			return;
		if (at == before || to - FROM < len)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct displaced displaced;
	struct entry_insn first;
	uint64_t target, to;
	size_t min_len, at;
	char text[64];
	int32_t distance;

	if (len < 8)
		return 0;
	memcpy(&distance, bytes, sizeof(distance));
	min_len = 1 + bytes[4] % 16;
	at = bytes[5];
	bytes += 8;
	len -= 8;
	to = FROM + (uint64_t)(int64_t)distance;
	if (!arch_x86_64.displace(bytes, len, FROM, to, min_len, &displaced))
		check_displaced(&displaced, min_len, len);
	if (arch_x86_64.entry_insn(bytes, len, at % 4, &first) &&
	    (!first.len || first.len > len || first.sp > ENTRY_SP_MAX || first.sp % 8))
		abort();
	arch_x86_64.jumps_into(bytes, len, FROM, FROM + at, FROM + at + min_len, &target);
	check_jumps_out(bytes, len);
	if (arch_x86_64.insn_text(bytes, len, FROM, text, sizeof(text)) > len)
		abort();
	return 0;
}
