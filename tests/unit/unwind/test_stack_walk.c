/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The walk over made-up rows and stacks: each kind of row, each reason to end, and no read outside
 * the bounds.
 */

#include "unwind/walk.h"

#include "made_up.h"
#include "unit.h"

/* A case: the stack's words from STACK on, the registers, and what should come out. */
struct scene {
	uint64_t word[WORDS];
	uint64_t reg[17];
	uint64_t pc[16];
	uint32_t nr;
	enum walk_end end;
};

static struct scene scene(uint64_t pc, uint64_t fp)
{
	struct scene scene = { .end = WALK_ENDS };

	scene.reg[16] = pc;
	scene.reg[7] = STACK;
	scene.reg[6] = fp;
	return scene;
}

static void run_area(struct scene *scene, const struct walk_area *area)
{
	struct walk_regs regs = {
		.pc = scene->reg[16], .sp = scene->reg[7], .fp = scene->reg[6],
		.regs = scene->reg, .nr_regs = 17,
	};
	struct walk_stack stack = { .copy = scene->word, .low = STACK,
		.high = STACK + sizeof(scene->word) };

	scene->nr = walk(&(struct walk_start){ &map, &regs, &stack, area, false }, scene->pc,
			 ARRAY_SIZE(scene->pc), &scene->end, NULL);
}

static void run(struct scene *scene)
{
	run_area(scene, NULL);
}

#define CHECK(scene, reason, ...) \
	do { \
		const uint64_t expected[] = { __VA_ARGS__ }; \
		CU_ASSERT_EQUAL((scene).end, reason); \
		CU_ASSERT_EQUAL((scene).nr, ARRAY_SIZE(expected)); \
		CU_ASSERT(!memcmp((scene).pc, expected, sizeof(expected))); \
	} while (0)

TEST("plain frames")
{
	struct scene s = scene(LEAF, slot(3));

	s.word[0] = FRAMED;
	s.word[3] = 0;
	s.word[4] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_COMPLETE, LEAF, FRAMED, OUTERMOST);
	s.word[0] = 0;
	run(&s);
	CHECK(s, WALK_COMPLETE, LEAF);
}

/*
 * A return address at the very start of a function belongs to the one before; an exact PC does not.
 */
TEST("one byte back")
{
	struct scene s = scene(CODE + 0x60, 0);

	run(&s);
	CHECK(s, WALK_COMPLETE, CODE + 0x60);
	s = scene(LEAF, 0);
	s.word[0] = CODE + 0x10;	/* LEAF's last instruction called */
	s.word[1] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_COMPLETE, LEAF, CODE + 0x10, OUTERMOST);
}

TEST("frames that hang from registers")
{
	struct scene s = scene(BY_R10, 0);

	s.reg[10] = slot(10);
	s.word[9] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_COMPLETE, BY_R10, OUTERMOST);
	/* In a caller, R10 is not known. */
	s.reg[16] = LEAF;
	s.word[0] = BY_R10;
	run(&s);
	CHECK(s, WALK_REGISTER, LEAF, BY_R10);
	/* RBX is, through a frame that saved it; not through one that lost it. */
	s = scene(SAVES_BX, 0);
	s.word[1] = slot(20);
	s.word[2] = BY_BX;
	s.word[21] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_COMPLETE, SAVES_BX, BY_BX, OUTERMOST);
	s = scene(LEAF, 0);
	s.reg[3] = slot(20);
	s.word[0] = BY_BX;
	s.word[21] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_COMPLETE, LEAF, BY_BX, OUTERMOST);
	s.reg[16] = LOSES_BX;
	run(&s);
	CHECK(s, WALK_REGISTER, LOSES_BX, BY_BX);
	/* Nor through one without CFI. */
	s.reg[16] = NO_CFI;
	s.reg[6] = slot(4);
	s.word[5] = BY_BX;
	run(&s);
	CHECK(s, WALK_REGISTER, NO_CFI, BY_BX);
}

/* R12 to R15, through frames that saved them, that did not touch them, and that lost them. */
TEST("R12 to R15")
{
	struct scene s = scene(KEEPS, 0);

	s.reg[12] = slot(40);		/* of KEEPS, whose caller's is this: */
	s.word[1] = slot(20);
	s.word[3] = LEAF;
	s.word[4] = BY_R12;
	s.word[21] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_COMPLETE, KEEPS, LEAF, BY_R12, OUTERMOST);
	s.reg[16] = LEAF;
	s.reg[12] = slot(30);
	s.word[0] = BY_R12;
	s.word[31] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_COMPLETE, LEAF, BY_R12, OUTERMOST);
	/* A word at R13; behind it R12 is not known any more. */
	s = scene(LEAF, 0);
	s.reg[13] = slot(20);
	s.reg[12] = slot(40);
	s.word[0] = BY_R13_MEM;
	s.word[21] = slot(29);
	s.word[29] = BY_R12;
	s.word[41] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_REGISTER, LEAF, BY_R13_MEM, BY_R12);
	s.word[29] = RA_IN_R15;		/* but this is */
	s.reg[15] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_COMPLETE, LEAF, BY_R13_MEM, RA_IN_R15, OUTERMOST);
	/* Lost, and by code without CFI. */
	s = scene(KEEPS, 0);
	s.word[3] = FP_IN_R14;
	s.word[4] = FRAMED;
	run(&s);
	CHECK(s, WALK_REGISTER, KEEPS, FP_IN_R14, FRAMED);
	s = scene(NO_CFI, slot(4));
	s.word[5] = BY_R12;
	run(&s);
	CHECK(s, WALK_REGISTER, NO_CFI, BY_R12);
}

/* BP in R14, and return addresses that are not where calls put them. */
TEST("return addresses and BP elsewhere")
{
	struct scene s = scene(LEAF, 0);

	s.reg[14] = slot(10);
	s.word[0] = FP_IN_R14;
	s.word[1] = FRAMED;
	s.word[11] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_COMPLETE, LEAF, FP_IN_R14, FRAMED, OUTERMOST);
	s = scene(LEAF, slot(10));
	s.reg[15] = OUTERMOST;
	s.word[0] = FRAMED_RA_IN_R15;
	run(&s);
	CHECK(s, WALK_COMPLETE, LEAF, FRAMED_RA_IN_R15, OUTERMOST);
	s.reg[6] = STACK;		/* no frame of a caller's */
	s.word[0] = RA_BELOW;
	s.word[2] = FRAMED_RA_ABOVE;	/* at CFA - 24 */
	s.reg[6] = slot(10);
	s.word[13] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_COMPLETE, LEAF, RA_BELOW, FRAMED_RA_ABOVE, OUTERMOST);
	s.reg[6] = slot(3);		/* below SP by then */
	run(&s);
	CHECK(s, WALK_LOOP, LEAF, RA_BELOW, FRAMED_RA_ABOVE);
}

/* From a caller on, as the agent walks. */
TEST("R12 to R15 of a caller")
{
	struct scene s = scene(LEAF, 0);
	struct walk_regs regs = { .pc = LEAF, .sp = STACK, .regs = s.reg, .nr_regs = 16 };
	struct walk_stack stack = { .copy = s.word, .low = STACK,
				    .high = STACK + sizeof(s.word) };
	const struct walk_start start = { &map, &regs, &stack, NULL, true };
	struct walk_trace trace;

	s.reg[12] = slot(20);
	s.word[0] = BY_R12;
	s.word[21] = OUTERMOST;
	s.nr = walk(&start, s.pc, 16, &s.end, &trace);
	CHECK(s, WALK_COMPLETE, LEAF, BY_R12, OUTERMOST);
	CU_ASSERT_FALSE(trace.whole);
	regs.nr_regs = 4;
	s.nr = walk(&start, s.pc, 16, &s.end, &trace);
	CHECK(s, WALK_REGISTER, LEAF, BY_R12);
	/* If it was saved, its slot tells. */
	regs.pc = KEEPS;
	s.word[1] = slot(30);
	s.word[3] = BY_R12;
	s.word[31] = OUTERMOST;
	s.nr = walk(&start, s.pc, 16, &s.end, &trace);
	CHECK(s, WALK_COMPLETE, KEEPS, BY_R12, OUTERMOST);
	CU_ASSERT_TRUE(trace.whole);
	CU_ASSERT_EQUAL(trace.nr, 3);
	CU_ASSERT_EQUAL(trace.address[1], slot(1));
}

TEST("frames that hang from memory")
{
	struct scene s = scene(DRAP, slot(6));

	s.word[5] = slot(20);		/* the CFA */
	s.word[6] = slot(30);		/* the caller's BP */
	s.word[19] = FRAMED;
	s.word[31] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_COMPLETE, DRAP, FRAMED, OUTERMOST);
	s = scene(SP_MEM, 0);
	s.word[1] = slot(8);
	s.word[8] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_COMPLETE, SP_MEM, OUTERMOST);
	s = scene(VFORK, 0);
	s.reg[5] = LEAF;
	s.word[0] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_COMPLETE, VFORK, LEAF, OUTERMOST);
}

TEST("the PLT")
{
	for (unsigned at = 0; at < 16; at++) {
		struct scene s = scene(PLT + at, 0);

		s.word[at >= 11] = OUTERMOST;
		run(&s);
		CHECK(s, WALK_COMPLETE, PLT + at, OUTERMOST);
	}
}

/*
 * The registers that a signal saved are those of the frame it interrupted: at its exact PC, with
 * R10 known.
 */
TEST("signal frames")
{
	struct scene s = scene(LEAF, 0);

	s.word[0] = SIGNAL;
	s.word[1 + 56 / 8] = slot(50);			/* r10 */
	s.word[1 + 120 / 8] = slot(55);			/* rbp */
	s.word[1 + 160 / 8] = slot(40);			/* rsp */
	s.word[1 + 168 / 8] = CODE + 0x20;		/* rip: the first byte of BY_R10 */
	s.word[49] = FRAMED;
	s.word[56] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_COMPLETE, LEAF, SIGNAL, CODE + 0x20, FRAMED, OUTERMOST);
	/* A frame that leads back to itself ends with the room for PCs. */
	s = scene(SIGNAL, 0);
	s.word[160 / 8] = STACK;
	s.word[168 / 8] = SIGNAL;
	run(&s);
	CU_ASSERT_EQUAL(s.nr, ARRAY_SIZE(s.pc));
	CU_ASSERT_EQUAL(s.end, WALK_DEPTH);
}

TEST("frame pointers without CFI")
{
	struct scene s = scene(NO_CFI, slot(4));

	s.word[4] = slot(8);
	s.word[5] = LEAF;
	s.word[6] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_COMPLETE, NO_CFI, LEAF, OUTERMOST);
	/* From known code without CFI, only into known code, */
	s.word[5] = JIT;
	run(&s);
	CHECK(s, WALK_NO_ROW, NO_CFI);
	/* or into code that it leads to. */
	s.word[8] = slot(12);
	s.word[9] = JIT + 5;
	run(&s);
	CHECK(s, WALK_NO_ROW, NO_CFI);
	s.word[12] = 0;
	s.word[13] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_COMPLETE, NO_CFI, JIT, JIT + 5, OUTERMOST);
	s.word[12] = slot(14);
	s.word[13] = NO_CFI;
	s.word[15] = JIT + 9;
	run(&s);
	CHECK(s, WALK_NO_ROW, NO_CFI, JIT, JIT + 5, NO_CFI);
	/* From unknown code into any. */
	s = scene(JIT, slot(4));
	s.word[4] = slot(8);
	s.word[5] = JIT + 5;
	s.word[8] = 0;
	s.word[9] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_COMPLETE, JIT, JIT + 5, OUTERMOST);
	/* From unknown code to which CFI has led, only if it leads to a module. */
	s = scene(LEAF, slot(4));
	s.word[0] = JIT;
	s.word[4] = slot(8);
	s.word[5] = JIT + 5;
	s.word[8] = 0;
	s.word[9] = OUTERMOST;
	run(&s);
	CHECK(s, WALK_COMPLETE, LEAF, JIT, JIT + 5, OUTERMOST);
	s.word[9] = JIT + 9;
	run(&s);
	CHECK(s, WALK_NO_MODULE, LEAF, JIT);
	/* Not to below SP, outside the stack, or nowhere. */
	s = scene(JIT, slot(4));
	s.reg[7] = slot(5);
	run(&s);
	CHECK(s, WALK_NO_MODULE, JIT);
	s.reg[6] = slot(WORDS - 1);
	run(&s);
	CHECK(s, WALK_NO_MODULE, JIT);
	s.reg[6] = UINT64_MAX - 7;
	run(&s);
	CHECK(s, WALK_NO_MODULE, JIT);
	s.reg[6] = slot(20);
	run(&s);
	CHECK(s, WALK_NO_MODULE, JIT);
}

TEST("reasons to end")
{
	struct scene s = scene(TOO_COMPLEX, 0);

	run(&s);
	CHECK(s, WALK_COMPLEX, TOO_COMPLEX);
	s = scene(STUCK, 0);
	run(&s);
	CHECK(s, WALK_LOOP, STUCK);
	s = scene(LEAF, 0);
	s.reg[7] = slot(WORDS);
	run(&s);
	CHECK(s, WALK_MEMORY, LEAF);
	s.reg[7] = slot(WORDS) - 4;
	run(&s);
	CHECK(s, WALK_MEMORY, LEAF);
	s.reg[7] = STACK - 8;
	run(&s);
	CHECK(s, WALK_MEMORY, LEAF);
	/* BP below SP; BP that is not known. */
	s = scene(FRAMED, STACK - 16);
	run(&s);
	CHECK(s, WALK_LOOP, FRAMED);
	s = scene(LOSES_FP, slot(4));
	s.word[0] = FRAMED;
	run(&s);
	CHECK(s, WALK_COMPLEX, LOSES_FP, FRAMED);
	/* BP saved where nothing can be read matters only when it is needed. */
	s = scene(FRAMED, slot(WORDS - 2));
	s.word[WORDS - 1] = LEAF;
	run(&s);
	CHECK(s, WALK_MEMORY, FRAMED, LEAF);
}

TEST("code of ours")
{
	struct area_log log = { 0 };
	struct walk_area area = { .start = JIT, .end = JIT + 64, .translate = translate,
		.ctx = &log };
	struct scene s = scene(JIT + 3, 0);

	s.word[0] = JIT + 20;
	s.word[3] = FRAMED;
	s.reg[6] = slot(8);
	s.word[9] = OUTERMOST;
	run_area(&s, &area);
	CHECK(s, WALK_COMPLETE, LEAF, FRAMED, OUTERMOST);
	CU_ASSERT_EQUAL(log.asked, 2);
	/* A stub as the innermost frame is not told of either. */
	s.reg[16] = JIT + 30;
	s.word[2] = OUTERMOST;
	run_area(&s, &area);
	CHECK(s, WALK_COMPLETE, OUTERMOST);
	/* Nothing but stubs: the stack is not ours to believe. */
	for (unsigned i = 0; i < WORDS; i++)
		s.word[i] = JIT + 40;
	run_area(&s, &area);
	CU_ASSERT_EQUAL(s.nr, 0);
	CU_ASSERT(s.end == WALK_MEMORY || s.end == WALK_LOOP);
}

/* A cache gives the same answers, and forgets when the generation changes. */
TEST("the cache")
{
	static struct walk_cache cache;
	static const struct row other = { .pc = 0, .cfa = ROW_CFA_END };
	struct walk_module changed = { .start = CODE, .end = CODE + 0x100,
		.rows = { .row = &other, .nr = 1 } };
	struct walk_map with = map;
	uint64_t word[4] = { LEAF, OUTERMOST }, pc[8];
	struct walk_regs regs = { .pc = LEAF, .sp = STACK };
	struct walk_stack stack = { .copy = word, .low = STACK, .high = STACK + sizeof(word) };
	struct walk_start start = { &with, &regs, &stack, NULL, false };
	enum walk_end end;

	with.cache = &cache;
	for (unsigned i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(walk(&start, pc, 8, &end, NULL), 3);
		CU_ASSERT_EQUAL(pc[2], OUTERMOST);
		CU_ASSERT_EQUAL(end, WALK_COMPLETE);
	}
	with.module = &changed;
	with.generation = 2;
	CU_ASSERT_EQUAL(walk(&start, pc, 8, &end, NULL), 1);
	CU_ASSERT_EQUAL(end, WALK_COMPLETE);
	/*
	 * Nothing is cached for a PC outside all modules, not even the one whose key is the empty
	 * entry's.
	 */
	regs.pc = UINT64_MAX;
	start.map = &map;
	CU_ASSERT_EQUAL(walk(&start, pc, 8, &end, NULL), 1);
	CU_ASSERT_EQUAL(end, WALK_NO_MODULE);
}

static struct walk_outside outside_of(struct scene *scene, bool caller)
{
	struct walk_regs regs = {
		.pc = scene->reg[16], .sp = scene->reg[7], .fp = scene->reg[6],
		.regs = scene->reg, .nr_regs = 17,
	};
	struct walk_outside outside = { .pc = 0 };
	struct walk_stack stack = { .copy = scene->word, .low = STACK,
		.high = STACK + sizeof(scene->word), .outside = &outside };

	scene->nr = walk(&(struct walk_start){ &map, &regs, &stack, NULL, caller }, scene->pc,
			 ARRAY_SIZE(scene->pc), &scene->end, NULL);
	return outside;
}

/* Where a walk leaves the modules, another one that knows more can go on. */
TEST("where it leaves the modules")
{
	struct scene s = scene(LEAF, slot(6));
	struct walk_outside outside;

	s.word[0] = OUTERMOST;
	CU_ASSERT_EQUAL(outside_of(&s, true).pc, 0);
	/* BX is where that frame has saved it; BP is another's. */
	s = scene(SAVES_BX, 0x123);
	s.word[1] = 0x456;
	s.word[2] = JIT;
	outside = outside_of(&s, true);
	CHECK(s, WALK_NO_MODULE, SAVES_BX, JIT);
	CU_ASSERT(outside.pc == JIT && outside.sp == slot(3) && outside.fp == 0x123);
	CU_ASSERT(outside.bx == 0x456 && !outside.exact);
	/* The first one of several; a lost BP is none. */
	s = scene(LOSES_FP, slot(4));
	s.reg[3] = 0x789;
	s.word[0] = JIT;
	outside = outside_of(&s, true);
	CU_ASSERT(outside.pc == JIT && outside.sp == slot(1) && !outside.fp && outside.bx == 0x789);
	s = scene(JIT, slot(4));
	s.word[4] = slot(8);
	s.word[5] = JIT + 5;
	s.word[9] = OUTERMOST;
	outside = outside_of(&s, true);
	CHECK(s, WALK_COMPLETE, JIT, JIT + 5, OUTERMOST);
	CU_ASSERT(outside.pc == JIT && outside.sp == STACK && outside.fp == slot(4));
	/* A walk that begins at an instruction. */
	CU_ASSERT(outside_of(&s, false).exact);
}

static bool more_words(void *ctx, uint64_t addr, uint64_t *ret)
{
	const uint64_t *words = ctx;

	if (addr < STACK || addr >= STACK + 4 * 8)
		return false;
	*ret = words[(addr - STACK) / 8];
	return true;
}

/* Words outside the copy are asked for. */
TEST("words outside the copy")
{
	uint64_t words[4] = { LEAF, LEAF, OUTERMOST, 0 }, pc[8];
	struct walk_regs regs = { .pc = LEAF, .sp = STACK };
	struct walk_stack stack = {
		.copy = words, .low = STACK, .high = STACK + 8, .more = more_words, .ctx = words,
	};
	struct walk_start start = { &map, &regs, &stack, NULL, false };
	enum walk_end end;

	CU_ASSERT_EQUAL(walk(&start, pc, 8, &end, NULL), 4);
	CU_ASSERT_EQUAL(end, WALK_COMPLETE);
	stack.more = NULL;
	CU_ASSERT_EQUAL(walk(&start, pc, 8, &end, NULL), 2);
	CU_ASSERT_EQUAL(end, WALK_MEMORY);
}

/* Another stack, below the one that the walk begins on. */
struct lower {
	uint64_t start, word[4];
};

static bool lower_words(void *ctx, uint64_t addr, uint64_t *ret)
{
	const struct lower *lower = ctx;

	if (addr < lower->start || addr >= lower->start + sizeof(lower->word))
		return false;
	*ret = lower->word[(addr - lower->start) / 8];
	return true;
}

static enum walk_end end_below(struct lower *lower, uint32_t *nr_ret)
{
	uint64_t words[4] = { 0 }, pc[8];
	struct walk_regs regs = { .pc = FRAMED, .sp = STACK, .fp = lower->start };
	struct walk_stack stack = {
		.copy = words, .low = STACK, .high = STACK + sizeof(words),
		.more = lower_words, .ctx = lower,
	};
	struct walk_start start = { &map, &regs, &stack, NULL, false };
	enum walk_end end;

	*nr_ret = walk(&start, pc, 8, &end, NULL);
	return end;
}

/* A function that has switched stacks leads to a lower one, if there is a module's return address. */
TEST("a step down")
{
	struct lower lower = { STACK - 65536, { 0, OUTERMOST } };
	uint32_t nr;

	CU_ASSERT_EQUAL(end_below(&lower, &nr), WALK_COMPLETE);
	CU_ASSERT_EQUAL(nr, 2);
	lower.word[1] = 1;
	CU_ASSERT_EQUAL(end_below(&lower, &nr), WALK_LOOP);
	lower.word[1] = OUTERMOST;
	lower.start = STACK - 1024;
	CU_ASSERT_EQUAL(end_below(&lower, &nr), WALK_LOOP);
	CU_ASSERT_EQUAL(nr, 1);
}

/* From the thread's stack to a goroutine's, by BP; not where it was called on the thread's. */
TEST("a switch of stacks")
{
	static const struct row switch_row = { .cfa = ROW_CFA_FP_SWITCH };
	static const struct walk_module modules[] = {
		{ .start = CODE - 0x100, .end = CODE, .rows = { .row = &switch_row, .nr = 1 } },
		{ .start = CODE, .end = CODE + 0x100, .rows = { .row = rows, .nr = ARRAY_SIZE(rows) } },
	};
	static const struct walk_map with_switch = { .module = modules, .nr = 2, .generation = 1 };
	struct lower lower = { STACK - 65536, { 0, OUTERMOST } };
	uint64_t words[4] = { 0, OUTERMOST }, pc[8];
	struct walk_regs regs = { .pc = CODE - 0x80, .sp = STACK, .fp = lower.start };
	struct walk_stack stack = {
		.copy = words, .low = STACK, .high = STACK + sizeof(words),
		.more = lower_words, .ctx = &lower,
	};
	struct walk_start start = { &with_switch, &regs, &stack, NULL, false };
	enum walk_end end;

	CU_ASSERT_EQUAL(walk(&start, pc, 8, &end, NULL), 2);
	CU_ASSERT(end == WALK_COMPLETE && pc[1] == OUTERMOST);
	lower.word[1] = JIT;
	CU_ASSERT_EQUAL(walk(&start, pc, 8, &end, NULL), 1);
	CU_ASSERT_EQUAL(end, WALK_NO_ROW);
	regs.fp = STACK;
	CU_ASSERT_EQUAL(walk(&start, pc, 8, &end, NULL), 1);
	CU_ASSERT_EQUAL(end, WALK_NO_ROW);
	regs.fp = STACK - 8;
	CU_ASSERT_EQUAL(walk(&start, pc, 8, &end, NULL), 1);
	CU_ASSERT_EQUAL(end, WALK_MEMORY);
}

/*
 * Any stack: the walk ends, and reads only what it was given (an array of its own, for the
 * sanitizer to watch).
 */
TEST("any stack")
{
	uint64_t state = 42, *words = malloc(8 * WORDS), pc[16], reg[17];
	unsigned complete = 0;

	CU_ASSERT_FATAL(words != NULL);
	for (unsigned round = 0; round < 200000; round++) {
		struct walk_regs regs = { .regs = reg, .nr_regs = 17 };
		struct walk_stack stack = { .copy = words, .low = STACK,
			.high = STACK + 8 * WORDS };
		enum walk_end end = WALK_ENDS;
		uint32_t nr;

		for (unsigned i = 0; i < WORDS; i++)
			words[i] = random_word(&state);
		for (unsigned i = 0; i < 17; i++)
			reg[i] = random_word(&state);
		regs.pc = reg[16];
		regs.fp = reg[6];
		regs.sp = reg[7] = STACK + unit_random(&state) % 64;
		nr = walk(&(struct walk_start){ &map, &regs, &stack, NULL, false }, pc, 16, &end,
			  NULL);
		CU_ASSERT_FATAL(nr >= 1 && nr <= 16 && end < WALK_ENDS);
		CU_ASSERT_FATAL(pc[0] == regs.pc);
		complete += end == WALK_COMPLETE;
	}
	CU_ASSERT(complete > 1000);
	free(words);
}

TEST("names of the ends")
{
	for (unsigned i = 0; i < WALK_ENDS; i++)
		CU_ASSERT_STRING_NOT_EQUAL(walk_end_name((enum walk_end)i), "unknown");
	CU_ASSERT_STRING_EQUAL(walk_end_name(WALK_COMPLETE), "complete");
	CU_ASSERT_STRING_EQUAL(walk_end_name((enum walk_end)99), "unknown");
}

TEST("the map of modules")
{
	struct walk_module modules[5] = { 0 };
	struct walk_map some = { .module = modules };

	CU_ASSERT_PTR_NULL(walk_map_find(&some, 0));
	for (unsigned i = 0; i < 5; i++) {
		modules[i].start = 0x1000 * (i + 1);
		modules[i].end = modules[i].start + 0x800;
	}
	for (some.nr = 1; some.nr <= 5; some.nr++) {
		for (uint64_t pc = 0; pc < 0x7000; pc += 0x100) {
			uint64_t i = pc / 0x1000 - 1;
			bool in = pc >= 0x1000 && i < some.nr && pc % 0x1000 < 0x800;

			CU_ASSERT_PTR_EQUAL(walk_map_find(&some, pc), in ? &modules[i] : NULL);
		}
	}
}
