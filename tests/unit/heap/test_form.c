/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forms of blocks that prove what a pointer to their inside is. */

#include <string.h>

#include "fixture.h"
#include "heap/block.h"
#include "heap/reach/form.h"
#include "words.h"

enum { FIRST = 10 };

static struct block block_of(uint64_t size)
{
	return (struct block){ .address = at(FIRST), .size = size };
}

TEST("headers with a size")
{
	static const struct {
		uint64_t head[4], size, offset;
		bool older, is;
	} cases[] = {
		{ { 0, 176 }, 200, 24, false, true },
		{ { 0, 176 | 2 }, 200, 24, false, true },	/* MariaDB's flags */
		{ { 0, 168 }, 200, 24, false, false },
		{ { 200 }, 200, 8, false, true },		/* of all */
		{ { 0, 176 }, 200, 12, false, false },		/* no place of a word */
		{ { 160 }, 200, 40, false, false },		/* too long for a header */
		{ { 0, 170 }, 200, 24, true, true },		/* it was rounded up */
		{ { 0, 144 }, 200, 24, true, false },
		{ { 8, 8 }, 40, 32, true, false },		/* small numbers fit by chance */
		{ { 8, 8 }, 40, 32, false, true },
	};
	struct words in;

	words_open(&in);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct block block = block_of(cases[i].size);

		block.preattach = cases[i].older;
		memcpy(&in.word[FIRST], cases[i].head, sizeof(cases[i].head));
		CU_ASSERT_EQUAL(form_of(&in.memory, &block, cases[i].offset),
				cases[i].is ? FORM_SIZED : FORM_NONE);
	}
	free(in.word);
}

TEST("reference counts")
{
	struct block block = block_of(96);
	struct words in;

	words_open(&in);
	in.word[FIRST] = 3;
	in.word[FIRST + 1] = 1;
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, 16), FORM_COUNTED);
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, 24), FORM_NONE);
	in.word[FIRST + 1] = 0;
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, 16), FORM_NONE);
	in.word[FIRST + 1] = 0x7f0012345678;
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, 16), FORM_NONE);
	free(in.word);
}

/* A table of so many buckets of 24 bytes, one in `full` is taken. Returns its control bytes' offset. */
static uint64_t make_table(struct words *in, uint64_t buckets, uint64_t full)
{
	uint64_t offset = (buckets * 24 + 15) / 16 * 16;
	uint8_t *control = (uint8_t *)&in->word[FIRST] + offset;

	memset(control, 0xff, buckets + 16);
	for (uint64_t i = 0; i < buckets; i += full)
		control[i] = (uint8_t)(i * 37 % 128);
	memcpy(control + MAX(buckets, 16ul), control, MIN(buckets, 16ul));
	return offset;
}

TEST("hash tables")
{
	static const uint64_t sizes[] = { 4, 8, 16, 32, 512, 16384 };
	struct words in;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t buckets = sizes[i], offset;
		struct block block;

		words_open(&in);
		offset = make_table(&in, buckets, 3);
		block = block_of(offset + buckets + 16);
		CU_ASSERT_EQUAL(form_of(&in.memory, &block, offset), FORM_TABLE);
		CU_ASSERT_EQUAL(form_table_buckets(&block, offset), buckets);
		CU_ASSERT_EQUAL(form_table_buckets(&block, offset - 8), 0);
		CU_ASSERT_EQUAL(form_table_buckets(&block, block.size + 16), 0);
		/* Rounded up, and what is behind it is not its own. */
		block.preattach = true;
		block.size += 12;
		CU_ASSERT_EQUAL(form_of(&in.memory, &block, offset), FORM_TABLE);
		block.heap = LOG_HEAP_MMAP;
		block.size += 3000;
		CU_ASSERT_EQUAL(form_of(&in.memory, &block, offset), FORM_TABLE);
		free(in.word);
	}
}

TEST("no hash tables")
{
	struct words in;
	uint64_t offset;
	struct block block;
	uint8_t *control;

	words_open(&in);
	offset = make_table(&in, 64, 3);
	block = block_of(offset + 64 + 16);
	control = (uint8_t *)&in.word[FIRST] + offset;
	/* The mirrored bytes differ. */
	control[64] ^= 1;
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, offset), FORM_NONE);
	control[64] ^= 1;
	/* Not a control byte. */
	control[20] = 0x90;
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, offset), FORM_NONE);
	/* None is free. */
	memset(control, 0, 64 + 16);
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, offset), FORM_NONE);
	make_table(&in, 64, 3);
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, offset), FORM_TABLE);
	/* It does not fit. */
	block.size += 8;
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, offset), FORM_NONE);
	block.size -= 8;
	in.hole = at(FIRST) + offset;
	in.hole_end = in.hole + 4096;
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, offset), FORM_NONE);
	free(in.word);
}

TEST("headers behind pages")
{
	enum { PAGE_WORDS = 512, HEADER = FIRST + PAGE_WORDS };
	struct block block = block_of(8 * PAGE_WORDS + 200);
	struct words in;

	words_open(&in);
	in.word[HEADER] = at(FIRST);
	in.word[HEADER + 1] = at(HEADER + 8);
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, 8 * PAGE_WORDS), FORM_PAGE);
	in.word[HEADER + 1] = at(HEADER);	/* the header itself */
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, 8 * PAGE_WORDS), FORM_NONE);
	in.word[HEADER + 1] = at(HEADER + 8);
	in.word[HEADER] = at(HEADER - 8);	/* too small for a page */
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, 8 * PAGE_WORDS), FORM_NONE);
	/* The second of several pages in a block. */
	in.word[HEADER] = at(FIRST + 100);
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, 8 * PAGE_WORDS), FORM_PAGE);
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, block.size), FORM_NONE);
	free(in.word);
}

TEST("flags in the low bits")
{
	struct block block = block_of(24);
	struct words in;

	words_open(&in);
	in.word[FIRST] = at(50);
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, 1), FORM_TAGGED);
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, 4), FORM_NONE);
	in.word[FIRST] = at(50) + 1;
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, 2), FORM_NONE);
	memcpy(&in.word[FIRST], "a text of", 8);
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, 2), FORM_NONE);
	free(in.word);
}

TEST("objects of Python's behind the collector's header")
{
	enum { TYPE = 50, TYPE_OF_TYPES = 70 };
	struct block block = block_of(600);
	struct words in;

	words_open(&in);
	in.word[FIRST + 2] = in.word[FIRST + 4] = 1;
	in.word[FIRST + 3] = in.word[FIRST + 5] = at(TYPE);
	in.word[TYPE] = 60;
	in.word[TYPE + 1] = at(TYPE_OF_TYPES);
	in.word[TYPE_OF_TYPES] = UINT32_MAX;
	in.word[TYPE_OF_TYPES + 1] = at(TYPE_OF_TYPES);
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, 16), FORM_PYTHON);
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, 32), FORM_PYTHON);
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, 24), FORM_NONE);
	/* An empty list is its own neighbour, too, but has no count of references. */
	in.word[TYPE_OF_TYPES] = 0x7f0012345678;
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, 16), FORM_NONE);
	in.word[TYPE_OF_TYPES] = UINT32_MAX;
	in.word[TYPE_OF_TYPES + 1] = at(90);
	CU_ASSERT_EQUAL(form_of(&in.memory, &block, 16), FORM_NONE);
	free(in.word);
}
