/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent's image loaded into the test itself, with a probed function, as mdbg would have left
 * them behind.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agent/agent.h"

/* Returns x + 1; image_load has made its first byte an int3. */
long victim(long x);

/* Map the image, displace victim, patch it, fill the table. 0 or -1. */
int image_load(void);
/* Undo it. */
int image_unload(void);

/* Install the handler in place of the disposition that is there, in this process. */
void image_install(void);
/* Address in the loaded image. */
uint64_t image_address(uint64_t offset);
/* Code in an area of the agent: `mov $77, %eax; int3; ret`, as a stub has a trap of its own. */
long image_stub(void);
/* `syscall; ret` in the image. */
long image_syscall(long nr, long a, long b, long c);
/* Fill the table anew: nr traps, the index'th is victim's. */
void image_refill(uint32_t index, uint32_t nr);
/* The table is these traps (sorted) and, besides the image, this area. */
void image_replace(const struct agent_trap *trap, uint32_t nr, struct agent_range area);
/*
 * After image_replace: all traps lie in the mapping text; owner is the word of who has put them in
 * (NULL: there is none).
 */
void image_own(struct agent_range text, uint32_t *owner);
/* len writable bytes within reach of a rel32 from the library that holds address; NULL: none. */
void *image_map_near(const void *address, size_t len);
/* Where a tracer sends a thread that has stopped at victim's trap. */
uint64_t image_displaced(void);
