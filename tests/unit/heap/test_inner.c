/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks that programs point into: sds strings, pools. */

#include <string.h>

#include "fixture.h"
#include "heap/block.h"
#include "heap/reach/inner.h"
#include "words.h"

TEST("sds strings")
{
	static const struct {
		uint8_t header[17];
		uint64_t size, offset;
		bool is;
	} cases[] = {
		{ { 5 << 3 }, 7, 1, true },			/* five bytes, no room */
		{ { 5 << 3 }, 6, 1, false },
		{ { 5 << 3 }, 8, 1, false },			/* it would have no room */
		{ { 5, 5, 1, 'a', 'b', 'c', 'd', 'e', 'f' }, 9, 3, false },	/* no zero at its end */
		{ { 5 << 3 | 1 }, 7, 1, false },		/* another type */
		{ { 100, 100, 1 }, 104, 3, true },
		{ { 100, 108, 1 }, 104, 3, true },		/* the room that jemalloc gave */
		{ { 100, 200, 1 }, 104, 3, false },
		{ { 100, 99, 1 }, 104, 3, false },
		{ { 100, 100, 2 }, 104, 3, false },
		{ { 0x2c, 1, 0x2c, 1, 2 }, 306, 5, true },
		{ { 0x2c, 1, 0x2c, 1, 2 }, 304, 5, false },
		{ { 0, 0, 1, 0, 0, 0, 1, 0, 3 }, 65546, 9, true },
		{ { 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4 }, 24, 17, true },
		{ { 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 255, 4 }, 24, 17, false },
		{ { 0 }, 24, 8, false },
		{ { 0 }, 1, 1, false },
	};
	struct words in;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct block block = { .address = at(10), .size = cases[i].size };

		words_open(&in);
		memcpy(&in.word[10], cases[i].header, sizeof(cases[i].header));
		CU_ASSERT_EQUAL(inner_is_sds(&in.memory, &block, cases[i].offset), cases[i].is);
		/* What cannot be read is none. */
		in.hole = BASE;
		in.hole_end = at(100);
		CU_ASSERT_FALSE(inner_is_sds(&in.memory, &block, cases[i].offset));
		free(in.word);
	}
	CU_ASSERT_TRUE(inner_may_be_sds(17));
	CU_ASSERT_FALSE(inner_may_be_sds(16));
	CU_ASSERT_FALSE(inner_may_be_sds(UINT64_MAX));
}

TEST("pools")
{
	struct block block = { .address = at(10), .size = 512 };
	struct words in;

	words_open(&in);
	CU_ASSERT_FALSE(inner_is_pool(&in.memory, &block));
	in.word[10] = at(20);
	in.word[11] = at(10 + 64);
	CU_ASSERT_TRUE(inner_is_pool(&in.memory, &block));
	in.word[10] = at(10 + 64);	/* it is full */
	CU_ASSERT_TRUE(inner_is_pool(&in.memory, &block));
	in.word[10] = at(10);		/* to itself is no place that was given out */
	CU_ASSERT_FALSE(inner_is_pool(&in.memory, &block));
	in.word[10] = at(20);
	in.word[11] = at(10 + 63);
	CU_ASSERT_FALSE(inner_is_pool(&in.memory, &block));
	block.preattach = true;		/* its size is what can be used */
	CU_ASSERT_TRUE(inner_is_pool(&in.memory, &block));
	in.word[11] = at(10 + 60);
	CU_ASSERT_FALSE(inner_is_pool(&in.memory, &block));
	in.word[11] = 0;
	in.word[10 + 7] = at(10 + 64);	/* the eighth word is the last that is looked at */
	CU_ASSERT_TRUE(inner_is_pool(&in.memory, &block));
	in.word[10 + 7] = 0;
	in.word[10 + 8] = at(10 + 64);
	CU_ASSERT_FALSE(inner_is_pool(&in.memory, &block));
	block.size = 8;
	CU_ASSERT_FALSE(inner_is_pool(&in.memory, &block));
	free(in.word);
}

/* A header of 24 bytes with a size, and what got the block has the size, too. */
TEST("pools behind a header")
{
	struct block block = { .address = at(10), .size = 8184 };
	struct words in;

	words_open(&in);
	in.word[10 + 1] = 8160 | 2;
	CU_ASSERT_FALSE(inner_is_pool(&in.memory, &block));
	in.word[10 + 5] = 8160;
	CU_ASSERT_TRUE(inner_is_pool(&in.memory, &block));
	in.word[10 + 5] = 8152;
	CU_ASSERT_FALSE(inner_is_pool(&in.memory, &block));
	in.word[10 + 5] = 8160;
	in.word[10 + 1] = 8184;			/* of all */
	CU_ASSERT_TRUE(inner_is_pool(&in.memory, &block));
	block.size = 8188;
	CU_ASSERT_FALSE(inner_is_pool(&in.memory, &block));
	block.preattach = true;
	CU_ASSERT_TRUE(inner_is_pool(&in.memory, &block));
	free(in.word);
}
