/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Structs of redis, by their words. */

#include <string.h>

#include "fixture.h"
#include "heap/redis_form.h"
#include "words.h"

enum { KEY = 10, SHORT_KEY = 20, ONE = 40, NEXT = 60, LIST = 100 };

static const uint8_t pack[] = "\x14\0\0\0\4\0\x82" "f1\3\x82" "v1\3\x81" "g\2\1\1\xff";

struct redis {
	struct words in;
	struct packed_list list;
};

static void add_block(struct redis *redis, unsigned word, uint32_t size)
{
	struct block block = { .address = at(word), .size = size };

	CU_ASSERT_PTR_NULL_FATAL(packed_add(&redis->list, &block));
}

/* Two sds strings, two blocks of so many bytes, and a listpack of four entries. */
static void redis_open(struct redis *redis, uint32_t size)
{
	words_open(&redis->in);
	redis->list = (struct packed_list)PACKED_INIT;
	memcpy(&redis->in.word[KEY], "\x0e\x0e\1a key of redis", 18);
	memcpy(&redis->in.word[SHORT_KEY], "\x40shortkey", 10);
	memcpy(&redis->in.word[LIST], pack, sizeof(pack));
	add_block(redis, KEY, 18);
	add_block(redis, SHORT_KEY, 10);
	add_block(redis, ONE, size);
	add_block(redis, NEXT, size);
	add_block(redis, LIST, 20);
	CU_ASSERT_PTR_NULL_FATAL(packed_sort(&redis->list, NULL));
}

static void redis_close(struct redis *redis)
{
	packed_free(&redis->list);
	free(redis->in.word);
}

static enum block_form form_read(struct redis *redis, const struct packed_block *block, size_t len)
{
	size_t word = (block->address - at(0)) / 8;

	return redis_form_of(&redis->in.memory, &redis->list, block,
			     (const uint8_t *)&redis->in.word[word], len);
}

static enum block_form form_at(struct redis *redis, size_t i)
{
	const struct packed_block *block = packed_at(&redis->list, i);

	return form_read(redis, block, block->size);
}

TEST("robj")
{
	CLEANUP(redis_close) struct redis redis;
	uint64_t *word;

	redis_open(&redis, 16);
	word = &redis.in.word[ONE];
	word[0] = 1ull << 32 | 0x12345600;
	word[1] = at(KEY) + 3;
	CU_ASSERT_EQUAL(form_at(&redis, 2), BLOCK_FORM_ROBJ);
	word[1] = at(SHORT_KEY) + 1;
	CU_ASSERT_EQUAL(form_at(&redis, 2), BLOCK_FORM_ROBJ);
	/* One byte and text of other bytes than letters are no proof. */
	((uint8_t *)&redis.in.word[SHORT_KEY])[3] = 0x55;
	((uint8_t *)&redis.in.word[SHORT_KEY])[4] = 1;
	CU_ASSERT_EQUAL(form_at(&redis, 2), BLOCK_FORM_NONE);
	word[1] = at(KEY);
	CU_ASSERT_EQUAL(form_at(&redis, 2), BLOCK_FORM_NONE);
	word[1] = at(KEY) + 3;
	word[0] = 0x12345600;		/* no reference */
	CU_ASSERT_EQUAL(form_at(&redis, 2), BLOCK_FORM_NONE);
	word[0] = 1ull << 32 | 0x123456b4;
	word[1] = at(LIST);
	CU_ASSERT_EQUAL(form_at(&redis, 2), BLOCK_FORM_ROBJ);
	CU_ASSERT_STRING_EQUAL(block_form_name(BLOCK_FORM_ROBJ), "robj");
}

TEST("robj with its own string")
{
	CLEANUP(redis_close) struct redis redis;
	uint64_t *word;

	redis_open(&redis, 26);
	word = &redis.in.word[ONE];
	word[0] = 1ull << 32 | 0x12345680;
	word[1] = at(ONE) + 19;
	memcpy(word + 2, "\6\6\1letter", 10);
	CU_ASSERT_EQUAL(form_at(&redis, 2), BLOCK_FORM_ROBJ);
	((uint8_t *)word)[25] = 'x';	/* no end */
	CU_ASSERT_EQUAL(form_at(&redis, 2), BLOCK_FORM_NONE);
}

TEST("dictEntry")
{
	CLEANUP(redis_close) struct redis redis;
	uint64_t *word;

	redis_open(&redis, 24);
	word = &redis.in.word[ONE];
	word[0] = at(KEY) + 3;
	word[1] = 77;
	CU_ASSERT_EQUAL(form_at(&redis, 2), BLOCK_FORM_DICT_ENTRY);
	word[2] = at(NEXT);		/* which is none, yet */
	CU_ASSERT_EQUAL(form_at(&redis, 2), BLOCK_FORM_NONE);
	redis.in.word[NEXT] = at(SHORT_KEY) + 1;
	CU_ASSERT_EQUAL(form_at(&redis, 2), BLOCK_FORM_DICT_ENTRY);
	word[0] = at(KEY) + 8;
	CU_ASSERT_EQUAL(form_at(&redis, 2), BLOCK_FORM_NONE);
}

TEST("nodes of skip lists")
{
	CLEANUP(redis_close) struct redis redis;
	uint64_t *word;

	redis_open(&redis, 40);
	word = &redis.in.word[ONE];
	word[0] = at(KEY) + 3;
	redis.in.word[NEXT] = at(SHORT_KEY) + 1;
	CU_ASSERT_EQUAL(form_at(&redis, 2), BLOCK_FORM_NONE);	/* no neighbour */
	word[3] = at(NEXT);
	word[4] = 1;
	CU_ASSERT_EQUAL(form_at(&redis, 2), BLOCK_FORM_SKIP_NODE);
	word[4] = 1ull << 32;
	CU_ASSERT_EQUAL(form_at(&redis, 2), BLOCK_FORM_NONE);
}

TEST("nodes of lists of listpacks")
{
	CLEANUP(redis_close) struct redis redis;
	uint64_t *word;

	redis_open(&redis, 32);
	word = &redis.in.word[ONE];
	word[1] = at(NEXT);
	word[2] = at(LIST);
	word[3] = 20;
	CU_ASSERT_EQUAL(form_at(&redis, 2), BLOCK_FORM_QUICK_NODE);
	word[3] = 21;
	CU_ASSERT_EQUAL(form_at(&redis, 2), BLOCK_FORM_NONE);
}

TEST("listpacks")
{
	CLEANUP(redis_close) struct redis redis;
	uint8_t *byte;

	redis_open(&redis, 24);
	byte = (uint8_t *)&redis.in.word[LIST];
	CU_ASSERT_EQUAL(form_at(&redis, 4), BLOCK_FORM_LISTPACK);
	/* It was asked for with less room than the allocator gave. */
	packed_at(&redis.list, 4)->size = 18;
	CU_ASSERT_EQUAL(form_at(&redis, 4), BLOCK_FORM_LISTPACK);
	packed_at(&redis.list, 4)->size = 20;
	for (unsigned i = 0; i < 20; i++) {
		/* Letters of the entries may be any; and one entry may be a number of as many bytes. */
		if (i == 7 || i == 8 || i == 11 || i == 12 || i == 14 || i == 15 || i == 17)
			continue;
		byte[i] ^= 0x40;
		CU_ASSERT_EQUAL(form_at(&redis, 4), BLOCK_FORM_NONE);
		byte[i] ^= 0x40;
	}
}

TEST("a listpack of which not all is read")
{
	CLEANUP(redis_close) struct redis redis;
	struct packed_block *block;
	uint8_t *bytes;

	redis_open(&redis, 24);
	bytes = (uint8_t *)&redis.in.word[LIST];
	block = packed_at(&redis.list, 4);
	block->size = 308;
	/* 100 entries of 3 bytes. */
	memcpy(bytes, "\x33\1\0\0\x64\0", 6);
	for (unsigned i = 6; i < 306; i += 3)
		memcpy(bytes + i, "\x81g\2", 3);
	bytes[306] = 0xff;
	CU_ASSERT_EQUAL(form_read(&redis, block, 307), BLOCK_FORM_LISTPACK);
	/* The read ends in an entry, behind one, and behind the last one. */
	for (size_t len = 295; len <= 306; len++)
		CU_ASSERT_EQUAL(form_read(&redis, block, len), BLOCK_FORM_LISTPACK);
	/* It has one more, or one less, than it says. */
	bytes[4] = 99;
	CU_ASSERT_EQUAL(form_read(&redis, block, 306), BLOCK_FORM_NONE);
	bytes[4] = 101;
	CU_ASSERT_EQUAL(form_read(&redis, block, 307), BLOCK_FORM_NONE);
}
