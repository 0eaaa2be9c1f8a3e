/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Differences: of moments by stack, of other lists by key; their order, and their sums. */

#include "answer/difference.h"

#include "heap/fixture.h"
#include "heap/moment.h"

#define MOMENT(...) \
	{ .time_ns = EPOCH, \
	  .vec = { (struct moment_sum[]){ __VA_ARGS__ }, \
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

	CU_ASSERT_PTR_NULL_FATAL(difference_of_moments(&log_, from, to, &difference));
	return difference;
}

/* Came, went, grew, shrank, changed in blocks alone, and stayed. */
TEST("changes")
{
	static const struct change want[] = {
		{ 5, 5, DIFFERENCE_ONLY, -900, -1, 900 }, { 2, 2, DIFFERENCE_ONLY, 500, 5, 0 },
		{ 9, 9, DIFFERENCE_EXACT, -500, -1, 1000 }, { 1, 1, DIFFERENCE_EXACT, 10, 0, 100 },
		{ 4, 4, DIFFERENCE_EXACT, 0, -2, 60 },
	};
	const struct moment from = MOMENT({ 1, 100, 2 }, { 3, 7, 1 }, { 4, 60, 3 }, { 5, 900, 1 },
					  { 9, 1000, 2 });
	const struct moment to = MOMENT({ 1, 110, 2 }, { 2, 500, 5 }, { 3, 7, 1 }, { 4, 60, 1 },
					{ 9, 500, 1 });
	struct difference difference = between(&from, &to), back = between(&to, &from);

	CU_ASSERT_EQUAL_FATAL(difference.vec.nr, ARRAY_SIZE(want));
	CU_ASSERT_EQUAL_FATAL(back.vec.nr, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct change *change = &difference.vec.at[i], *other = &back.vec.at[i];

		CU_ASSERT(change->from == want[i].from && change->to == want[i].to);
		CU_ASSERT(change->by == want[i].by && change->bytes == want[i].bytes);
		CU_ASSERT_EQUAL(change->count, want[i].count);
		CU_ASSERT_EQUAL(change->from_bytes, want[i].from_bytes);
		CU_ASSERT(other->to == want[i].to && other->bytes == -want[i].bytes);
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
	const struct moment none = { .time_ns = EPOCH }, some = MOMENT({ 1, 100, 2 });
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

/* What was freed of older blocks is no growth, in whichever direction one looks. */
TEST("older")
{
	struct moment from = MOMENT({ 1, 100, 2 }), to = MOMENT({ 1, 1100, 3 });
	struct difference difference = between(&from, &to);

	CU_ASSERT(!difference.older.known && difference_net(&difference) == 1000);
	difference_free(&difference);
	from.older = (struct log_older){ true, 50, 1, 7 };
	to.older = (struct log_older){ true, 950, 11, 9 };
	difference = between(&from, &to);
	CU_ASSERT(difference.older.known && difference.older.bytes == 900);
	CU_ASSERT(difference.older.frees == 10 && difference.older.unsized == 2);
	CU_ASSERT_EQUAL(difference_net(&difference), 100);
	difference_free(&difference);
	difference = between(&to, &from);
	CU_ASSERT_EQUAL(difference_net(&difference), -100);
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

/* Changes alike in size are in order of stack, whichever moment has them. */
TEST("ties")
{
	const struct moment from = MOMENT({ 1, 8, 1 }, { 3, 8, 1 }), to = MOMENT({ 2, 8, 1 });
	struct difference difference = between(&from, &to);

	CU_ASSERT_EQUAL_FATAL(difference.vec.nr, 3);
	for (uint32_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(difference.vec.at[i].to, i + 1);
	difference_free(&difference);
}

/* Sites of a list that have the same key count as one, which the largest stands for. */
TEST("equal keys")
{
	struct difference_site sites[] = {
		{ 7, 0, false, true, 10, 1 }, { 7, 1, false, true, 30, 1 },
		{ 7, 0, true, true, 50, 4 }, { 7, 1, true, true, 5, 1 },
		{ 8, 2, true, false, 9, 1 }, { 6, 2, false, false, 9, 1 },
		{ 5, 3, false, false, 4, 2 }, { 5, 3, true, false, 4, 2 },
	};
	static const struct change want[] = {
		{ 1, 0, DIFFERENCE_NAMES, 15, 3, 40 }, { DIFFERENCE_NONE, 2, DIFFERENCE_ONLY, 9, 1, 0 },
		{ 2, DIFFERENCE_NONE, DIFFERENCE_ONLY, -9, -1, 9 },
	};
	struct difference_sites all = { { sites, ARRAY_SIZE(sites), 0 } };
	struct difference difference = DIFFERENCE_INIT;

	CU_ASSERT_PTR_NULL_FATAL(difference_build(&all, &difference));
	CU_ASSERT_EQUAL_FATAL(difference.vec.nr, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct change *change = &difference.vec.at[i];

		CU_ASSERT_EQUAL(change->from_bytes, want[i].from_bytes);
		CU_ASSERT(change->from == want[i].from && change->to == want[i].to);
		CU_ASSERT(change->by == want[i].by && change->bytes == want[i].bytes);
	}
	CU_ASSERT(difference.sites[DIFFERENCE_EXACT] == 1 &&
		  difference.sites[DIFFERENCE_NAMES] == 1 &&
		  difference.sites[DIFFERENCE_ONLY] == 2);
	CU_ASSERT(difference.grown == 24 && difference.shrunk == 9);
	CU_ASSERT(difference.from.bytes == 53 && difference.to.blocks == 8);
	difference_free(&difference);
}
