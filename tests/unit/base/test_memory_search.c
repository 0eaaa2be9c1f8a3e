/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes in a memory: places that overlap, holes, ends of what is read at once, ranges side by side. */

#include "base/memory_search.h"

#include <stdlib.h>

#include "base/cancel.h"
#include "base/page.h"
#include "memory_array.h"
#include "unit.h"

#define START	0x7f1234560000ull
#define LEN	(600u << 10)

/* An array of which some pages cannot be read. */
static struct holed {
	struct memory_array array;
	uint64_t hole, hole_end;
} holed;

static struct err *read_holed(struct memory *memory, uint64_t addr, void *buf, size_t len, size_t *len_ret)
{
	struct holed *of = (struct holed *)memory;

	if (addr >= of->hole && addr < of->hole_end)
		return err_create(ERR_MEMORY, "a hole");
	if (addr < of->hole && len > of->hole - addr)
		len = of->hole - addr;
	return memory_array_read(memory, addr, buf, len, len_ret);
}

static uint8_t *bytes;

static int prepare(void)
{
	bytes = calloc(1, LEN);
	memory_array_init(&holed.array, bytes, START, LEN);
	holed.array.memory.read = read_holed;
	return !bytes;
}

static int end(void)
{
	free(bytes);
	return 0;
}

FIXTURE(prepare, end);

static struct memory_search look_for(const char *text, uint64_t limit, uint64_t start, uint64_t stop)
{
	struct memory_search search = { .bytes = (const uint8_t *)text, .len = strlen(text), .limit = limit };

	CU_ASSERT_PTR_NULL(memory_search_range(&search, &holed.array.memory, start, stop));
	return search;
}

TEST("anywhere")
{
	/* One at each end, two that overlap, and one across each of the first 300 KB. */
	static const uint32_t at[] = { 0, 1001, 1003, 256 * 1024 - 2, 300 * 1024, LEN - 5 };
	struct memory_search search;

	holed.hole = holed.hole_end = 0;
	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		memcpy(bytes + at[i], "ababa", 5);
	search = look_for("ababa", UINT64_MAX, START, START + LEN);
	CU_ASSERT_EQUAL_FATAL(search.places.nr, ARRAY_SIZE(at));
	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		CU_ASSERT_EQUAL(search.places.at[i], START + at[i]);
	CU_ASSERT_EQUAL(search.nr, ARRAY_SIZE(at));
	CU_ASSERT_EQUAL(search.searched, LEN);
	vec_free(&search.places);
}

TEST("whole places, and a limit")
{
	struct memory_search search = look_for("ababa", 1, START + 1, START + LEN - 1);

	CU_ASSERT_EQUAL(search.nr, 4);
	CU_ASSERT_EQUAL(search.places.nr, 1);
	vec_free(&search.places);
	search = look_for("ababa", 10, START + 1001, START + 1006);
	CU_ASSERT_EQUAL(search.nr, 1);
	/* The next range does not go on where the last one ended. */
	CU_ASSERT_PTR_NULL(memory_search_range(&search, &holed.array.memory, START + 1006, START + 1008));
	CU_ASSERT_EQUAL(search.nr, 1);
	vec_free(&search.places);
}

TEST("holes")
{
	struct memory_search search;

	holed.hole = START + 256 * 1024;
	holed.hole_end = holed.hole + 2 * PAGE;
	search = look_for("ababa", 10, START, START + LEN);
	/* The one across the begin of the hole is not whole. */
	CU_ASSERT_EQUAL(search.nr, 5);
	CU_ASSERT_EQUAL(search.searched, LEN - 2 * PAGE);
	vec_free(&search.places);
}

TEST("cancelled")
{
	struct memory_search search = { .bytes = (const uint8_t *)"ab", .len = 2, .limit = 1 };
	struct err *err;

	cancel_request();
	err = memory_search_range(&search, &holed.array.memory, START, START + LEN);
	cancel_clear();
	CU_ASSERT(err && err->code == ERR_CANCELLED);
	vec_free(&search.places);
}
