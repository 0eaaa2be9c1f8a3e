/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * To be preloaded: each thousandth malloc of the program loses a block of 300001 bytes (leaker.h). So much is a mapping
 * of its own, which no stale word of the program's points to: freed blocks are full of pointers to what was freed with
 * them, and those that are given out again are not all written over.
 */
#include "leaker.h"

void *__libc_malloc(size_t size);

static uint64_t calls;

void *malloc(size_t size)
{
	if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % EVERY == 0)
		leak_one(__libc_malloc, 300001);
	return __libc_malloc(size);
}
