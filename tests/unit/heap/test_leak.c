/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loss records: what is added up, what is listed. */

#include "fixture.h"
#include "heap/leak.h"

#define NR	7

/* Stack, size, kind, leader. */
static const struct {
	uint32_t stack;
	uint64_t size;
	uint8_t kind;
	uint32_t leader;
	bool preattach;
} made[NR] = {
	{ 3, 10, LEAK_DEFINITE, REACH_NO_LEADER, false },
	{ 3, 20, LEAK_DEFINITE, REACH_NO_LEADER, false },
	{ 4, 40, LEAK_INDIRECT, 1, false },
	{ 4, 80, LEAK_REACHABLE, REACH_NO_LEADER, false },
	{ 5, 160, LEAK_INDIRECT, 6, false },
	{ 0, 320, LEAK_DEFINITE, REACH_NO_LEADER, true },
	{ 0, 7, LEAK_DEFINITE, REACH_NO_LEADER, false },
};

static void build_sums(const struct leak_spec *spec, struct leaks *ret)
{
	CLEANUP(packed_free) struct packed_list list = { .timed = true };
	uint32_t leader[NR], none[NR] = { 0 };
	const struct reach_result mark = { .leader = leader, .holder = none, .offset = none };

	for (size_t i = 0; i < NR; i++) {
		CU_ASSERT_PTR_NULL_FATAL(packed_add(&list, &(struct block){
			.address = 0x1000 * (i + 1), .size = made[i].size,
			.stack = made[i].stack, .time = i + 1,
			.preattach = made[i].preattach }));
		packed_at(&list, i)->state = made[i].kind & 7;
		leader[i] = made[i].leader == REACH_NO_LEADER ? 0 : made[i].leader + 1;
	}
	CU_ASSERT_PTR_NULL_FATAL(leaks_build(&list, &mark, spec, ret));
}

static void build(const struct leak_spec *spec, struct leaks *ret)
{
	build_sums(spec, ret);
	CU_ASSERT_EQUAL(ret->suppressed.blocks, 0);
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

TEST("records")
{
	const struct leak_spec spec = { .kinds = (1u << LEAK_KINDS) - 1 };
	CLEANUP(leaks_free) struct leaks leaks;

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
}

static bool is_small(void *ctx, const struct block *block)
{
	return block->size < *(const uint64_t *)ctx;
}

TEST("some of them")
{
	uint64_t limit = 20;
	const struct leak_spec spec = { .kinds = 1u << LEAK_DEFINITE, .keep = is_small,
					.ctx = &limit };
	CLEANUP(leaks_free) struct leaks leaks;

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
}

/* Stacks 3 and 4 by the first, 7 bytes by the second. */
static uint32_t suppression_of(void *ctx, const struct block *block)
{
	(*(unsigned *)ctx)++;
	return block->stack == 3 || block->stack == 4 ? 0 : block->size == 7 ? 1 : SUPPRESS_NONE;
}

TEST("suppressed")
{
	unsigned asked = 0;
	struct leak_spec spec = { .kinds = (1u << LEAK_KINDS) - 1, .suppression_of = suppression_of,
				  .suppress_ctx = &asked, .nr_suppressions = 3 };
	struct leaks leaks;

	/* What is reachable is no leak; what is lost with a suppressed block is suppressed with it. */
	build_sums(&spec, &leaks);
	CU_ASSERT_TRUE(asked > 0);
	CU_ASSERT_EQUAL_FATAL(leaks.vec.nr, 2);
	CU_ASSERT_EQUAL(leaks.sum[LEAK_DEFINITE].bytes, 320);
	CU_ASSERT_EQUAL(leaks.sum[LEAK_INDIRECT].blocks, 0);
	CU_ASSERT_EQUAL(leaks.sum[LEAK_REACHABLE].bytes, 80);
	CU_ASSERT_EQUAL(leaks.suppressed.blocks, 5);
	CU_ASSERT_EQUAL(leaks.suppressed.bytes, 237);
	CU_ASSERT_EQUAL_FATAL(leaks.by_suppression.nr, 3);
	CU_ASSERT_EQUAL(leaks.by_suppression.at[0].bytes, 70);
	CU_ASSERT_EQUAL(leaks.by_suppression.at[1].bytes, 167);
	CU_ASSERT_EQUAL(leaks.by_suppression.at[2].blocks, 0);
	leaks_free(&leaks);

	spec.kinds = LEAK_SUPPRESSED;
	build_sums(&spec, &leaks);
	CU_ASSERT_EQUAL_FATAL(leaks.vec.nr, 4);
	CU_ASSERT_EQUAL(leaks.vec.at[0].bytes + leaks.vec.at[0].indirect_bytes, 167);
	CU_ASSERT_EQUAL(leaks.vec.at[0].suppression, 1);
	CU_ASSERT_EQUAL(leaks.vec.at[1].indirect_bytes, 40);
	CU_ASSERT_EQUAL(leaks.vec.at[1].suppression, 0);
	CU_ASSERT_EQUAL(leaks.listed.blocks, 5);
	leaks_free(&leaks);
}

/*
 * Blocks in no record are one loss record, though those of each size may have offsets of their own:
 * it is of sds strings if all of these are, in whichever order they come.
 */
TEST("of sds strings")
{
	struct reach_offset offsets[] = { { 9, FORM_SDS }, { 9, FORM_NONE }, { 9, FORM_SDS } };
	const struct leak_spec spec = { .kinds = 1u << LEAK_POSSIBLE };

	for (uint32_t nr = 1; nr <= ARRAY_SIZE(offsets); nr++) {
		struct packed_list list = PACKED_INIT;
		uint32_t none[ARRAY_SIZE(offsets)] = { 0 }, offset[] = { 1, 2, 3 };
		const struct reach_result mark = {
			.leader = none, .holder = none, .offset = offset,
			.offsets = { .at = offsets, .nr = nr, .room = nr },
		};
		struct leaks leaks;

		for (uint32_t i = 0; i < nr; i++) {
			CU_ASSERT_PTR_NULL_FATAL(packed_add(&list, &(struct block){
				.address = 0x1000 * (i + 1), .size = 10, .preattach = true }));
			packed_at(&list, i)->state = LEAK_POSSIBLE;
			packed_at(&list, i)->likely = LIKELY_OFFSET;
		}
		CU_ASSERT_PTR_NULL_FATAL(leaks_build(&list, &mark, &spec, &leaks));
		CU_ASSERT_EQUAL_FATAL(leaks.vec.nr, 1);
		CU_ASSERT_EQUAL(leaks.vec.at[0].nr_offsets, 1);
		CU_ASSERT_EQUAL(leaks.vec.at[0].form, nr == 1 ? FORM_SDS : FORM_NONE);
		leaks_free(&leaks);
		packed_free(&list);
	}
}

/* What is lost comes first; of what is possibly lost, what is not known to be in use. */
TEST("verdict")
{
	static const struct {
		enum leak_kind kind;
		enum likely likely;
		uint64_t size;
	} blocks[] = {
		{ LEAK_POSSIBLE, LIKELY_POOL, 5000 }, { LEAK_POSSIBLE, LIKELY_NOT, 70 },
		{ LEAK_DEFINITE, LIKELY_NOT, 30 }, { LEAK_INDIRECT, LIKELY_NOT, 20 },
		{ LEAK_REACHABLE, LIKELY_NOT, 900 }, { LEAK_POSSIBLE, LIKELY_VIA, 300 },
	};
	const struct leak_spec spec = { .kinds = 1u << LEAK_POSSIBLE | 1u << LEAK_DEFINITE };
	uint32_t none[ARRAY_SIZE(blocks)] = { 0 };
	const struct reach_result mark = { .leader = none, .holder = none, .offset = none };
	struct packed_list list = PACKED_INIT;
	struct leak_verdict verdict;
	struct leaks leaks;

	for (uint32_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		CU_ASSERT_PTR_NULL_FATAL(packed_add(&list, &(struct block){
			.address = 0x10000 * (i + 1), .size = blocks[i].size, .stack = i + 1 }));
		packed_at(&list, i)->state = blocks[i].kind & 7;
		packed_at(&list, i)->likely = blocks[i].likely & 7;
	}
	CU_ASSERT_PTR_NULL_FATAL(leaks_build(&list, &mark, &spec, &leaks));
	verdict = leaks_verdict(&leaks);
	CU_ASSERT_EQUAL(verdict.lost.bytes, 50);
	CU_ASSERT_EQUAL(verdict.lost.blocks, 2);
	CU_ASSERT_EQUAL(verdict.in_use.bytes, 6200);
	CU_ASSERT_EQUAL(verdict.in_use.blocks, 3);
	CU_ASSERT_EQUAL(verdict.unknown.bytes, 70);
	CU_ASSERT_EQUAL(verdict.unknown.blocks, 1);
	CU_ASSERT_EQUAL_FATAL(leaks.vec.nr, 4);
	CU_ASSERT_EQUAL(leaks.vec.at[0].bytes, 30);
	CU_ASSERT_EQUAL(leaks.vec.at[1].bytes, 70);
	CU_ASSERT_EQUAL(leaks.vec.at[2].bytes, 5000);
	leaks_free(&leaks);
	packed_free(&list);
}
