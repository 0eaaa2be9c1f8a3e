/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which bytes of a range are in memory, and which are swapped out, as runs of pages that are asked
 * for in order of address. The kernel's page of zeros, which a read of untouched memory leaves, is
 * neither, as in smaps, where the kernel tells it (PAGEMAP_SCAN, Linux 6.7); before that it counts as
 * in memory. No page is touched.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct page_run {
	uint64_t start, end;
	bool swapped;
};

struct page_runs {
	VEC(struct page_run) vec;	/* in order of address */
};

struct page_bytes {
	uint64_t resident, swapped;
};

/*
 * Add the runs of [start, end), from an open /proc/PID/pagemap; what lies below must have been added
 * before. ERR_SYS: the kernel does not tell.
 */
struct err *page_runs_add(int pagemap, uint64_t start, uint64_t end, struct page_runs *to) MUST_CHECK;
/* *at is 0 for the first question; start must not be below that of the question before. */
struct page_bytes page_runs_between(const struct page_runs *is, size_t *at, uint64_t start,
				       uint64_t end);
void page_runs_free(struct page_runs *is);
