/* SPDX-License-Identifier: GPL-3.0-or-later */
/* struct map against an array that knows the truth. */

#include "base/map.h"

#include "unit.h"

TEST("put, get, remove")
{
	struct map map = MAP_INIT;
	int a, b;

	CU_ASSERT_PTR_NULL(map_get(&map, 1));
	CU_ASSERT_PTR_NULL(map_remove(&map, 1));
	CU_ASSERT_EQUAL(map_count(&map), 0);
	CU_ASSERT_PTR_NULL(map_put(&map, 0, &a));
	CU_ASSERT_PTR_NULL(map_put(&map, UINT64_MAX, &b));
	CU_ASSERT_PTR_EQUAL(map_get(&map, 0), &a);
	CU_ASSERT_PTR_EQUAL(map_get(&map, UINT64_MAX), &b);
	CU_ASSERT_PTR_NULL(map_put(&map, 0, &b));
	CU_ASSERT_EQUAL(map_count(&map), 2);
	CU_ASSERT_PTR_EQUAL(map_remove(&map, 0), &b);
	CU_ASSERT_PTR_NULL(map_get(&map, 0));
	CU_ASSERT_EQUAL(map_count(&map), 1);
	map_free(&map, NULL);
	CU_ASSERT_EQUAL(map_count(&map), 0);
}

/* Keys as addresses come: aligned, in runs; put, replaced and removed in a random but fixed order. */
TEST("against an array")
{
	enum { KEYS = 4096 };
	static char values[KEYS];
	static char *truth[KEYS];
	struct map map = MAP_INIT;
	size_t count = 0;
	uint32_t random = 1, i;

	for (i = 0; i < 20 * KEYS; i++) {
		uint32_t slot;
		uint64_t key;

		random = random * 1664525 + 1013904223;
		slot = (random >> 12) % KEYS;
		key = 0x7f0000000000 + 16ull * slot;
		if (random >> 31) {
			char *value = &values[(random >> 8) % KEYS];

			count += !truth[slot];
			truth[slot] = value;
			CU_ASSERT_PTR_NULL_FATAL(map_put(&map, key, value));
		} else {
			count -= !!truth[slot];
			CU_ASSERT_PTR_EQUAL_FATAL(map_remove(&map, key), truth[slot]);
			truth[slot] = NULL;
		}
	}
	CU_ASSERT_EQUAL(map_count(&map), count);
	for (i = 0; i < KEYS; i++)
		if (map_get(&map, 0x7f0000000000 + 16ull * i) != truth[i])
			break;
	CU_ASSERT_EQUAL(i, KEYS);
	map_free(&map, NULL);
}

TEST("each may remove")
{
	static uint64_t values[1001];
	struct map map = MAP_INIT;
	uint64_t key, keys = 0;
	size_t nr = 0;
	void *value;

	for (key = 1; key <= 1000; key++) {
		values[key] = key;
		CU_ASSERT_PTR_NULL_FATAL(map_put(&map, key, &values[key]));
	}
	for (struct map_at at = map_begin(&map); (value = map_next(&at)); nr++) {
		CU_ASSERT_EQUAL(*(uint64_t *)value, at.key);
		keys += at.key;
		if (at.key & 1)
			CU_ASSERT_PTR_EQUAL(map_remove(&map, at.key), value);
	}
	CU_ASSERT_EQUAL(nr, 1000);
	CU_ASSERT_EQUAL(keys, 1000 * 1001 / 2);
	CU_ASSERT_EQUAL(map_count(&map), 500);
	CU_ASSERT_PTR_NULL(map_get(&map, 501));
	CU_ASSERT_PTR_EQUAL(map_get(&map, 502), &values[502]);
	map_free(&map, NULL);
}

static size_t freed;

static void count_free(void *value)
{
	freed++;
	free(value);
}

TEST("free frees values")
{
	struct map map = MAP_INIT;
	uint64_t key;

	for (key = 0; key < 100; key++) {
		void *value = malloc(1);

		CU_ASSERT_PTR_NOT_NULL_FATAL(value);
		CU_ASSERT_PTR_NULL_FATAL(map_put(&map, key, value));
	}
	freed = 0;
	map_free(&map, count_free);
	CU_ASSERT_EQUAL(freed, 100);
	CU_ASSERT_EQUAL(map_count(&map), 0);
}
