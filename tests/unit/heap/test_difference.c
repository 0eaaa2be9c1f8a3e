/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The difference of two moments: by stack, in order, and its sums. */

#include "fixture.h"
#include "heap/difference.h"

#define MOMENT(...) \
	{ EPOCH, { (struct moment_sum[]){ __VA_ARGS__ }, \
		   sizeof((struct moment_sum[]){ __VA_ARGS__ }) / sizeof(struct moment_sum), 0 } }

static struct log log_;

static int setup(void)
{
	fixture_open(&log_);
	return 0;
}

static int teardown(void)
{
	fixture_close(&log_);
	return 0;
}

FIXTURE(setup, teardown);

static struct difference between(const struct moment *from, const struct moment *to)
{
	struct difference difference = DIFFERENCE_INIT;

	CU_ASSERT_PTR_NULL_FATAL(difference_build(&log_, from, to, &difference));
	return difference;
}

/* Came, went, grew, shrank, changed in blocks alone, and stayed. */
TEST("changes")
{
	static const struct change want[] = { { 5, -900, -1 }, { 2, 500, 5 }, { 9, -500, -1 },
					      { 1, 10, 0 }, { 4, 0, -2 } };
	const struct moment from = MOMENT({ 1, 100, 2 }, { 3, 7, 1 }, { 4, 60, 3 }, { 5, 900, 1 },
					  { 9, 1000, 2 });
	const struct moment to = MOMENT({ 1, 110, 2 }, { 2, 500, 5 }, { 3, 7, 1 }, { 4, 60, 1 },
					{ 9, 500, 1 });
	struct difference difference = between(&from, &to), back = between(&to, &from);

	CU_ASSERT_EQUAL_FATAL(difference.vec.nr, ARRAY_SIZE(want));
	CU_ASSERT_EQUAL_FATAL(back.vec.nr, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct change *change = &difference.vec.at[i], *other = &back.vec.at[i];

		CU_ASSERT_EQUAL(change->stack, want[i].stack);
		CU_ASSERT(change->bytes == want[i].bytes && change->count == want[i].count);
		CU_ASSERT(other->stack == want[i].stack && other->bytes == -want[i].bytes);
	}
	CU_ASSERT(difference.grown == 510 && difference.shrunk == 1400);
	CU_ASSERT(back.grown == 1400 && back.shrunk == 510);
	CU_ASSERT(difference.from.bytes == 2067 && difference.to.bytes == 1177);
	CU_ASSERT_EQUAL(difference.to.bytes - difference.from.bytes,
			difference.grown - difference.shrunk);
	difference_free(&difference);
	difference_free(&back);
}

TEST("nothing")
{
	const struct moment none = { EPOCH, VEC_INIT }, some = MOMENT({ 1, 100, 2 });
	struct difference difference = between(&some, &some);

	CU_ASSERT(!difference.vec.nr && !difference.grown && !difference.shrunk);
	difference_free(&difference);
	difference = between(&none, &none);
	CU_ASSERT_EQUAL(difference.vec.nr, 0);
	difference_free(&difference);
	difference = between(&none, &some);
	CU_ASSERT(difference.vec.nr == 1 && difference.grown == 100);
	difference_free(&difference);
}

/* What a target has written into its log does not add up to anything sensible, and nothing overflows. */
TEST("absurd")
{
	const struct moment from = MOMENT({ 1, UINT64_MAX, 1 }, { 2, 1ull << 63, UINT64_MAX });
	const struct moment to = MOMENT({ 1, 1ull << 63, 1 }, { 3, UINT64_MAX, 1ull << 63 });
	struct difference difference = between(&from, &to);

	CU_ASSERT_EQUAL(difference.vec.nr, 3);
	difference_free(&difference);
}
