/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts the zeros of blocks (zero_form.h). */

#include "heap/zero_form.h"

#include "base/memory.h"
#include "heap/reach/form.h"

#define WORD		8u
#define HEADER_MOST	(4 * WORD)
#define SHARE		10u	/* one word in so many may be another number */
#define PART		4096u	/* bytes that are read at once */
#define SAMPLES		16u	/* parts of a large block that are looked at first: ... */
#define SAMPLE_SHARE	4u	/* ... one word in so many may be another number in these */
#define LARGE		(4 * SAMPLES * PART)

/* Memory that was never written, and not some that is not mapped any more. */
static bool is_untouched(struct memory *memory, uint64_t start, uint64_t end)
{
	uint8_t first, last;

	return !memory_read(memory, start, &first, 1) && !memory_read(memory, end - 1, &last, 1) &&
	       !first && !last;
}

/* Adds the words that are not zero, and stops above most; false: something cannot be read. */
static bool count(struct memory *memory, uint64_t at, uint64_t end, uint64_t most, uint64_t *nr)
{
	uint64_t words[PART / WORD], from, to;

	while (at < end && *nr <= most) {
		if (!memory_next(memory, at, end, &from, &to))
			from = to = end;
		if (from > at && !is_untouched(memory, at, from))
			return false;
		for (at = from; at < to && *nr <= most;) {
			size_t len = (size_t)MIN(to - at, (uint64_t)PART), last = (len - 1) / WORD;

			words[last] = 0;
			if (memory_read(memory, at, words, len))
				return false;
			for (size_t i = 0; i <= last; i++)
				*nr += words[i] != 0;
			at += len;
		}
	}
	return true;
}

/* A few parts of a large block tell, of most blocks, that it is of something else. */
static bool may_be_zeros(struct memory *memory, uint64_t start, uint64_t end)
{
	const uint64_t most = SAMPLES * PART / WORD / SAMPLE_SHARE;
	uint64_t step = (end - start) / SAMPLES, nr = 0;

	for (unsigned i = 0; i < SAMPLES && nr <= most; i++)
		if (!count(memory, start + i * step, start + i * step + PART, most, &nr))
			return false;
	return nr <= most;
}

/* Where the block begins behind an allocator's header that has its size. */
static uint64_t behind_header(struct memory *memory, const struct block *block)
{
	uint64_t header = HEADER_MOST;

	while (header && form_of(memory, block, header) != FORM_SIZED)
		header -= WORD;
	return block->address + header;
}

enum block_form zero_form_of(struct memory *memory, const struct packed_list *list, size_t i)
{
	struct block block = packed_block(list, i);
	uint64_t start = behind_header(memory, &block), end = block.address + block.size, nr = 0;
	uint64_t most = block.size < BLOCK_FORM_READ ? 0 : block.size / WORD / SHARE;

	if (start >= end || (block.size >= LARGE && !may_be_zeros(memory, start, end)) ||
	    !count(memory, start, end, most, &nr))
		return BLOCK_FORM_NONE;
	return !nr ? BLOCK_FORM_ZEROS : nr <= most ? BLOCK_FORM_MOSTLY_ZEROS : BLOCK_FORM_NONE;
}
