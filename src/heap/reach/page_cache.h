/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads memory by pages, for many small reads in no order, which mostly go to places that lie
 * together: each page has one place in the cache, by its number.
 */
#pragma once

#include "heap/reach/page_reader.h"

#define PAGE_CACHE	512u		/* pages: 2 MB */

struct page_cache {
	struct memory memory;		/* reads go here */
	struct page_reader reader[PAGE_CACHE];
};

/* of must not change meanwhile. */
void page_cache_init(struct page_cache *cache, struct memory *of);
