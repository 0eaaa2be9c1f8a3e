/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that is read by pages. */

#include "fixture.h"
#include "heap/reach/page_reader.h"
#include "words.h"

static uint64_t read_word(struct page_reader *reader, uint64_t address)
{
	uint64_t word;

	CU_ASSERT_PTR_NULL_FATAL(memory_read_u64(&reader->memory, address, &word));
	return word;
}

TEST("reads a page once")
{
	struct page_reader reader;
	uint8_t bytes[PAGE];
	struct words in;

	words_open(&in);
	for (size_t i = 0; i < WORDS; i++)
		in.word[i] = i;
	page_reader_init(&reader, &in.memory);
	for (size_t i = 0; i < 1024; i++)
		CU_ASSERT_EQUAL(read_word(&reader, at(i)), i);
	CU_ASSERT_EQUAL(in.reads, 1024 * 8 / PAGE);
	/* Over the end of a page, and more than one. */
	CU_ASSERT_PTR_NULL(memory_read(&reader.memory, at(500), bytes, sizeof(bytes)));
	CU_ASSERT_EQUAL(memcmp(bytes, &in.word[500], sizeof(bytes)), 0);
	CU_ASSERT_EQUAL(in.reads, 1024 * 8 / PAGE + 1);
	free(in.word);
}

/* The rest of a page cannot be read. */
TEST("reads what there is")
{
	struct page_reader reader;
	uint64_t word;
	struct words in;

	words_open(&in);
	in.word[10] = 10;
	in.word[400] = 400;
	in.hole = at(100);
	in.hole_end = at(300);
	page_reader_init(&reader, &in.memory);
	CU_ASSERT_EQUAL(read_word(&reader, at(10)), 10);
	CU_ASSERT_EQUAL(memory_read_u64(&reader.memory, at(200), &word)->code, ERR_MEMORY);
	CU_ASSERT_EQUAL(read_word(&reader, at(400)), 400);
	in.hole = BASE;
	in.hole_end = at(20);
	CU_ASSERT_EQUAL(read_word(&reader, at(400)), 400);
	free(in.word);
}
