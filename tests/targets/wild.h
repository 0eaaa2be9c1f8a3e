/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses that no allocator has given out, of every kind: most cannot be read, nor the word before them. */
#pragma once

#include <stdint.h>
#include <sys/mman.h>

#define WILD_MAX	32
#define WILD_PAGE	4096u

/* At both ends of a page that has nothing on either side. Returns how many; 0: there is no memory. */
static UNUSED unsigned wild_ends(uintptr_t *at)
{
	char *page = (char *)mmap(NULL, 3 * WILD_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + WILD_PAGE;
	uintptr_t start = (uintptr_t)page, end = start + WILD_PAGE;

	if (page == (char *)MAP_FAILED + WILD_PAGE || mprotect(page, WILD_PAGE, PROT_READ | PROT_WRITE))
		return 0;
	at[0] = start;		/* not the word before it */
	at[1] = end;		/* only that */
	at[2] = end + 8;
	at[3] = end + WILD_PAGE / 2;
	return 4;
}

/* The same ones each time. */
static UNUSED unsigned wild_addresses(const uintptr_t **ret)
{
	static const uintptr_t fixed[] = {
		1, 7, 8, 16, 4096,
		0x7ffffffff000, 0x7ffffffffff0, 0x7fffffffffff,		/* the end of a program's half */
		0x800000000000, 0x800000000010, 0xffffffffffff,		/* of no half, and 48 bits */
		0x1000000000010, 0x4141414141414141, 0xdeadbeefdeadbeef,	/* more */
		0xffff800000000000, 0xffff888000000010, 0xfffffffffffffff0,	/* the kernel's */
	};
	static uintptr_t at[WILD_MAX];
	static unsigned nr;

	if (!nr) {
		memcpy(at, fixed, sizeof(fixed));
		nr = wild_ends(at + sizeof(fixed) / sizeof(fixed[0]));
		nr += nr ? sizeof(fixed) / sizeof(fixed[0]) : 0;
	}
	*ret = at;
	return nr;
}
