/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks of zeros, or mostly. */

#include "fixture.h"
#include "heap/zero_form.h"
#include "words.h"

#define BLOCK	1000u	/* word */

static enum block_form form_of_size(struct words *in, struct block block)
{
	struct packed_list list = PACKED_INIT;
	enum block_form form;

	block.address = at(BLOCK);
	CU_ASSERT_PTR_NULL_FATAL(packed_add(&list, &block));
	CU_ASSERT_PTR_NULL_FATAL(packed_sort(&list, NULL));
	form = zero_form_of(&in->memory, &list, 0);
	packed_free(&list);
	return form;
}

TEST("zeros behind a header with the block's size")
{
	struct words in;

	words_open(&in);
	in.word[BLOCK + 1] = 128 - 24;
	CU_ASSERT_EQUAL(form_of_size(&in, (struct block){ .size = 128 }), BLOCK_FORM_ZEROS);
	in.word[BLOCK + 1] |= 2;	/* a flag */
	CU_ASSERT_EQUAL(form_of_size(&in, (struct block){ .size = 128 }), BLOCK_FORM_ZEROS);
	CU_ASSERT_EQUAL(form_of_size(&in, (struct block){ .size = 144 }), BLOCK_FORM_NONE);
	in.word[BLOCK + 15] = 1;
	CU_ASSERT_EQUAL(form_of_size(&in, (struct block){ .size = 128 }), BLOCK_FORM_NONE);
	free(in.word);
}

TEST("large blocks of zeros")
{
	const struct block block = { .size = 8192 + 4 };
	struct words in;

	words_open(&in);
	CU_ASSERT_EQUAL(form_of_size(&in, block), BLOCK_FORM_ZEROS);
	for (unsigned i = 0; i < 102; i++) {
		in.word[BLOCK + i] = i + 1;
		CU_ASSERT_EQUAL(form_of_size(&in, block), BLOCK_FORM_MOSTLY_ZEROS);
	}
	CU_ASSERT_STRING_EQUAL(block_form_name(BLOCK_FORM_MOSTLY_ZEROS), "mostly zeros");
	in.word[BLOCK + 1024] = 1;	/* its last four bytes */
	CU_ASSERT_EQUAL(form_of_size(&in, block), BLOCK_FORM_NONE);
	/* What cannot be read is not known. */
	in.word[BLOCK + 1024] = 0;
	in.hole = at(BLOCK + 1000);
	in.hole_end = at(BLOCK + 1001);
	CU_ASSERT_EQUAL(form_of_size(&in, block), BLOCK_FORM_NONE);
	free(in.word);
}

TEST("a very large block of something else costs few reads")
{
	const struct block block = { .size = 900000 };
	struct words in;

	words_open(&in);
	for (unsigned i = 0; i < 900000 / 8; i += 2)
		in.word[BLOCK + i] = 5;
	CU_ASSERT_EQUAL(form_of_size(&in, block), BLOCK_FORM_NONE);
	CU_ASSERT(in.reads < 64);
	/* A tenth of it, all at its start. */
	memset(&in.word[BLOCK + 11250], 0, 900000 - 90000);
	CU_ASSERT_EQUAL(form_of_size(&in, block), BLOCK_FORM_MOSTLY_ZEROS);
	free(in.word);
}

/* Half of it was never written: the memory does not name that part. */
static bool next_half(struct memory *memory UNUSED, uint64_t start, uint64_t end, uint64_t *start_ret,
		      uint64_t *end_ret)
{
	*start_ret = start;
	*end_ret = MIN(end, at(BLOCK + 25000));
	return start < *end_ret;
}

TEST("what was never written is not read")
{
	const struct block block = { .size = 400000 };
	struct words in;
	uint64_t reads;

	words_open(&in);
	CU_ASSERT_EQUAL(form_of_size(&in, block), BLOCK_FORM_ZEROS);
	reads = in.reads;
	in.reads = 0;
	in.memory.next = next_half;
	CU_ASSERT_EQUAL(form_of_size(&in, block), BLOCK_FORM_ZEROS);
	CU_ASSERT(in.reads < reads * 3 / 4);
	/* It is not mapped any more. */
	in.hole = at(BLOCK + 25000);
	in.hole_end = at(BLOCK + 50000);
	CU_ASSERT_EQUAL(form_of_size(&in, block), BLOCK_FORM_NONE);
	free(in.word);
}
