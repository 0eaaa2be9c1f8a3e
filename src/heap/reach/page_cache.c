/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory by pages, in no order (page_cache.h). */

#include "heap/reach/page_cache.h"

static struct err *page_cache_read(struct memory *memory, uint64_t addr, void *buf, size_t len,
				   size_t *len_ret)
{
	struct page_cache *cache = (struct page_cache *)memory;

	return memory_read_some(&cache->reader[addr / PAGE % PAGE_CACHE].memory, addr, buf, len,
				len_ret);
}

void page_cache_init(struct page_cache *cache, struct memory *of)
{
	cache->memory = (struct memory){ .read = page_cache_read };
	for (unsigned i = 0; i < PAGE_CACHE; i++)
		page_reader_init(&cache->reader[i], of);
}
