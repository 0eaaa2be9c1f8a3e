/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads counts of calls (theory in call_count.h). */

#include "tracee/call_count.h"

#include "arch/arch.h"
#include "base/compiler.h"
#include "base/memory.h"

uint64_t call_count(struct memory *memory, uint64_t counts)
{
	uint64_t words[COUNT_BYTES / sizeof(uint64_t)], sum = 0;

	if (!counts || memory_read(memory, counts, words, sizeof(words)))
		return 0;
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		sum += words[i];
	return sum;
}
