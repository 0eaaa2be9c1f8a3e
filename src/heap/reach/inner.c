/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks that programs point into (inner.h). */

#include "heap/reach/inner.h"

#include "base/compiler.h"
#include "base/memory.h"
#include "heap/block.h"

#define WORD		8u
#define POOL_WORDS	8u	/* of its address and its end */
#define SIZE_WORDS	16u
#define HEADER_WORDS	4u
/* a block in no record may be this much longer than the program asked for */
#define ROUNDED		24u
#define ROUNDED_UP	15u	/* or, for certain, by this */
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

/* A string with room for nothing else fits exactly: any byte could be its header. */
static bool is_tight(const struct block *block, uint64_t offset, uint64_t length)
{
	uint64_t left = block->size - offset - 1 - length;

	return !left || (block->preattach && left < ROUNDED);
}

bool inner_is_sds(struct memory *memory, const struct block *block, uint64_t offset)
{
	unsigned type = sds_type(offset), bytes;
	uint8_t header[SDS_HEADER], last;
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
	       room <= block->size + block->size / 4 + 16 &&
	       (bytes || is_tight(block, offset, length)) &&
	       !memory_read(memory, block->address + offset + length, &last, sizeof(last)) && !last;
}

/* Does one of the header's words have the size of the block, or of what is behind the header? */
static bool header_has(const uint64_t *word, unsigned header, uint64_t rest)
{
	for (unsigned i = 0; i < header; i++)
		if ((word[i] & ~7ull) == rest || word[i] == rest + header * WORD)
			return true;
	return false;
}

/*
 * Behind an allocator's header with a size: is there the size of what is behind the header, too? So
 * what got the block gives it out in turn.
 */
bool inner_has_sizes(const struct block *block, const uint64_t *word, unsigned nr)
{
	uint64_t rounded = block->preattach ? ROUNDED_UP : 0;

	for (unsigned header = 1; header <= HEADER_WORDS; header++)
		for (unsigned i = header; i < nr; i++) {
			uint64_t whole = word[i] + header * WORD;

			if (word[i] < block->size && whole <= block->size &&
			    block->size - whole <= rounded && header_has(word, header, word[i]))
				return true;
		}
	return false;
}

bool inner_is_pool(struct memory *memory, const struct block *block)
{
	uint64_t word[SIZE_WORDS], end = block->address + block->size;
	unsigned nr = (unsigned)MIN(block->size / WORD, SIZE_WORDS);
	bool has_end = false, has_place = false;
	struct err *err;

	if (nr < POOL_WORDS)
		return false;
	err = memory_read(memory, block->address, word, nr * WORD);
	if (!err && inner_has_sizes(block, word, nr))
		return true;
	for (unsigned i = 0; !err && i < POOL_WORDS; i++) {
		if (word[i] > block->address && word[i] <= end &&
		    (word[i] == end || (block->preattach && end - word[i] < ROUNDED)) && !has_end)
			has_end = true;
		else if (word[i] > block->address && word[i] <= end)
			has_place = true;
	}
	return has_end && has_place;
}
