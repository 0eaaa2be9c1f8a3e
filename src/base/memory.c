/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Access to memory by address, no matter what holds it. */

#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/page.h"

struct err *memory_read_some(struct memory *memory, uint64_t addr, void *buf, size_t len,
			     size_t *len_ret)
{
	return memory->read(memory, addr, buf, len, len_ret);
}

struct err *memory_read(struct memory *memory, uint64_t addr, void *buf, size_t len)
{
	size_t got;
	struct err *err = memory->read(memory, addr, buf, len, &got);

	if (err)
		return err;
	if (got < len)
		return err_create(ERR_MEMORY, "cannot read memory at 0x%" PRIx64, addr + got);
	return NULL;
}

struct err *memory_read_u64(struct memory *memory, uint64_t addr, uint64_t *ret)
{
	uint64_t word;
	struct err *err = memory_read(memory, addr, &word, sizeof(word));

	if (!err)
		*ret = word;
	return err;
}

struct err *memory_read_string(struct memory *memory, uint64_t addr, char *buf, size_t room)
{
	size_t got;
	struct err *err = memory->read(memory, addr, buf, room, &got);

	if (err)
		return err;
	if (!memchr(buf, '\0', got))
		return err_create(ERR_FORMAT, "no string of less than %zu bytes at 0x%" PRIx64,
				  room, addr);
	return NULL;
}

static struct err *read_patch(struct memory *memory, uint64_t addr, void *buf, size_t len,
			      size_t *len_ret)
{
	const struct memory_patch *patch = (const struct memory_patch *)memory;
	uint64_t offset = addr - patch->start;
	struct err *err;
	size_t more;

	if (offset >= patch->len) {
		if (addr < patch->start && len > patch->start - addr)
			len = patch->start - addr;
		return patch->below->read(patch->below, addr, buf, len, len_ret);
	}
	*len_ret = MIN(len, patch->len - offset);
	memcpy(buf, patch->bytes + offset, *len_ret);
	if (*len_ret == len)
		return NULL;
	err = patch->below->read(patch->below, addr + *len_ret, (char *)buf + *len_ret,
				 len - *len_ret, &more);
	if (err)
		err_ignore(err);
	else
		*len_ret += more;
	return NULL;
}

void memory_patch_init(struct memory_patch *patch, struct memory *below, uint64_t start,
		       const uint8_t *bytes, size_t len)
{
	*patch = (struct memory_patch){
		.memory = { .read = read_patch }, .below = below, .start = start, .bytes = bytes,
		.len = len,
	};
}

bool memory_next(struct memory *memory, uint64_t start, uint64_t end, uint64_t *start_ret,
		 uint64_t *end_ret)
{
	if (start >= end)
		return false;
	if (memory->next)
		return memory->next(memory, start, end, start_ret, end_ret);
	*start_ret = start;
	*end_ret = end;
	return true;
}

bool memory_read_ahead(struct memory *memory, uint64_t *addr, uint64_t end, void *buf, size_t len,
		       size_t *len_ret)
{
	uint64_t at = *addr, to;

	/* What seems to be readable may not be, page by page. */
	while (at < end && memory->read(memory, at, buf, MIN(len, end - at), len_ret)) {
		at = ALIGN_DOWN(at, PAGE) + PAGE;
		if (!memory_next(memory, at, end, &at, &to))
			return false;
	}
	*addr = at;
	return at < end;
}

bool memory_read_holes(struct memory *memory, uint64_t addr, void *buf, size_t len)
{
	uint64_t at = addr, to, end = addr + len;
	bool any = false;
	size_t got;

	memset(buf, 0, len);
	while (memory_next(memory, at, end, &at, &to)) {
		if (memory->read(memory, at, (char *)buf + (at - addr), to - at, &got))
			got = ALIGN_DOWN(at, PAGE) + PAGE - at;
		else
			any = true;
		at += MIN(got, end - at);
	}
	return any;
}
