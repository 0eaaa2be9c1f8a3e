/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The verified walk cache always gives what a walk would give, however the stack has changed since,
 * and loses no count. It is compiled as it is for the agent, so that no sanitizer minds what it
 * reads.
 */

#include "agent/unwind_cache.h"

#include <alloca.h>
#include <stdlib.h>
#include <string.h>

#include "agent/here.h"
#include "log/region.h"
#include "unwind/made_up.h"
#include "unwind/self.h"

#ifdef __clang__
#define OWN_FRAME	__attribute__((noinline, disable_tail_calls))
#else
#define OWN_FRAME	__attribute__((noinline, noclone, optimize("omit-frame-pointer", \
								   "no-optimize-sibling-calls")))
#endif

#define FUNCTION	0x7000ull
#define IDS		(1u << 20)

static struct unwind_cache *cache;
static struct log region;
static struct walk_map self;
static uint64_t self_high;

/* What each stack should have in all. */
static struct sum {
	uint64_t blocks, bytes;
} *expected, *found;

static int init(void)
{
	region_open(512ull << 20, &region);
	cache = calloc(1, sizeof(*cache));
	expected = calloc(IDS, sizeof(*expected));
	found = calloc(IDS, sizeof(*found));
	return !cache || !expected || !found || !self_map_init(&self);
}

static int deinit(void)
{
	self_map_deinit(&self);
	region_close(&region);
	free(cache);
	free(expected);
	free(found);
	return 0;
}

FIXTURE(init, deinit);

static void begin(void)
{
	log_reset(&region);
	memset(cache, 0, sizeof(*cache));
	memset(expected, 0, IDS * sizeof(*expected));
}

EACH(begin, NULL);

/* The stack by a plain walk. */
static uint32_t true_stack(const struct cache_walk *from)
{
	uint64_t pcs[LOG_DEPTH_MAX], reg[4] = { 0, 0, 0, from->bx };
	struct walk_regs regs = { from->pc, from->sp, from->bp, reg, ARRAY_SIZE(reg) };
	struct walk_stack stack = { (const void *)(uintptr_t)from->sp, from->sp, from->high, NULL, NULL,
				    NULL };
	enum walk_end end = WALK_DEPTH;
	uint32_t nr = 1;

	pcs[0] = from->function;
	if (from->depth > 1)
		nr += walk(&(struct walk_start){ from->map, &regs, &stack, from->area, true },
			   pcs + 1, from->depth - 1, &end, NULL);
	return stack_table_insert(&region, pcs, nr, (uint8_t)end, from->map->generation);
}

/* False: it is not the same. */
static bool ask(struct cache_walk *walk, uint64_t bytes)
{
	uint32_t id, want = true_stack(walk);

	walk->setting = cache_setting(walk->map->generation, walk->depth);
	id = unwind_cache_stack(cache, walk);

	unwind_cache_add(cache, &region, id, 1, bytes);
	if (id != want || id >= IDS)
		return false;
	expected[id].blocks++;
	expected[id].bytes += bytes;
	return true;
}

static void add(uint32_t stack, uint64_t blocks, uint64_t bytes, void *ctx)
{
	(void)ctx;
	CU_ASSERT_FATAL(stack && stack < IDS);
	found[stack].blocks += blocks;
	found[stack].bytes += bytes;
}

/* What the index leads to is there, and knows its place. */
static void check_index(void)
{
	for (unsigned i = 0; i < CACHE_INDEX; i++) {
		const struct cache_item *item = &cache->none + (cache->index[i] & UINT16_MAX);

		if (!cache->index[i])
			continue;
		CU_ASSERT_FATAL(item->kind == CACHE_ENTRY || item->kind == CACHE_FORK);
		CU_ASSERT_FATAL(item->place == i);
	}
}

/* Stack table and entries together have what was counted, and nothing else. */
static void check_sums(void)
{
	uint32_t nr = reader_stacks(&region);

	CU_ASSERT_FATAL(nr < IDS);
	memset(found, 0, IDS * sizeof(*found));
	unwind_cache_each(cache, add, NULL);
	for (uint32_t id = 1; id <= nr; id++) {
		struct log_stack_view view = reader_stack(&region, id);

		add(id, view.total, view.total_bytes, NULL);
	}
	CU_ASSERT(!memcmp(found, expected, IDS * sizeof(*found)));
	check_index();
}

/* Real stacks: chains of calls of many kinds of frames, at random. */

static uint64_t random_state;
static uint32_t real_depth;
static volatile unsigned sink;

HERE(ask_here, ask_at);

uint64_t ask_at(uint64_t arg, uint64_t pc, uint64_t sp, uint64_t bp, uint64_t bx)
{
	struct cache_walk walk = {
		.map = &self, .log = &region, .function = FUNCTION + arg, .pc = pc, .sp = sp,
		.bp = bp, .bx = bx, .high = self_high, .depth = real_depth,
	};

	CU_ASSERT_FATAL(ask(&walk, arg + 1));
	return arg;
}

static void chain(int depth, uint64_t way);

static OWN_FRAME void kind_plain(int depth, uint64_t way)
{
	chain(depth - 1, way);
	sink++;
}

static OWN_FRAME void kind_other(int depth, uint64_t way)
{
	chain(depth - 1, way);
	sink += 2;
}

static OWN_FRAME void kind_alloca(int depth, uint64_t way)
{
	volatile char *bytes = alloca(16 + (way & 48));

	bytes[0] = 1;
	chain(depth - 1, way);
	sink += (unsigned char)bytes[0];
}

/* Realigned and of variable size: GCC keeps the argument pointer in the frame (DRAP). */
static OWN_FRAME void kind_drap(int depth, uint64_t way)
{
	_Alignas(64) volatile char aligned[64];
	volatile char *bytes = alloca(16 + (way & 16));

	aligned[0] = bytes[0] = 1;
	chain(depth - 1, way);
	sink += (unsigned char)(aligned[0] + bytes[0]);
}

/* All registers that a callee saves, BP as an ordinary one among them. */
static OWN_FRAME void kind_registers(int depth, uint64_t way)
{
	unsigned a = sink, b = sink, c = sink, d = sink, e = sink, f = sink, g = sink;

	chain(depth - 1, way);
	sink += a * b + c * d + e * f + g;
}

static OWN_FRAME void chain(int depth, uint64_t way)
{
	static void (*const kinds[])(int depth, uint64_t way) = {
		kind_plain, kind_plain, kind_other, kind_other, kind_alloca, kind_drap,
		kind_registers, kind_registers,
	};

	sink++;
	if (depth > 0)
		kinds[way % ARRAY_SIZE(kinds)](depth, way >> 3);
	else
		ask_here(way % 3);
	sink++;
}

/* Some of the ways come again and again. */
static void real(int depth, unsigned nr, uint64_t ways)
{
	self_high = (uint64_t)(uintptr_t)__builtin_frame_address(0) + 256;
	random_state = 99;
	for (unsigned i = 0; i < nr; i++)
		chain((int)(unit_random(&random_state) % (unsigned)depth),
		      unit_random(&random_state) % ways * 0x9e3779b97f4a7c15ull);
}

TEST("real stacks")
{
	static const uint32_t depths[] = { 32, 1, 5, LOG_DEPTH_MAX };

	for (unsigned i = 0; i < ARRAY_SIZE(depths); i++) {
		begin();
		real_depth = depths[i];
		real(10, 20000, 20);
		CU_ASSERT(cache->misses < 2000);
		CU_ASSERT_EQUAL(cache->uncached, 0);
		check_sums();
		/* More than there is room for. */
		real(12, 20000, UINT64_MAX);
		check_sums();
	}
}

/* Recursion up to the depth, and far beyond. */
TEST("recursion")
{
	real_depth = LOG_DEPTH_MAX;
	for (unsigned i = 0; i < 10; i++)
		real(1000, 30, 3);
	CU_ASSERT(cache->misses < 60);
	CU_ASSERT_EQUAL(cache->uncached, 0);
	check_sums();
}

/* Made-up stacks, which can be changed at will: words is the stack. */

static uint64_t words[WORDS];

static uint64_t here(unsigned i)
{
	return (uint64_t)(uintptr_t)&words[i];
}

static struct cache_walk made_up(uint64_t pc, unsigned bp)
{
	return (struct cache_walk){
		.map = &map, .log = &region, .function = FUNCTION, .pc = pc, .sp = here(0),
		.bp = here(bp), .high = here(WORDS), .depth = 32,
		.setting = cache_setting(map.generation, 32),
	};
}

TEST("hits")
{
	struct cache_walk walk = made_up(FRAMED, 3);

	memset(words, 0, sizeof(words));
	words[3] = here(10);
	words[4] = LEAF;
	words[5] = OUTERMOST;
	CU_ASSERT(ask(&walk, 10) && ask(&walk, 20));
	CU_ASSERT_EQUAL(cache->misses, 1);
	/* The saved BP is not used, BP is. */
	words[3] = here(11);
	CU_ASSERT(ask(&walk, 30));
	CU_ASSERT_EQUAL(cache->misses, 1);
	words[13] = LEAF;
	words[14] = OUTERMOST;
	walk.bp = here(12);
	CU_ASSERT(ask(&walk, 40));
	CU_ASSERT_EQUAL(cache->misses, 2);
	/* RBX is not. */
	walk.bx = 5;
	CU_ASSERT(ask(&walk, 50));
	CU_ASSERT_EQUAL(cache->misses, 2);
	check_sums();
}

/* The same return addresses, but a saved BP that leads elsewhere. */
TEST("a saved BP that changed")
{
	struct cache_walk walk = made_up(FRAMED, 2);

	memset(words, 0, sizeof(words));
	words[2] = here(8);
	words[3] = FRAMED;
	words[9] = OUTERMOST;
	words[21] = LEAF;
	words[22] = OUTERMOST;
	for (unsigned i = 0; i < 4; i++) {
		words[2] = here(i % 2 ? 20 : 8);
		CU_ASSERT(ask(&walk, 1));
	}
	/* Both are remembered now, side by side. */
	CU_ASSERT(cache->misses <= 3);
	words[22] = LEAF;
	words[23] = OUTERMOST;
	CU_ASSERT(ask(&walk, 1));
	check_sums();
}

TEST("depth, bounds, function, generation")
{
	static const struct row last = { .pc = 0, .cfa = ROW_CFA_END };
	struct walk_module ends = { CODE, CODE + 0x100, { .row = &last, .nr = 1 } };
	struct walk_map other = { .module = &ends, .nr = 1, .generation = 2 };
	struct cache_walk walk = made_up(LEAF, 0);

	memset(words, 0, sizeof(words));
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = LEAF;
	for (walk.depth = 1; walk.depth < 16; walk.depth++)
		CU_ASSERT(ask(&walk, 1));
	for (unsigned i = 0; i < 12; i++) {
		walk.high = here(i);
		CU_ASSERT(ask(&walk, 1));
	}
	/* Below SP: nothing is readable. */
	walk.high = here(0) - 64;
	CU_ASSERT(ask(&walk, 1));
	CU_ASSERT(ask(&walk, 1));
	walk.high = here(WORDS);
	walk.function++;
	CU_ASSERT(ask(&walk, 1));
	/* With the same hash. */
	walk.function += 1ull << 43;
	CU_ASSERT(ask(&walk, 1));
	walk.map = &other;
	CU_ASSERT(ask(&walk, 1));
	walk.map = &map;
	CU_ASSERT(ask(&walk, 1));
	CU_ASSERT_EQUAL(cache->uncached, 0);
	check_sums();
}

/* A branch on words that are out of bounds now, and not readable. */
TEST("bounds of a branch")
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *stack = (uint64_t *)(void *)(pages + 4096) - 2;
	struct cache_walk walk = made_up(LEAF, 0);

	CU_ASSERT_FATAL((void *)pages != MAP_FAILED);
	walk.sp = (uint64_t)(uintptr_t)stack;
	walk.high = walk.sp + 64;
	for (unsigned i = 0; i < 8; i++)
		stack[i] = LEAF;
	CU_ASSERT(ask(&walk, 1));
	stack[3] = OUTERMOST;
	CU_ASSERT(ask(&walk, 1));
	CU_ASSERT_EQUAL(cache->next_branch, 1);
	CU_ASSERT(ask(&walk, 1));
	CU_ASSERT_EQUAL(cache->misses, 2);
	CU_ASSERT_FATAL(!mprotect(pages + 4096, 4096, PROT_NONE));
	walk.high = walk.sp + 16;
	CU_ASSERT(ask(&walk, 1));
	CU_ASSERT(ask(&walk, 1));
	munmap(pages, 8192);
	check_sums();
}

/* What cannot be told by its slots is walked each time. */
TEST("what cannot be remembered")
{
	static uint64_t many[4 * LOG_DEPTH_MAX];
	struct cache_walk walk = made_up(LEAF, 0);

	memset(words, 0, sizeof(words));
	words[0] = SIGNAL;
	words[1 + 160 / 8] = here(40);
	words[1 + 168 / 8] = OUTERMOST;
	CU_ASSERT(ask(&walk, 1) && ask(&walk, 1));
	CU_ASSERT_EQUAL(cache->uncached, 2);
	CU_ASSERT_EQUAL(cache->misses, 0);
	/* A frame of three words: the CFA is behind it, and read from below BP. */
	for (unsigned i = 0; i + 4 < ARRAY_SIZE(many); i += 3) {
		many[i] = (uint64_t)(uintptr_t)&many[i + 3];
		many[i + 1] = (uint64_t)(uintptr_t)&many[i + 4];
		many[i + 2] = DRAP;
	}
	walk = made_up(DRAP, 0);
	walk.sp = (uint64_t)(uintptr_t)many;
	walk.bp = walk.sp + 8;
	walk.high = (uint64_t)(uintptr_t)&many[ARRAY_SIZE(many)];
	walk.depth = LOG_DEPTH_MAX;
	CU_ASSERT(ask(&walk, 1) && ask(&walk, 1));
	CU_ASSERT_EQUAL(cache->uncached, 4);
	CU_ASSERT_EQUAL(reader_stack(&region, true_stack(&walk)).nr, LOG_DEPTH_MAX);
	check_sums();
}

TEST("without a memo")
{
	struct cache_walk walk = made_up(LEAF, 0);
	uint32_t id;

	for (unsigned i = 0; i < WORDS; i++)
		words[i] = LEAF;
	id = unwind_cache_stack(NULL, &walk);
	unwind_cache_add(NULL, &region, id, 1, 7);
	walk.depth = CACHE_SHALLOW;
	CU_ASSERT_EQUAL(id, true_stack(&walk));
	CU_ASSERT_EQUAL(reader_stack(&region, id).nr, CACHE_SHALLOW);
	CU_ASSERT_EQUAL(reader_stack(&region, id).total, 1);
	CU_ASSERT_EQUAL(reader_stack(&region, id).total_bytes, 7);
	walk.depth = 1;
	id = unwind_cache_stack(NULL, &walk);
	CU_ASSERT_EQUAL(reader_stack(&region, id).nr, 1);
}

/* To ask for a stack counts no block, and finds the same entry. */
TEST("uncounted")
{
	struct cache_walk walk = made_up(LEAF, 0);
	uint32_t id;

	memset(words, 0, sizeof(words));
	id = unwind_cache_stack(cache, &walk);
	CU_ASSERT_EQUAL(id, true_stack(&walk));
	CU_ASSERT_EQUAL(unwind_cache_stack(cache, &walk), id);
	CU_ASSERT_EQUAL(unwind_cache_stack(NULL, &walk), id);
	check_sums();
	CU_ASSERT(ask(&walk, 5));
	CU_ASSERT_EQUAL(cache->misses, 1);
	check_sums();
}

/* No room for a stack: said, counted, and not remembered. */
TEST("a full stack table")
{
	struct cache_walk walk = made_up(LEAF, 0);
	struct log full = region;

	memset(words, 0, sizeof(words));
	full.nr_stacks = 0;
	walk.log = &full;
	CU_ASSERT_EQUAL(unwind_cache_stack(cache, &walk), LOG_STACK_NONE);
	CU_ASSERT_EQUAL(unwind_cache_stack(cache, &walk), LOG_STACK_NONE);
	CU_ASSERT_EQUAL(unwind_cache_stack(NULL, &walk), LOG_STACK_NONE);
	CU_ASSERT_EQUAL(reader_accounts(&region).unstacked, 3);
	CU_ASSERT_EQUAL(cache->misses, 0);
	walk.log = &region;
	CU_ASSERT(ask(&walk, 1));
	check_sums();
}

static uint64_t any_word(uint64_t *state)
{
	static const uint64_t code[] = { LEAF, LEAF, LEAF, PLT, FRAMED, SAVES_BX, BY_BX, DRAP };
	uint64_t r = unit_random(state);

	return r % 3 ? code[(r >> 8) % ARRAY_SIZE(code)] : here((r >> 8) % WORDS);
}

/* A few stacks, again and again, each time with a few words changed behind the back. */
TEST("any stack")
{
	static uint64_t stacks[16][WORDS];
	uint64_t state = 12345;
	struct walk_map generations = map;

	for (unsigned i = 0; i < 16 * WORDS; i++)
		stacks[i / WORDS][i % WORDS] = any_word(&state);
	for (unsigned round = 0; round < 200000; round++) {
		uint64_t r = unit_random(&state);
		struct cache_walk walk = made_up(r & 1 ? LEAF : FRAMED, r >> 1 & 1);

		memcpy(words, stacks[r >> 8 & 15], sizeof(words));
		for (uint64_t changed = r >> 16 & 3; changed > 1; changed--)
			words[unit_random(&state) % 16] = any_word(&state);
		if (!(r >> 20 & 0xfff))
			generations.generation++;
		walk.map = &generations;
		walk.bx = here(r >> 32 & 1);
		walk.sp = here(r >> 34 & 1);
		walk.depth = r >> 36 & 63 ? 32 : 4;
		walk.high = here(r >> 42 & 63 ? WORDS : 5);
		CU_ASSERT_FATAL(ask(&walk, r >> 50));
	}
	CU_ASSERT(cache->misses < 120000);
	CU_ASSERT(cache->misses > 10000);
	check_sums();
}

/*
 * A thread that dies while it puts an entry in leaves the turn odd. The next owner's first entry
 * makes it even again, and another one than before.
 */
TEST("a turn that was left odd")
{
	struct cache_walk walk = made_up(LEAF, 0);

	memset(words, 0, sizeof(words));
	CU_ASSERT_EQUAL(unwind_cache_turn(cache), 0);
	CU_ASSERT(ask(&walk, 1));
	CU_ASSERT_EQUAL(unwind_cache_turn(cache), 2);
	CU_ASSERT(ask(&walk, 1));
	CU_ASSERT_EQUAL(unwind_cache_turn(cache), 2);
	cache->turn = 3;
	walk.function++;
	CU_ASSERT(ask(&walk, 1));
	CU_ASSERT_EQUAL(unwind_cache_turn(cache), 4);
	CU_ASSERT_EQUAL(cache->misses, 2);
	check_sums();
}

static void sum(uint32_t stack, uint64_t blocks, uint64_t bytes, void *ctx)
{
	(void)stack;
	*(uint64_t *)ctx += blocks + bytes;
}

TEST("reset")
{
	uint64_t all = 0;

	real_depth = 32;
	real(10, 1000, 20);
	unwind_cache_each(cache, sum, &all);
	CU_ASSERT(all > 1000);
	unwind_cache_reset(cache);
	log_reset(&region);
	memset(expected, 0, IDS * sizeof(*expected));
	check_sums();
	real(10, 1000, 20);
	check_sums();
}

/* Whatever the target has written there, a reader stays inside and comes to an end. */
TEST("a torn memo")
{
	uint64_t state = 7, all = 0;

	for (unsigned round = 0; round < 300; round++) {
		uint64_t r;

		for (unsigned i = 0; i + 8 <= CACHE_ROOM; i += 8) {
			r = unit_random(&state);
			r = round % 3 ? r & 0xffff0000ffffull : (r & 15) | (r >> 8 & 3) << 32;
			memcpy(cache->room + i, &r, sizeof(r));
		}
		unwind_cache_each(cache, sum, &all);
	}
	unwind_cache_reset(cache);
}
