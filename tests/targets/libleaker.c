/* SPDX-License-Identifier: GPL-3.0-or-later */
/* To be preloaded: each thousandth read loses a block of 1777 bytes (leaker.h). */
#include "leaker.h"

#include <sys/syscall.h>

static uint64_t reads;

ssize_t read(int fd, void *buf, size_t len)
{
	if (__atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED) % EVERY == 0)
		leak_one(malloc, 1777);
	return syscall(SYS_read, fd, buf, len);
}
