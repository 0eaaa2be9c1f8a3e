/* SPDX-License-Identifier: GPL-3.0-or-later */
/* VEC(): growth, order, overflow. */

#include "base/vec.h"

#include <stdint.h>
#include <string.h>

#include "unit.h"

void suite_vec(void);

static void test_push_keeps_order(void)
{
	VEC(uint64_t) vec = VEC_INIT;
	struct err *err;
	uint64_t i;

	for (i = 0; i < 10000; i++) {
		err = vec_push(&vec, i * 3);
		CU_ASSERT_PTR_NULL_FATAL(err);
	}
	CU_ASSERT_EQUAL(vec.nr, 10000);
	for (i = 0; i < 10000; i++)
		if (vec.at[i] != i * 3)
			break;
	CU_ASSERT_EQUAL(i, 10000);
	vec_free(&vec);
	CU_ASSERT_PTR_NULL(vec.at);
	CU_ASSERT_EQUAL(vec.nr, 0);
	CU_ASSERT_EQUAL(vec.room, 0);
}

static void test_reserve_leaves_room(void)
{
	VEC(int) vec = VEC_INIT;
	struct err *err = vec_reserve(&vec, 100);
	int *before;
	int i;

	CU_ASSERT_PTR_NULL_FATAL(err);
	CU_ASSERT(vec.room >= 100);
	before = vec.at;
	for (i = 0; i < 100; i++)
		vec.at[vec.nr++] = i;
	err = vec_reserve(&vec, 0);
	CU_ASSERT_PTR_NULL(err);
	CU_ASSERT_PTR_EQUAL(vec.at, before);
	vec_clear(&vec);
	CU_ASSERT_EQUAL(vec.nr, 0);
	CU_ASSERT_PTR_EQUAL(vec.at, before);
	vec_free(&vec);
}

static void test_remove_keeps_order(void)
{
	VEC(char) vec = VEC_INIT;
	struct err *err;
	const char *c;

	for (c = "abcde"; *c; c++) {
		err = vec_push(&vec, *c);
		CU_ASSERT_PTR_NULL_FATAL(err);
	}
	vec_remove(&vec, 2);
	vec_remove(&vec, 0);
	vec_remove(&vec, vec.nr - 1);
	CU_ASSERT_EQUAL(vec.nr, 2);
	CU_ASSERT_EQUAL(memcmp(vec.at, "bd", 2), 0);
	vec_free(&vec);
}

/* A size that overflows is out of memory, and the vector stays as it was. */
static void test_overflow(void)
{
	VEC(uint64_t) vec = VEC_INIT;
	struct err *err = vec_push(&vec, 42);
	uint64_t *before;

	CU_ASSERT_PTR_NULL_FATAL(err);
	before = vec.at;
	err = vec_reserve(&vec, SIZE_MAX / 8);
	CU_ASSERT_PTR_EQUAL(err, err_nomem);
	CU_ASSERT_PTR_EQUAL(vec.at, before);
	CU_ASSERT_EQUAL(vec.nr, 1);
	CU_ASSERT_EQUAL(vec.at[0], 42);
	vec_free(&vec);
}

void suite_vec(void)
{
	CU_pSuite suite = CU_add_suite("vec", NULL, NULL);

	CU_add_test(suite, "push keeps order", test_push_keeps_order);
	CU_add_test(suite, "reserve leaves room", test_reserve_leaves_room);
	CU_add_test(suite, "remove keeps order", test_remove_keeps_order);
	CU_add_test(suite, "overflow", test_overflow);
}
