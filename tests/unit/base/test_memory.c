/* SPDX-License-Identifier: GPL-3.0-or-later */
/* struct memory over an array: bounds, short reads, words and strings. */

#include "base/memory.h"

#include "base/page.h"
#include "memory_array.h"
#include "unit.h"

#define START	0x7f1234560000ull

static const uint8_t bytes[] = {
	0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 'h', 'e', 'l', 'l', 'o', 0, 'e', 'n', 'd',
};

static struct memory_array array;

static int prepare(void)
{
	memory_array_init(&array, bytes, START, sizeof(bytes));
	return 0;
}

FIXTURE(prepare, NULL);

TEST("read")
{
	uint8_t buf[sizeof(bytes)];
	struct err *err;

	CU_ASSERT_PTR_NULL(memory_read(&array.memory, START, buf, sizeof(buf)));
	CU_ASSERT_EQUAL(memcmp(buf, bytes, sizeof(buf)), 0);
	CU_ASSERT_PTR_NULL(memory_read(&array.memory, START + 8, buf, 5));
	CU_ASSERT_EQUAL(memcmp(buf, "hello", 5), 0);
	err = memory_read(&array.memory, START + 1, buf, sizeof(buf));
	CU_ASSERT_FATAL(err && err->code == ERR_MEMORY);
	/* The address is the first one that is not there, not the one that was asked for. */
	CU_ASSERT_STRING_EQUAL(err->msg, "cannot read memory at 0x7f1234560011");
}

TEST("outside")
{
	static const uint64_t outside[] = { 0, START - 1, START + sizeof(bytes), UINT64_MAX };
	uint8_t byte;
	size_t got = 99, i;
	struct err *err;

	for (i = 0; i < ARRAY_SIZE(outside); i++) {
		err = memory_read_some(&array.memory, outside[i], &byte, 1, &got);
		CU_ASSERT_FATAL(err && err->code == ERR_MEMORY);
		CU_ASSERT_EQUAL(got, 99);
	}
}

TEST("short read")
{
	uint8_t buf[100];
	size_t got;

	CU_ASSERT_PTR_NULL(memory_read_some(&array.memory, START + 14, buf, sizeof(buf), &got));
	CU_ASSERT_EQUAL(got, 3);
	CU_ASSERT_EQUAL(memcmp(buf, "end", 3), 0);
	CU_ASSERT_PTR_NULL(memory_read_some(&array.memory, START, buf, SIZE_MAX, &got));
	CU_ASSERT_EQUAL(got, sizeof(bytes));
}

TEST("u64")
{
	uint64_t word = 7;
	struct err *err;

	CU_ASSERT_PTR_NULL(memory_read_u64(&array.memory, START, &word));
	CU_ASSERT_EQUAL(word, 0x1122334455667788);
	err = memory_read_u64(&array.memory, START + sizeof(bytes) - 7, &word);
	CU_ASSERT_FATAL(err && err->code == ERR_MEMORY);
	CU_ASSERT_EQUAL(word, 0x1122334455667788);
}

TEST("string")
{
	char buf[16];
	struct err *err;

	CU_ASSERT_PTR_NULL(memory_read_string(&array.memory, START + 8, buf, sizeof(buf)));
	CU_ASSERT_STRING_EQUAL(buf, "hello");
	/* Just enough room, and one byte less. */
	CU_ASSERT_PTR_NULL(memory_read_string(&array.memory, START + 8, buf, 6));
	err = memory_read_string(&array.memory, START + 8, buf, 5);
	CU_ASSERT_FATAL(err && err->code == ERR_FORMAT);
	/* Memory ends before the string does. */
	err = memory_read_string(&array.memory, START + 14, buf, sizeof(buf));
	CU_ASSERT_FATAL(err && err->code == ERR_FORMAT);
	err = memory_read_string(&array.memory, START - 1, buf, sizeof(buf));
	CU_ASSERT_FATAL(err && err->code == ERR_MEMORY);
}

/* Pages 1 and 4 of six are there, and with `next` it is known where to look. */
static struct err *read_pages(struct memory *memory UNUSED, uint64_t addr, void *buf, size_t len,
			      size_t *len_ret)
{
	uint64_t page = (addr - START) / PAGE;

	if (page != 1 && page != 4)
		return err_create(ERR_MEMORY, "a hole");
	*len_ret = MIN(len, (size_t)(START + (page + 1) * PAGE - addr));
	memset(buf, (int)page, *len_ret);
	return NULL;
}

static bool next_page(struct memory *memory UNUSED, uint64_t start, uint64_t end,
		      uint64_t *start_ret, uint64_t *end_ret)
{
	for (uint64_t page = 1; page <= 4; page += 3)
		if (start < START + (page + 1) * PAGE && end > START + page * PAGE) {
			*start_ret = MAX(start, START + page * PAGE);
			*end_ret = MIN(end, START + (page + 1) * PAGE);
			return true;
		}
	return false;
}

static void look_through_holes(struct memory *memory)
{
	static uint8_t buf[6 * PAGE];
	uint64_t at = START + 8, end = START + sizeof(buf);
	size_t got;

	CU_ASSERT_TRUE(memory_read_ahead(memory, &at, end, buf, sizeof(buf), &got));
	CU_ASSERT_TRUE(at == START + PAGE && got == PAGE && buf[0] == 1);
	at += got;
	CU_ASSERT_TRUE(memory_read_ahead(memory, &at, end, buf, 100, &got));
	CU_ASSERT_TRUE(at == START + 4 * PAGE && got == 100 && buf[0] == 4);
	at += PAGE;
	CU_ASSERT_FALSE(memory_read_ahead(memory, &at, end, buf, 100, &got));
	at = START;
	CU_ASSERT_FALSE(memory_read_ahead(memory, &at, START + PAGE, buf, 100, &got));
	memset(buf, 7, sizeof(buf));
	CU_ASSERT_TRUE(memory_read_holes(memory, START + 8, buf, sizeof(buf) - 8));
	CU_ASSERT_TRUE(!buf[0] && !buf[PAGE - 9] && buf[PAGE - 8] == 1 && !buf[2 * PAGE - 8]);
	CU_ASSERT_TRUE(!buf[4 * PAGE - 9] && buf[4 * PAGE] == 4 && !buf[5 * PAGE] && buf[6 * PAGE - 1] == 7);
	CU_ASSERT_FALSE(memory_read_holes(memory, START + 2 * PAGE, buf, PAGE));
}

TEST("holes")
{
	look_through_holes(&(struct memory){ .read = read_pages });
	look_through_holes(&(struct memory){ .read = read_pages, .next = next_page });
}
