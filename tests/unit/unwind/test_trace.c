/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a traced walk says that it depends on: enough, so that everything else may change; and no
 * more than is needed.
 */

#include "made_up.h"
#include "unit.h"

/* A walk from a caller on. */
struct scene {
	uint64_t word[WORDS];
	uint64_t pc, sp, fp, bx;
	struct walk_area area;
	uint32_t max;
	uint64_t pcs[16];
	uint32_t nr;
	enum walk_end end;
};

#define MANY	(2 * WALK_TRACE_SLOTS)

static struct walk_trace trace;

static void run(struct scene *scene, struct walk_trace *into)
{
	uint64_t reg[4] = { 0, 0, 0, scene->bx };
	struct walk_regs regs = { scene->pc, scene->sp, scene->fp, reg, ARRAY_SIZE(reg) };
	struct walk_stack stack = { .copy = scene->word, .low = STACK,
		.high = STACK + sizeof(scene->word) };

	memset(scene->pcs, 0, sizeof(scene->pcs));
	scene->nr = walk(&(struct walk_start){ &map, &regs, &stack, &scene->area, true },
			 scene->pcs, scene->max, &scene->end, into);
}

static struct scene begin(uint64_t pc, uint64_t fp)
{
	return (struct scene){ .pc = pc, .sp = STACK, .fp = fp, .max = 16 };
}

/* The slots, by their index on the stack, are these and no others, in this order. */
#define CHECK_SLOTS(scene, ...) \
	do { \
		const unsigned expected[] = { __VA_ARGS__ }; \
		CU_ASSERT_EQUAL(trace.nr, ARRAY_SIZE(expected)); \
		for (unsigned at = 0; at < ARRAY_SIZE(expected) && at < trace.nr; at++) { \
			CU_ASSERT_EQUAL(trace.address[at], slot(expected[at])); \
			CU_ASSERT_EQUAL(trace.value[at], (scene)->word[expected[at]]); \
		} \
	} while (0)

static void check_flags(bool whole, bool fp_used, bool bx_used)
{
	CU_ASSERT_EQUAL(trace.whole, whole);
	CU_ASSERT_EQUAL(trace.fp_used, fp_used);
	CU_ASSERT_EQUAL(trace.bx_used, bx_used);
}

/* The first PC is a return address: looked up one byte back. */
TEST("from a caller on")
{
	struct scene s = begin(CODE + 0x10, 0);

	s.word[0] = OUTERMOST;
	run(&s, &trace);
	CU_ASSERT_EQUAL(s.nr, 2);
	CU_ASSERT_EQUAL(s.pcs[0], CODE + 0x10);
	CU_ASSERT_EQUAL(s.pcs[1], OUTERMOST);
	CU_ASSERT_EQUAL(s.end, WALK_COMPLETE);
	CHECK_SLOTS(&s, 0);
	check_flags(true, false, false);
	run(&s, NULL);
	CU_ASSERT_EQUAL(s.nr, 2);
	/* No register but RBX is the caller's. */
	s = begin(BY_R10, 0);
	run(&s, &trace);
	CU_ASSERT_EQUAL(s.end, WALK_REGISTER);
	check_flags(true, false, false);
}

/* A saved BP matters if a frame hangs from it, not before. */
TEST("saved frame pointers")
{
	struct scene s = begin(FRAMED, slot(3));

	s.word[3] = slot(10);
	s.word[4] = LEAF;
	s.word[5] = OUTERMOST;
	run(&s, &trace);
	CHECK_SLOTS(&s, 4, 5);
	check_flags(true, true, false);
	s.word[5] = FRAMED;
	s.word[11] = OUTERMOST;
	run(&s, &trace);
	CHECK_SLOTS(&s, 4, 5, 3, 11);
	check_flags(true, true, false);
	/* Not used at all. */
	s = begin(LEAF, slot(3));
	s.word[0] = OUTERMOST;
	run(&s, &trace);
	CHECK_SLOTS(&s, 0);
	check_flags(true, false, false);
}

TEST("words that rules read")
{
	struct scene s = begin(DRAP, slot(6));

	s.word[5] = slot(20);		/* the CFA */
	s.word[6] = slot(30);		/* the caller's BP */
	s.word[19] = LEAF;
	s.word[20] = OUTERMOST;
	run(&s, &trace);
	CHECK_SLOTS(&s, 5, 19, 20);
	check_flags(true, true, false);
	s.word[20] = FRAMED;
	s.word[31] = OUTERMOST;
	run(&s, &trace);
	CHECK_SLOTS(&s, 5, 19, 20, 6, 31);
	s = begin(SP_MEM, 0);
	s.word[1] = slot(8);
	s.word[8] = OUTERMOST;
	run(&s, &trace);
	CHECK_SLOTS(&s, 1, 8);
	check_flags(true, false, false);
}

TEST("RBX")
{
	struct scene s = begin(SAVES_BX, 0);

	s.word[1] = slot(20);
	s.word[2] = LEAF;
	s.word[3] = OUTERMOST;
	run(&s, &trace);
	CHECK_SLOTS(&s, 2, 3);
	s.word[3] = BY_BX;
	s.word[21] = OUTERMOST;
	run(&s, &trace);
	CHECK_SLOTS(&s, 2, 3, 1, 21);
	check_flags(true, false, false);
	s = begin(BY_BX, 0);
	s.bx = slot(20);
	s.word[21] = OUTERMOST;
	run(&s, &trace);
	CU_ASSERT_EQUAL(s.nr, 2);
	CHECK_SLOTS(&s, 21);
	check_flags(true, false, true);
}

/* What no CFI says: BP, its word above, and that it was no frame, too. */
TEST("frame pointers without CFI")
{
	struct scene s = begin(NO_CFI, slot(4));

	s.word[4] = slot(8);
	s.word[5] = LEAF;
	s.word[6] = OUTERMOST;
	run(&s, &trace);
	CU_ASSERT_EQUAL(s.end, WALK_COMPLETE);
	CHECK_SLOTS(&s, 5, 6);
	check_flags(true, true, false);
	s.word[5] = JIT;
	run(&s, &trace);
	CU_ASSERT_EQUAL(s.end, WALK_NO_ROW);
	CHECK_SLOTS(&s, 5, 4, 9);
	s.fp = 0;
	run(&s, &trace);
	CU_ASSERT_EQUAL(trace.nr, 0);
	check_flags(true, true, false);
}

/* Frames of ours are no PCs, but their return addresses are slots. */
TEST("frames of ours")
{
	struct area_log log = { 0 };
	struct scene s = begin(LEAF, 0);

	s.area = (struct walk_area){ JIT, JIT + 64, translate, &log };
	s.word[0] = JIT + 20;
	s.word[3] = OUTERMOST;
	run(&s, &trace);
	CU_ASSERT_EQUAL(s.nr, 2);
	CHECK_SLOTS(&s, 0, 3);
	check_flags(true, false, false);
}

/* What cannot be told by slots. */
TEST("what is not whole")
{
	static uint64_t words[3 * WALK_TRACE_SLOTS], pcs[MANY];
	struct walk_regs regs = { .pc = LEAF, .sp = STACK };
	struct walk_stack stack = { words, STACK, STACK + sizeof(words), NULL, NULL, NULL };
	struct walk_start start = { &map, &regs, &stack, NULL, true };
	struct scene s = begin(LEAF, 0);
	enum walk_end end;

	s.word[0] = SIGNAL;
	s.word[1 + 160 / 8] = slot(40);
	s.word[1 + 168 / 8] = OUTERMOST;
	run(&s, &trace);
	CU_ASSERT_EQUAL(s.end, WALK_COMPLETE);
	CU_ASSERT_FALSE(trace.whole);
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = LEAF;
	CU_ASSERT_EQUAL(walk(&start, pcs, WALK_TRACE_SLOTS, &end, &trace), WALK_TRACE_SLOTS);
	CU_ASSERT_EQUAL(end, WALK_DEPTH);
	CU_ASSERT_TRUE(trace.whole);
	CU_ASSERT_EQUAL(trace.nr, WALK_TRACE_SLOTS);
	CU_ASSERT_EQUAL(walk(&start, pcs, MANY, &end, &trace), MANY);
	CU_ASSERT_FALSE(trace.whole);
	CU_ASSERT_EQUAL(trace.nr, WALK_TRACE_SLOTS);
}

static bool is_slot(uint64_t address)
{
	for (uint32_t i = 0; i < trace.nr; i++) {
		if (trace.address[i] < address + 8 && address < trace.address[i] + 8)
			return true;
	}
	return false;
}

static bool same(const struct scene *a, const struct scene *b)
{
	return a->nr == b->nr && a->end == b->end && !memcmp(a->pcs, b->pcs, sizeof(a->pcs));
}

/* As random_word(), but more often code from which a walk goes on. */
static uint64_t friendly_word(uint64_t *state)
{
	static const uint64_t code[] = { LEAF, LEAF, LEAF, PLT, FRAMED, SAVES_BX, BY_BX, DRAP };
	uint64_t r = unit_random(state);

	switch (r % 8) {
	case 0:
		return random_word(state);
	case 1:
	case 2:
		return slot((r >> 8) % WORDS);
	default:
		return code[(r >> 8) % ARRAY_SIZE(code)];
	}
}

/* Some of the code is ours: displaced, or a stub. */
static bool any_translate(void *ctx, uint64_t *pc, int32_t *cfa_offset)
{
	(void)ctx;
	*cfa_offset = 24;
	if (*pc % 2)
		*pc = FRAMED;
	return *pc == FRAMED;
}

/* All but the slots, and the registers where they were not used, may be anything. */
static void shake(struct scene *s, uint64_t *state)
{
	for (unsigned i = 0; i < WORDS; i++) {
		if (!is_slot(slot(i)))
			s->word[i] = random_word(state);
	}
	if (!trace.fp_used)
		s->fp = random_word(state);
	if (!trace.bx_used)
		s->bx = random_word(state);
}

TEST("the slots are enough")
{
	struct scene s, shaken;
	uint64_t state = 4711;
	unsigned deep = 0, used = 0, plain = 0;

	for (unsigned round = 0; round < 100000; round++) {
		s = begin(friendly_word(&state), friendly_word(&state));
		s.bx = random_word(&state);
		s.sp = STACK + 8 * (unit_random(&state) % 8) + (round % 16 == 0);
		s.max = 1 + (uint32_t)(unit_random(&state) % 16);
		s.area = (struct walk_area){ CODE + 0xd0, CODE + 0xf0, any_translate, NULL };
		for (unsigned i = 0; i < WORDS; i++)
			s.word[i] = friendly_word(&state);
		shaken = s;
		run(&s, &trace);
		run(&shaken, NULL);
		CU_ASSERT_FATAL(same(&s, &shaken));
		if (!trace.whole)
			continue;
		deep += s.nr > 5;
		used += trace.fp_used;
		plain += !trace.fp_used;
		for (unsigned i = 0; i < 3; i++) {
			shake(&shaken, &state);
			run(&shaken, NULL);
			CU_ASSERT_FATAL(same(&s, &shaken));
		}
	}
	CU_ASSERT(deep > 500);
	CU_ASSERT(used > 1000);
	CU_ASSERT(plain > 1000);
}
