/* SPDX-License-Identifier: GPL-3.0-or-later */
/* VEC(): growth, order, overflow; what is sorted, and searched. */

#include "base/vec.h"

#include "base/word_list.h"
#include "unit.h"

TEST("push keeps order")
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

TEST("reserve leaves room")
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

TEST("remove keeps order")
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
TEST("overflow")
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

struct item {
	uint32_t key, seen;
};

COMPARE_BY(by_key, struct item, x, x->key)
COMPARE_BY(by_key_of, struct item *, x, (*x)->key)

TEST("sort")
{
	VEC(struct item) vec = VEC_INIT;
	VEC(struct item *) pointers = VEC_INIT;

	vec_sort(&vec, by_key);		/* of nothing */
	for (uint32_t i = 0; i < 1000; i++)
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&vec, ((struct item){ i * 611u % 1000, i })));
	for (size_t i = 0; i < vec.nr; i++)
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&pointers, &vec.at[i]));
	vec_sort(&pointers, by_key_of);
	for (uint32_t i = 0; i < 1000; i++)
		CU_ASSERT_EQUAL(pointers.at[i]->key, i);
	vec_sort(&vec, by_key);
	for (uint32_t i = 0; i < 1000; i++)
		CU_ASSERT_EQUAL(vec.at[i].key, i);
	vec_free(&pointers);
	vec_free(&vec);
}

/* Every length up to 20, for every key in and between those that there are, from every place on. */
TEST("lower bound")
{
	static const uint64_t at[] = { 2, 2, 4, 6, 6, 6, 8, 10, 12, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 30 };

	for (size_t nr = 0; nr <= ARRAY_SIZE(at); nr++)
		for (uint64_t key = 0; key < 33; key++)
			for (size_t low = 0; low <= nr; low++) {
				size_t want = low;

				while (want < nr && at[want] < key)
					want++;
				CU_ASSERT_EQUAL(LOWER_BOUND(i, low, nr, at[i] < key), want);
			}
}

TEST("word list")
{
	struct word_list list = { VEC_INIT };

	CU_ASSERT_FALSE(word_list_has(&list, 0, 0));
	for (uint64_t i = 0; i < 100; i++)
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&list.vec, i * 37 % 100 * 2));
	word_list_sort(&list);
	for (uint64_t i = 0; i < 202; i++) {
		CU_ASSERT_EQUAL(word_list_has(&list, 100, i), i < 200 && !(i % 2));
		CU_ASSERT_EQUAL(word_list_has(&list, 50, i), i < 100 && !(i % 2));
	}
	vec_free(&list.vec);
}
