/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks that programs point into (inner.h). */

#include "heap/reach/inner.h"

#include "base/compiler.h"
#include "base/memory.h"
#include "heap/block.h"

#define POOL_WORDS	8u
/* a block in no record may be this much longer than the program asked for */
#define ROUNDED		24u
#define SDS_HEADER	17u

/* sds.h of redis: length and room, each with this number of bytes, and one byte of flags. */
static const struct {
	uint8_t offset, bytes;
} sds_headers[] = { { 1, 0 }, { 3, 1 }, { 5, 2 }, { 9, 4 }, { 17, 8 } };

static unsigned sds_type(uint64_t offset)
{
	unsigned type = 0;

	while (type < ARRAY_SIZE(sds_headers) && sds_headers[type].offset != offset)
		type++;
	return type;
}

bool inner_may_be_sds(uint64_t offset)
{
	return sds_type(offset) < ARRAY_SIZE(sds_headers);
}

static uint64_t little_endian(const uint8_t *bytes, unsigned nr)
{
	uint64_t value = 0;

	while (nr--)
		value = value << 8 | bytes[nr];
	return value;
}

bool inner_is_sds(struct memory *memory, const struct block *block, uint64_t offset)
{
	unsigned type = sds_type(offset), bytes;
	uint8_t header[SDS_HEADER];
	uint64_t length, room;
	struct err *err;

	if (type == ARRAY_SIZE(sds_headers) || block->size <= offset)
		return false;
	err = memory_read(memory, block->address, header, offset);
	if (err || (header[offset - 1] & 7) != type)
		return false;
	bytes = sds_headers[type].bytes;
	length = bytes ? little_endian(header, bytes) : header[0] >> 3;
	room = bytes ? little_endian(header + bytes, bytes) : length;
	/* The room is what the allocator has rounded the block up to, at most by a quarter. */
	return length < block->size - offset && length <= room &&
	       room <= block->size + block->size / 4 + 16;
}

bool inner_is_pool(struct memory *memory, const struct block *block)
{
	uint64_t word[POOL_WORDS], end = block->address + block->size;
	bool has_end = false, has_place = false;
	struct err *err;

	if (block->size < sizeof(word))
		return false;
	err = memory_read(memory, block->address, word, sizeof(word));
	for (unsigned i = 0; !err && i < POOL_WORDS; i++) {
		if (word[i] > block->address && word[i] <= end &&
		    (word[i] == end || (block->preattach && end - word[i] < ROUNDED)) && !has_end)
			has_end = true;
		else if (word[i] > block->address && word[i] <= end)
			has_place = true;
	}
	return has_end && has_place;
}
