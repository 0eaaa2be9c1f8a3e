/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads memory by pages, for many small reads in order of address: a read of a process costs a
 * system call, whatever its length. No page is read of which nothing was asked for.
 */
#pragma once

#include "base/memory.h"
#include "base/page.h"

struct page_reader {
	struct memory memory;		/* reads go here */
	struct memory *of;		/* which must not change meanwhile */
	uint64_t start;			/* of the page that was read last */
	size_t len;			/* of it, if less could be read; 0: none was */
	uint8_t page[PAGE];
};

void page_reader_init(struct page_reader *reader, struct memory *of);
