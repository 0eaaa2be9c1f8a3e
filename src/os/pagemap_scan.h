/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's ioctl PAGEMAP_SCAN (Linux 6.7), as in linux/fs.h, which may be older. */
#pragma once

#include <linux/ioctl.h>
#include <stdint.h>

struct pagemap_scan {
	uint64_t size, flags, start, end, walk_end, regions, nr_regions, max_pages;
	uint64_t category_inverted, category_mask, category_anyof, category_return;
};

struct pagemap_region {
	uint64_t start, end, categories;
};

#define SCAN		_IOWR('f', 16, struct pagemap_scan)
#define SCAN_PRESENT	(1ull << 3)
#define SCAN_SWAPPED	(1ull << 4)
#define SCAN_ZERO_PAGE	(1ull << 5)	/* present, and not resident: it is the kernel's */
#define SCAN_HUGE	(1ull << 6)
#define SCAN_GUARD	(1ull << 8)	/* Linux 6.16; MADV_GUARD_INSTALL: swapped, too, and nothing is there */

/*
 * The next regions of [scan->start, scan->end), from an open /proc/TID/pagemap; scan->start is where to
 * go on then, scan->end if all was scanned. Returns how many there are; -1 and errno.
 */
int pagemap_scan_more(int fd, struct pagemap_scan *scan);
