/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A struct memory over an array that pretends to lie at an address. */
#pragma once

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory.h"

struct memory_array {
	struct memory memory;
	const uint8_t *bytes;
	uint64_t start;
	size_t len;
};

static inline struct err *memory_array_read(struct memory *memory, uint64_t addr, void *buf, size_t len,
					    size_t *len_ret)
{
	struct memory_array *array = (struct memory_array *)memory;
	uint64_t offset = addr - array->start;

	if (addr < array->start || offset >= array->len)
		return err_create(ERR_MEMORY, "cannot read memory at 0x%" PRIx64, addr);
	if (len > array->len - offset)
		len = array->len - offset;
	memcpy(buf, array->bytes + offset, len);
	*len_ret = len;
	return NULL;
}

static inline void memory_array_init(struct memory_array *array, const void *bytes, uint64_t start,
				     size_t len)
{
	array->memory = (struct memory){ .read = memory_array_read };
	array->bytes = bytes;
	array->start = start;
	array->len = len;
}
