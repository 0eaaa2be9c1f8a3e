/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which pages of a process have ever been touched (/proc/TID/pagemap): in memory, or swapped out. A
 * process may have reserved a thousand times as much as it uses.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGEMAP_ENTRIES	4096u

struct pagemap {
	int fd;			/* -1: it could not be opened; then all pages count */
	uint64_t first;		/* page of entry[0] */
	uint64_t nr;		/* of entry[] */
	uint64_t entry[PAGEMAP_ENTRIES];
};

void pagemap_open(pid_t tid, struct pagemap *ret);
void pagemap_close(struct pagemap *pagemap);
/*
 * The next part of [start, end), which is private anonymous memory, that may hold something; false:
 * there is none. What cannot be told may.
 */
bool pagemap_next(struct pagemap *pagemap, uint64_t start, uint64_t end, uint64_t *start_ret,
		  uint64_t *end_ret);
/*
 * Has tid a copy of its own of the page at address, which is mapped from a file privately? One that
 * was written to, also by a debugger, is one for as long as the mapping lasts. What cannot be told
 * is taken for one.
 */
bool pagemap_is_copied(pid_t tid, uint64_t address);
