/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blocks whose size says by which functions they were asked for: the program's own knowledge of its stacks.
 *
 *	size = TAGGED_BASE + kind * TAGGED_KIND + 2 * path + 1
 *
 * (Others hardly ask for an odd number of so many bytes.) kind is a number that the program gives to each of its worlds
 * of stacks. path is the way to tagged_leaf, which calls malloc: from the lowest bit on, a 0 is a call of tagged_left and a 1 one of tagged_right, up to the highest bit, which
 * stands for the leaf. So the outermost function is that of the lowest bit. The frames have different sizes, and that
 * of tagged_right depends on the path, so that it has a frame pointer. Ten of them take more than a page.
 *
 * The paths are the same ones in each run: a debugger may look at one and mdbg at another.
 */
#pragma once

#include "target.h"

#define TAGGED_BASE	0x8000u
#define TAGGED_KIND	0x2000u
#define TAGGED_KEPT	16384u	/* then the oldest ones are freed */
#ifndef TAGGED_ROOM
#define TAGGED_ROOM	600
#endif

static void *tagged_kept[TAGGED_KEPT];
static unsigned tagged_nr;

static NOINLINE void tagged_leaf(size_t size)
{
	void *p = malloc(size);

	KEEP(p);
	free(__atomic_exchange_n(&tagged_kept[__atomic_fetch_add(&tagged_nr, 1, __ATOMIC_RELAXED) % TAGGED_KEPT], p,
				 __ATOMIC_RELAXED));
}

static void tagged_left(unsigned path, size_t size);
static void tagged_right(unsigned path, size_t size);

static inline __attribute__((always_inline)) void tagged_step(unsigned path, size_t size)
{
	if (path == 1)
		tagged_leaf(size);
	else if (path & 1)
		tagged_right(path >> 1, size);
	else
		tagged_left(path >> 1, size);
}

static NOINLINE void tagged_left(unsigned path, size_t size)
{
	char room[TAGGED_ROOM], *p = room;

	KEEP(p);
	tagged_step(path, size);
	KEEP(p);
}

static NOINLINE void tagged_right(unsigned path, size_t size)
{
	char *p = (char *)__builtin_alloca(100 + (path & 15) * 32);

	KEEP(p);
	tagged_step(path, size);
	KEEP(p);
}

static inline size_t tagged_size(unsigned kind, unsigned path)
{
	return TAGGED_BASE + kind * TAGGED_KIND + 2 * path + 1;
}

/* The nth path: between two and eleven functions long. */
static inline unsigned tagged_path(unsigned n)
{
	uint32_t x = (n + 1) * 2654435761u;
	unsigned bits = 2 + (x >> 8) % 10;

	x ^= x >> 15;
	return 1u << bits | ((x * 2246822519u >> 12) & ((1u << bits) - 1));
}

/* For a program with one kind: obey lines `WORD N` by N calls of run. Returns main's status. */
static UNUSED int tagged_serve(void (*run)(unsigned n))
{
	char *line;

	say_ready();
	while ((line = hear()) && strcmp(line, "quit")) {
		const char *number = strchr(line, ' ');

		for (unsigned n = 0; number && n < strtoul(number, NULL, 10); n++)
			run(n);
		say("ok");
	}
	return line ? 0 : 1;
}
