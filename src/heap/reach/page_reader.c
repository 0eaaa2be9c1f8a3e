/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory by pages (page_reader.h). */

#include "heap/reach/page_reader.h"

#include <string.h>

#include "base/compiler.h"

static bool has(const struct page_reader *reader, uint64_t addr, size_t len)
{
	return addr >= reader->start && addr - reader->start <= reader->len &&
	       len <= reader->len - (addr - reader->start);
}

static struct err *read_page(struct page_reader *reader, uint64_t addr)
{
	reader->start = ALIGN_DOWN(addr, PAGE);
	reader->len = 0;
	return memory_read_some(reader->of, reader->start, reader->page, PAGE, &reader->len);
}

static struct err *page_reader_read(struct memory *memory, uint64_t addr, void *buf, size_t len,
				    size_t *len_ret)
{
	struct page_reader *reader = (struct page_reader *)memory;

	if (!has(reader, addr, len) && len <= PAGE - addr % PAGE && read_page(reader, addr))
		reader->len = 0;	/* what can be read of it is read below */
	if (!has(reader, addr, len))
		return memory_read_some(reader->of, addr, buf, len, len_ret);
	memcpy(buf, reader->page + (addr - reader->start), len);
	*len_ret = len;
	return NULL;
}

void page_reader_init(struct page_reader *reader, struct memory *of)
{
	reader->memory = (struct memory){ .read = page_reader_read };
	reader->of = of;
	reader->start = 0;
	reader->len = 0;
}
