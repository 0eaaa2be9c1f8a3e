/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory of a live process, read without a stop: small reads through /proc/TID/mem, large ones
 * by process_vm_readv and, where that does not get on, /proc/TID/mem. Written through
 * /proc/TID/mem only, which also writes read-only text (copy on write) and needs no change of
 * protection. Any thread may read.
 *
 * Once the process has ended, or has replaced its memory by exec, reads and writes are ERR_GONE.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/memory.h"

struct procmem {
	struct memory memory;
	pid_t tid;		/* a thread that has the memory */
	/* /proc/TID/mem, open for reading and writing if that was possible */
	int fd;
	bool forked;		/* its pages are shared with whom it was forked from, and are to stay so */
};

/*
 * tid's memory; the descriptor pins the memory of this very process, even across an exec or a
 * reused pid.
 */
struct err *procmem_open(pid_t tid, struct procmem *ret) MUST_CHECK;
void procmem_close(struct procmem *mem);

/* A piece of memory to be read; got is how much of it could be. */
struct procmem_piece {
	uint64_t addr;
	void *buf;
	size_t len, got;
};

/*
 * Many pieces in few system calls. What cannot be read at once (got is 0) may be to be had by a
 * read of its own all the same.
 */
struct err *procmem_read_pieces(const struct procmem *mem, struct procmem_piece *piece,
				size_t nr) MUST_CHECK;
/* The thread whose id was given has ended while others live: go on with another. */
void procmem_set_tid(struct procmem *mem, pid_t tid);
/* Does any process still run in this memory? */
bool procmem_lives(const struct procmem *mem);
/* ERR_MEMORY with the first address that could not be written. */
struct err *procmem_write(struct procmem *mem, uint64_t addr, const void *buf, size_t len)
	MUST_CHECK;
