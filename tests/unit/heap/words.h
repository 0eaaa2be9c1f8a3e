/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of memory at BASE, the first ROOT of them roots; some of it may be unreadable. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/memory.h"
#include "heap/reach/reach.h"

#define BASE	0x10000ull
#define WORDS	(1u << 17)
#define ROOT	64u		/* words at the start that are roots */

struct words {
	struct memory memory;
	uint64_t *word;
	uint64_t hole, hole_end;	/* addresses that cannot be read */
	uint64_t reads;
};

static struct err *words_read(struct memory *memory, uint64_t addr, void *buf, size_t len,
			      size_t *len_ret)
{
	struct words *words = (struct words *)memory;
	uint64_t end = BASE + WORDS * 8;

	words->reads++;
	if (addr < BASE || addr >= end || (addr >= words->hole && addr < words->hole_end))
		return err_create(ERR_MEMORY, "no memory at 0x%llx", (unsigned long long)addr);
	if (addr < words->hole)
		end = MIN(end, words->hole);
	*len_ret = MIN(len, (size_t)(end - addr));
	memcpy(buf, (const uint8_t *)words->word + (addr - BASE), *len_ret);
	return NULL;
}

static inline void words_open(struct words *words)
{
	*words = (struct words){ .memory.read = words_read,
				 .hole = UINT64_MAX, .hole_end = UINT64_MAX,
				 .word = calloc(WORDS, 8) };
	if (!words->word)
		abort();
}

/* reach_source.next_mapped of a world in which only the words are mapped. */
static inline struct reach_range words_mapped(void *ctx UNUSED, uint64_t addr)
{
	uint64_t end = BASE + WORDS * 8;

	return addr < end ? (struct reach_range){ MAX(addr, BASE), end } :
			    (struct reach_range){ UINT64_MAX, UINT64_MAX };
}

/* The address of a word. */
static inline uint64_t at(size_t word)
{
	return BASE + word * 8;
}
