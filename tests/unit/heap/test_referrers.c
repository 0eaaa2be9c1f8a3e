/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who points to a block: roots, blocks, inner pointers, nested blocks, limits, memory that cannot be read. */

#include <string.h>

#include "fixture.h"
#include "heap/reach/referrers.h"
#include "words.h"

struct world {
	struct words in;
	struct packed_list held;
	uint64_t reg[2];
	struct reach_range heap;
	struct referrers referrers;
};

static void world_open(struct world *world)
{
	memset(world, 0, sizeof(*world));
	words_open(&world->in);
}

static void world_close(struct world *world)
{
	free(world->in.word);
	packed_free(&world->held);
	referrers_free(&world->referrers);
}

static void add(struct world *world, size_t word, uint64_t size)
{
	if (packed_add(&world->held, &(struct block){ .address = at(word), .size = size }))
		abort();
}

static void add_user(struct world *world, size_t word, uint64_t size)
{
	if (packed_add(&world->held, &(struct block){ .address = at(word), .size = size,
						    .heap = LOG_HEAP_USER }))
		abort();
}

/* Inner pointers from the root's first word are firm. */
static bool first_word(void *ctx UNUSED, const struct referrer *referrer)
{
	return referrer->in == WORD_ROOT && referrer->place == at(0);
}

static void find(struct world *world, uint64_t address, size_t limit)
{
	const struct reach_range root = { BASE, at(ROOT) };
	const struct reach_source source = {
		.memory = &world->in.memory,
		.list = &world->held,
		.root = &root, .nr_roots = 1,
		.heap = &world->heap, .nr_heaps = world->heap.end ? 1 : 0,
		.word = world->reg, .nr_words = 2,
		.next_mapped = words_mapped,
	};
	const struct referrers_spec spec = { .address = address, .otherwise = at(100),
					   .limit = limit, .is_firm = first_word };

	referrers_free(&world->referrers);
	CU_ASSERT_PTR_NULL_FATAL(packed_sort(&world->held, NULL));
	CU_ASSERT_PTR_NULL_FATAL(referrers_find(&source, &spec, &world->referrers));
}

/* "r3 h70 b1:5" and so on: registers, roots, heap by word, blocks by number and word. */
static void check_list(const struct referrer *referrer, size_t nr, const char *want)
{
	char got[256] = "";

	for (size_t i = 0; i < nr; i++) {
		char *end = got + strlen(got);
		size_t room = sizeof(got) - (size_t)(end - got);
		uint64_t word = (referrer[i].place - BASE) / 8;

		switch (referrer[i].in) {
		case WORD_ALONE:
			snprintf(end, room, " w%d", (int)referrer[i].place);
			break;
		case WORD_ROOT:
			snprintf(end, room, " r%d", (int)word);
			break;
		case WORD_HEAP:
			snprintf(end, room, " h%d", (int)word);
			break;
		default:
			snprintf(end, room, " b%u:%d", referrer[i].block, (int)word);
			break;
		}
	}
	if (strcmp(got + (*got != 0), want))
		fprintf(stderr, "got%s, want %s\n", got, want);
	CU_ASSERT_STRING_EQUAL(got + (*got != 0), want);
}

static void check(const struct world *world, const char *firm, const char *inner)
{
	check_list(world->referrers.firm.at, world->referrers.firm.nr, firm);
	check_list(world->referrers.inner.at, world->referrers.inner.nr, inner);
}

TEST("places")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	add(&world, 100, 80);
	add(&world, 200, 80);
	add(&world, 300, 80);
	world.heap = (struct reach_range){ at(190), at(320) };
	world.reg[1] = at(100);
	world.in.word[3] = at(100);
	world.in.word[4] = at(101);
	world.in.word[0] = at(102);	/* as first_word says */
	world.in.word[5] = at(110);	/* behind its end */
	world.in.word[195] = at(100);	/* between blocks of a heap */
	world.in.word[205] = at(100);
	world.in.word[309] = at(109) + 7;
	world.in.word[310] = at(100);	/* behind the block, in the heap */
	world.in.word[350] = at(100);	/* nowhere */
	world.in.word[105] = at(100);	/* in itself */
	world.in.word[106] = at(103);
	find(&world, at(100), 20);
	check(&world, "w1 r0 r3 h195 h310 b1:205", "r4 b2:309");
	CU_ASSERT_EQUAL(world.referrers.block, 0);
	CU_ASSERT_EQUAL(world.referrers.outer, REFERRERS_NO_BLOCK);
	CU_ASSERT_EQUAL(world.referrers.own, 2);
	CU_ASSERT_EQUAL(world.referrers.firm.at[0].word, at(100));
	CU_ASSERT_EQUAL(world.referrers.inner.at[1].word, at(109) + 7);
	/* From the inside it is the same block; behind it that of `otherwise`. */
	find(&world, at(109) + 7, 20);
	CU_ASSERT_EQUAL(world.referrers.nr_firm, 6);
	find(&world, at(110), 20);
	CU_ASSERT_EQUAL(world.referrers.block, 0);
	find(&world, at(200), 20);
	check(&world, "", "");
}

TEST("limit")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	add(&world, 100, 80);
	for (unsigned i = 1; i < 31; i++)
		world.in.word[i] = at(i % 3 ? 100 : 105);
	find(&world, at(100), 4);
	check(&world, "r1 r2 r4 r5", "r3 r6 r9 r12");
	CU_ASSERT_EQUAL(world.referrers.nr_firm, 20);
	CU_ASSERT_EQUAL(world.referrers.nr_inner, 10);
	find(&world, at(100), 0);
	check(&world, "", "");
	CU_ASSERT_EQUAL(world.referrers.nr_firm, 20);
}

/* No size, odd sizes; and no block at all. */
TEST("edges")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	world.reg[0] = at(100);
	find(&world, at(100), 20);
	CU_ASSERT_EQUAL(world.referrers.block, REFERRERS_NO_BLOCK);
	check(&world, "", "");
	add(&world, 100, 0);
	add(&world, 102, 12);		/* its last whole word is the first */
	add(&world, 104, 1);
	world.in.word[102] = world.in.word[103] = world.in.word[104] = at(100);
	find(&world, at(100), 20);
	check(&world, "w0 b1:102", "");
	world.in.word[1] = at(100) + 1;
	find(&world, at(100), 20);
	check(&world, "w0 b1:102", "");
}

TEST("nested")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	add(&world, 100, 800);
	add(&world, 300, 80);
	add_user(&world, 100, 32);
	add_user(&world, 120, 32);
	world.in.word[1] = at(100);
	world.in.word[2] = at(120);
	world.in.word[3] = at(150);
	world.in.word[121] = at(300);
	find(&world, at(100), 20);
	CU_ASSERT_EQUAL(world.referrers.block, 2);
	CU_ASSERT_EQUAL(world.referrers.outer, 0);
	check(&world, "r1", "");
	/* The outer one's own memory; as marking has it, a pointer to what starts inside is as good. */
	find(&world, at(150), 20);
	CU_ASSERT_EQUAL(world.referrers.block, 0);
	check(&world, "r1 r2", "r3");
	find(&world, at(300), 20);
	check(&world, "b3:121", "");
	/* One that goes on behind the outer one's end. */
	add_user(&world, 190, 160);
	world.in.word[3] = at(205);
	find(&world, at(150), 20);
	check(&world, "r1 r2", "r3");
}

/* An array's cookie: the pointer behind it is as good as one to the start. */
TEST("heuristic")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	add(&world, 100, 88);
	world.in.word[100] = 10;		/* elements */
	world.in.word[1] = at(101);
	world.in.word[2] = at(102);
	find(&world, at(100), 20);
	check(&world, "r1", "r2");
}

TEST("unread")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	add(&world, 100, 80);
	add(&world, 600, 80000);
	world.in.hole = BASE + 0x2000;
	world.in.hole_end = BASE + 0x4000;
	world.in.word[700] = at(100);
	world.in.word[1100] = at(100);	/* in the hole */
	world.in.word[3000] = at(100);
	find(&world, at(100), 20);
	check(&world, "b1:700 b1:3000", "");
	CU_ASSERT_EQUAL(world.referrers.unread_blocks.bytes, 0x2000);
	CU_ASSERT_EQUAL(world.referrers.unread_blocks.last.start, BASE + 0x2000);
	CU_ASSERT_EQUAL(world.referrers.unread_blocks.last.end, BASE + 0x4000);
	/* A size that is wrong leads far beyond all memory. */
	add(&world, 20000, 1ull << 60);
	find(&world, at(100), 20);
	check(&world, "b1:700 b1:3000", "");
}

/* Blocks that are in no mapping take no read. */
TEST("unmapped")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	add(&world, 100, 80);
	world.in.word[5] = at(100);
	for (size_t i = 0; i < 1000; i++)
		add(&world, 1ull << 40 | i << 20, 80);
	find(&world, at(100), 20);
	check(&world, "r5", "");
	CU_ASSERT(world.in.reads < 8);
	CU_ASSERT_EQUAL(world.referrers.unread_blocks.bytes, 1000 * 80);
}
