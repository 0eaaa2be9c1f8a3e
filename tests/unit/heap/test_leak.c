/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loss records: what is added up, what is listed. */

#include "fixture.h"
#include "heap/leak.h"

void suite_leak(void);

#define NR	7

/* Stack, size, kind, leader. */
static const struct {
	uint32_t stack;
	uint64_t size;
	uint8_t kind;
	uint32_t leader;
	bool preattach;
} made[NR] = {
	{ 3, 10, LEAK_DEFINITE, MARK_NO_LEADER, false },
	{ 3, 20, LEAK_DEFINITE, MARK_NO_LEADER, false },
	{ 4, 40, LEAK_INDIRECT, 1, false },
	{ 4, 80, LEAK_REACHABLE, MARK_NO_LEADER, false },
	{ 5, 160, LEAK_INDIRECT, 6, false },
	{ 0, 320, LEAK_DEFINITE, MARK_NO_LEADER, true },
	{ 0, 7, LEAK_DEFINITE, MARK_NO_LEADER, false },
};

static void build(const struct leak_spec *spec, struct leaks *ret)
{
	struct block block[NR];
	uint8_t kind[NR];
	uint32_t leader[NR];
	const struct mark_result mark = { .kind = kind, .leader = leader };

	for (size_t i = 0; i < NR; i++) {
		block[i] = (struct block){ .address = 0x1000 * (i + 1), .size = made[i].size,
					   .stack = made[i].stack, .time = i + 1,
					   .preattach = made[i].preattach };
		kind[i] = made[i].kind;
		leader[i] = made[i].leader;
	}
	CU_ASSERT_PTR_NULL_FATAL(leaks_build(block, NR, &mark, spec, ret));
	CU_ASSERT_EQUAL(ret->sum[LEAK_DEFINITE].bytes, 357);
	CU_ASSERT_EQUAL(ret->sum[LEAK_DEFINITE].blocks, 4);
	CU_ASSERT_EQUAL(ret->sum[LEAK_INDIRECT].bytes, 200);
	CU_ASSERT_EQUAL(ret->sum[LEAK_POSSIBLE].blocks, 0);
	CU_ASSERT_EQUAL(ret->sum[LEAK_REACHABLE].bytes, 80);
}

static void check(const struct leaks *leaks, size_t i, struct leak want)
{
	const struct leak *got = &leaks->vec.at[i];

	CU_ASSERT_EQUAL(got->kind, want.kind);
	CU_ASSERT_EQUAL(got->stack, want.stack);
	CU_ASSERT_EQUAL(got->preattach, want.preattach);
	CU_ASSERT_EQUAL(got->blocks, want.blocks);
	CU_ASSERT_EQUAL(got->bytes, want.bytes);
	CU_ASSERT_EQUAL(got->indirect_blocks, want.indirect_blocks);
	CU_ASSERT_EQUAL(got->indirect_bytes, want.indirect_bytes);
}

static void test_records(void)
{
	const struct leak_spec spec = { .kinds = (1u << LEAK_KINDS) - 1 };
	struct leaks leaks;

	build(&spec, &leaks);
	CU_ASSERT_EQUAL_FATAL(leaks.vec.nr, 6);
	check(&leaks, 0, (struct leak){ .kind = LEAK_DEFINITE, .stack = 0, .preattach = true, .blocks = 1,
					  .bytes = 320, .indirect_blocks = 0,
					  .indirect_bytes = 0 });
	check(&leaks, 1, (struct leak){ .kind = LEAK_DEFINITE, .stack = 0, .preattach = false, .blocks = 1,
					  .bytes = 7, .indirect_blocks = 1,
					  .indirect_bytes = 160 });
	check(&leaks, 2, (struct leak){ .kind = LEAK_DEFINITE, .stack = 3, .preattach = false, .blocks = 2,
					  .bytes = 30, .indirect_blocks = 1,
					  .indirect_bytes = 40 });
	check(&leaks, 3, (struct leak){ .kind = LEAK_INDIRECT, .stack = 5, .preattach = false, .blocks = 1,
					  .bytes = 160, .indirect_blocks = 0,
					  .indirect_bytes = 0 });
	check(&leaks, 4, (struct leak){ .kind = LEAK_INDIRECT, .stack = 4, .preattach = false, .blocks = 1,
					  .bytes = 40, .indirect_blocks = 0,
					  .indirect_bytes = 0 });
	check(&leaks, 5, (struct leak){ .kind = LEAK_REACHABLE, .stack = 4, .preattach = false, .blocks = 1,
					  .bytes = 80, .indirect_blocks = 0,
					  .indirect_bytes = 0 });
	CU_ASSERT_EQUAL(leaks.listed.blocks, NR);
	leaks_free(&leaks);
}

static bool is_small(void *ctx, const struct block *block)
{
	return block->size < *(const uint64_t *)ctx;
}

static void test_some(void)
{
	uint64_t limit = 20;
	const struct leak_spec spec = { .kinds = 1u << LEAK_DEFINITE, .keep = is_small,
					.ctx = &limit };
	struct leaks leaks;

	build(&spec, &leaks);
	CU_ASSERT_EQUAL_FATAL(leaks.vec.nr, 2);
	check(&leaks, 0, (struct leak){ .kind = LEAK_DEFINITE, .stack = 0, .preattach = false, .blocks = 1,
					  .bytes = 7, .indirect_blocks = 1,
					  .indirect_bytes = 160 });
	/* What hangs on the block that is not listed is not counted. */
	check(&leaks, 1, (struct leak){ .kind = LEAK_DEFINITE, .stack = 3, .preattach = false, .blocks = 1,
					  .bytes = 10, .indirect_blocks = 0,
					  .indirect_bytes = 0 });
	CU_ASSERT_EQUAL(leaks.listed.bytes, 17);
	leaks_free(&leaks);
}

void suite_leak(void)
{
	CU_pSuite suite = CU_add_suite("leak", NULL, NULL);

	CU_add_test(suite, "records", test_records);
	CU_add_test(suite, "some of them", test_some);
}
