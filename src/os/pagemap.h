/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tells which pages of a process have ever been touched, because they are in memory or swapped out
 * (/proc/TID/pagemap). A process may have reserved a thousand times as much as it uses.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGEMAP_ENTRIES	4096u

struct pagemap {
	int fd;			/* -1: it could not be opened; then all pages count */
	uint64_t first;		/* page number of entry[0] */
	uint64_t nr;		/* number of entries */
	uint64_t entry[PAGEMAP_ENTRIES];
};

void pagemap_open(pid_t tid, struct pagemap *ret);
void pagemap_close(struct pagemap *pagemap);
/*
 * Find the next part of [start, end), which is private anonymous memory, that may have contents;
 * false: there is none. Pages that cannot be checked count as if they had contents.
 */
bool pagemap_next(struct pagemap *pagemap, uint64_t start, uint64_t end, uint64_t *start_ret,
		  uint64_t *end_ret);
/*
 * Has tid its own copy of the page at address, which is mapped privately from a file? A page that
 * was written to, also by a debugger, stays a copy as long as the mapping lasts. True also if this
 * cannot be found out.
 */
bool pagemap_is_copied(pid_t tid, uint64_t address);
/* Is the page at address of private anonymous memory touched? True also if that is not known. */
bool pagemap_is_touched(const struct pagemap *pagemap, uint64_t address);
