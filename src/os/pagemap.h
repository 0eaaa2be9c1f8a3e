/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tells which pages of a process are there, because they are in memory or swapped out
 * (/proc/TID/pagemap). A process may have reserved a thousand times as much as it uses.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGEMAP_ENTRIES	4096u

/* Of an entry. A mark of userfaultfd, a guard page and a page that is being moved are swapped, too. */
#define PAGEMAP_PRESENT		(1ull << 63)
#define PAGEMAP_SWAPPED		(1ull << 62)
#define PAGEMAP_FILE		(1ull << 61)	/* a page of a file, or a shared one */
#define PAGEMAP_GUARD		(1ull << 58)
#define PAGEMAP_USERFAULT	(1ull << 57)	/* protected against writes by userfaultfd */
/* Nobody else maps it. Memory of a device, and the kernel's page of zeros, never have this. */
#define PAGEMAP_EXCLUSIVE	(1ull << 56)

/* Is there something in the page of this entry, in memory or swapped out? */
static inline bool pagemap_has_contents(uint64_t entry)
{
	return (entry & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED)) && !(entry & PAGEMAP_GUARD);
}

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
/*
 * Read the entries of nr pages from address on, from an open /proc/TID/pagemap. Returns how many
 * there are; 0 if the process has ended.
 */
size_t pagemap_read(int fd, uint64_t address, uint64_t *entry, size_t nr);
/*
 * The first part of [start, end) that is in memory or swapped out, by PAGEMAP_SCAN, which passes
 * over memory without page tables, and no guard page; part of it may be the kernel's page of zeros.
 * False: there is none. Returns -1 if the kernel cannot tell (before Linux 6.7).
 */
int pagemap_scan_next(int fd, uint64_t start, uint64_t end, uint64_t *start_ret,
		      uint64_t *end_ret);
