/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory of a live process, read without a stop, and without any effect on it: only pages that
 * are there are read, and none whose reading may act or wait (os/page_rules.h). The rest is not
 * readable. Writes go through /proc/TID/mem, which can also write to read-only text (copy on write)
 * without a change of protection. Any thread may read.
 *
 * Once the process has ended, or has replaced its memory by exec, reads and writes are ERR_GONE.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/memory.h"

struct page_rules;
struct proc_maps;

struct procmem {
	struct memory memory;
	/*
	 * The same, but pages that are not there are brought in: for text, for what mdbg itself has
	 * mapped, and for what is written to next. It is not for what is only looked at.
	 */
	struct memory bring;
	pid_t tid;		/* a thread that has the memory */
	/* /proc/TID/mem, open for reading, and for writing if that was possible */
	int fd;
	struct page_rules *rules;
	/* it shares pages with the process that it was forked from, and they must stay shared */
	bool forked;
};

/*
 * Open tid's memory. The descriptor pins the memory of this very process, even across an exec or a
 * reuse of the pid.
 */
struct err *procmem_open(pid_t tid, struct procmem *ret) MUST_CHECK;
void procmem_close(struct procmem *mem);

/*
 * Give the mappings of the process as they are now; they tell what each page belongs to. They are
 * read again if a page lies in none of them. Whoever has read them anyway calls this.
 */
void procmem_take_maps(const struct procmem *mem, const struct proc_maps *maps);

/* A piece of memory to be read; got is the number of bytes that could be read. */
struct procmem_piece {
	uint64_t addr;
	void *buf;
	size_t len, got;
};

/* Read many pieces in few system calls. */
struct err *procmem_read_pieces(const struct procmem *mem, struct procmem_piece *piece,
				size_t nr) MUST_CHECK;
/* The thread whose id was given has ended while others live: use another one from now on. */
void procmem_set_tid(struct procmem *mem, pid_t tid);
/* Does any process still run in this memory? */
bool procmem_lives(const struct procmem *mem);
/* ERR_MEMORY names the first address that could not be written. */
struct err *procmem_write(struct procmem *mem, uint64_t addr, const void *buf, size_t len)
	MUST_CHECK;
