/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library for `rooms`: it allocates from the C library of its own namespace. */
#include "target.h"

#define KEPT	4096

static void *room_kept[KEPT];		/* the only pointers to them */

void *room_grab(int slot, size_t size);
void room_drop(int slot, int forget);
void *room_malloc(void);

NOINLINE void *room_grab(int slot, size_t size)
{
	room_kept[slot] = malloc(size);
	canary_fill(room_kept[slot], size);
	return room_kept[slot];
}

void room_drop(int slot, int forget)
{
	if (!forget)
		free(room_kept[slot]);
	room_kept[slot] = NULL;
}

/* Which one that is. */
void *room_malloc(void)
{
	return (void *)(uintptr_t)malloc;
}
