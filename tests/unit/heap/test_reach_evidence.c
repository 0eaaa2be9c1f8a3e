/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Marking: which words are evidence that a possibly lost block is in use. */

#include "reach_world.h"

enum { NR = 24, STACK = 40, FIRST = 100, STEP = 20, WIDE = 50000 };

/* Add NR blocks of 144 bytes, by their stack, which is 0 behind the first `nr`. */
static void add_blocks(struct world *world, size_t from, size_t nr, uint32_t stack)
{
	for (size_t i = from; i < from + nr; i++)
		push(world, (struct block){ .address = at(FIRST + STEP * i), .size = 144,
					    .stack = stack });
}

/* The words from `word` on point so many bytes behind the start of blocks. */
static void point(struct world *world, size_t word, size_t from, size_t nr, uint64_t offset)
{
	for (size_t i = 0; i < nr; i++)
		world->in.word[word + i] = at(FIRST + STEP * (from + i)) + offset;
}

static enum likely likely_of(const struct world *world, size_t i)
{
	return packed_at(&world->held, i)->likely;
}

static size_t count_likely(const struct world *world, enum likely likely)
{
	size_t nr = 0;

	for (size_t i = 0; i < world->held.nr; i++)
		nr += likely_of(world, i) == likely;
	return nr;
}

TEST("words of stacks are none")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	add_blocks(&world, 0, NR, 1);
	point(&world, STACK, 0, NR, 16);
	run(&world);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_OFFSET), NR);
	world.stack[0] = (struct reach_range){ at(STACK), at(ROOT) };
	run(&world);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_NOT), NR);
	CU_ASSERT_EQUAL(kind_of(&world, 0), LEAK_POSSIBLE);
	/* Nor are the words of a block that a word of a stack holds. */
	world_close(&world);
	world_open(&world);
	add_blocks(&world, 0, NR, 1);
	push(&world, (struct block){ .address = at(5000), .size = 8 * NR, .stack = 2 });
	point(&world, 5000, 0, NR, 16);
	world.in.word[STACK] = at(5000);
	world.stack[0] = (struct reach_range){ at(STACK), at(ROOT) };
	run(&world);
	CU_ASSERT_EQUAL(kind_of(&world, NR), LEAK_REACHABLE);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_OFFSET), 0);
}

/* A block in which there are pointers to all is reachable, possibly lost, and lost. */
TEST("words of lost blocks are none")
{
	CLEANUP(world_close) struct world world;

	world_open(&world);
	add_blocks(&world, 0, NR, 1);
	push(&world, (struct block){ .address = at(5000), .size = 8 * NR, .stack = 2 });
	point(&world, 5000, 0, NR, 16);
	world.in.word[0] = at(5000);
	run(&world);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_OFFSET), NR);
	world.in.word[0] = at(5000) + 4;
	run(&world);
	CU_ASSERT_EQUAL(kind_of(&world, 0), LEAK_POSSIBLE);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_NOT), NR + 1);
	/* A word of each is stale: they are possibly lost. */
	world.in.word[0] = at(FIRST) + 52;
	run(&world);
	CU_ASSERT_EQUAL(kind_of(&world, NR), LEAK_DEFINITE);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_NOT), NR + 1);
}

/* The pointers from one to the next are where all are pointed to: the whole list is in use. */
TEST("a list of them")
{
	enum { LIST = 2000 };
	CLEANUP(world_close) struct world world;

	world_open(&world);
	add_blocks(&world, 0, LIST, 1);
	point(&world, 0, LIST - 16, 16, 16);
	for (size_t i = 1; i < LIST; i++)
		world.in.word[FIRST + STEP * i + 3] = at(FIRST + STEP * (i - 1)) + 16;
	/* Sixteen are too few to say it for two thousand. */
	run(&world);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_OFFSET), 0);
	world_close(&world);
	world_open(&world);
	add_blocks(&world, 0, 120, 1);
	point(&world, 0, 104, 16, 16);
	for (size_t i = 1; i < 104; i++)
		world.in.word[FIRST + STEP * i + 3] = at(FIRST + STEP * (i - 1)) + 16;
	world.in.word[FIRST + STEP * 104 + 3] = at(FIRST + STEP * 103) + 16;
	run(&world);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_OFFSET), 120);
}

/* Each is of another site, and nothing but its form says that it is one of these. */
TEST("a list over many sites")
{
	enum { LIST = 30 };
	CLEANUP(world_close) struct world world;

	world_open(&world);
	for (uint32_t i = 0; i < LIST; i++) {
		add_blocks(&world, i, 1, 4 * i);
		world.in.word[FIRST + STEP * i] = 144 - 16;
		world.in.word[FIRST + STEP * i + 3] = at(FIRST + STEP * (i + 1)) + 16;
	}
	world.in.word[0] = at(FIRST) + 16;
	run(&world);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_FORM), LIST);
	CU_ASSERT_EQUAL_FATAL(world.result.offsets.nr, LIST);
	CU_ASSERT_EQUAL(world.result.offsets.at[LIST - 1].form, FORM_SIZED);
	/* One in the middle has none. */
	world.in.word[FIRST + STEP * 20] = 1;
	run(&world);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_FORM), 20);
}

/* Slabs of a pool are linked far behind their start; the pool itself has the first of each list. */
TEST("links between slabs")
{
	enum { SLAB = 4096, HEADS = 8 };
	CLEANUP(world_close) struct world world;

	world_open(&world);
	for (size_t i = 0; i < 2 * HEADS; i++)
		push(&world, (struct block){ .address = at(1000) + SLAB * i, .size = SLAB,
					     .stack = 1 });
	for (size_t i = 0; i < HEADS; i++) {
		uint64_t head = at(1000) + SLAB * 2 * i;

		world.in.word[i] = head + 4048;
		world.in.word[(head + 4064 - BASE) / 8] = head + SLAB + 4048;
	}
	run(&world);
	for (size_t i = 0; i < 2 * HEADS; i++)
		CU_ASSERT_EQUAL(likely_of(&world, i), i % 2 ? LIKELY_NOT : LIKELY_OFFSET);
}

/* Four stacks get their blocks by one function, and one by another. */
TEST("the function that adds the header")
{
	enum { EACH = 4 };
	CLEANUP(world_close) struct world world;

	world_open(&world);
	for (uint32_t i = 0; i < 5; i++)
		add_blocks(&world, i * EACH, EACH, 4 + i);
	point(&world, 0, 0, 5 * EACH, 16);
	run(&world);
	for (size_t i = 0; i < 5 * EACH; i++)
		CU_ASSERT_EQUAL(likely_of(&world, i), i < 4 * EACH ? LIKELY_OFFSET : LIKELY_NOT);
}

/* Others of the site are pointed to at their start, or not at all: then there is no header. */
TEST("most of the site")
{
	CLEANUP(world_close) struct world world;

	for (int reachable = 0; reachable < 2; reachable++) {
		world_open(&world);
		add_blocks(&world, 0, 3 * NR, 1);
		point(&world, 0, 0, NR, 16);
		if (reachable)
			point(&world, NR, NR, NR, 0);
		run(&world);
		CU_ASSERT_EQUAL(count_likely(&world, LIKELY_OFFSET), 0);
		CU_ASSERT_EQUAL(kind_of(&world, 2 * NR - 1),
				reachable ? LEAK_REACHABLE : LEAK_DEFINITE);
		world_close(&world);
	}
	world_open(&world);
	add_blocks(&world, 0, 2 * NR, 1);
	point(&world, 0, 0, NR, 16);
	run(&world);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_OFFSET), NR);
}

/* Links of two words at byte 24 of blocks, of each to the next one and the one before; the last has the first. */
static void link_ring(struct world *world, const uint64_t *links, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint64_t *link = &world->in.word[(links[i] - at(0)) / 8];

		link[0] = links[(i + nr - 1) % nr];
		link[1] = links[(i + 1) % nr];
	}
}

TEST("members of lists of two links")
{
	enum { MEMBERS = 3, HEAD = 10 };
	CLEANUP(world_close) struct world world;
	uint64_t links[MEMBERS + 1] = { at(HEAD) };

	world_open(&world);
	add_blocks(&world, 0, MEMBERS, 1);
	for (size_t i = 0; i < MEMBERS; i++)
		links[i + 1] = at(FIRST + STEP * i) + 24;
	link_ring(&world, links, MEMBERS + 1);
	run(&world);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_LINKED), MEMBERS);
	/* A ring without a head that something points into, ... */
	link_ring(&world, links + 1, MEMBERS);
	world.in.word[HEAD] = links[1];
	world.in.word[HEAD + 1] = 0;
	run(&world);
	CU_ASSERT_EQUAL(kind_of(&world, 0), LEAK_POSSIBLE);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_NOT), MEMBERS);
	/* ... and a member that was taken out, to which its neighbours do not point any more. */
	link_ring(&world, links, MEMBERS + 1);
	world.in.word[HEAD + 1] = links[2];
	run(&world);
	CU_ASSERT_EQUAL(likely_of(&world, 0), LIKELY_NOT);
	CU_ASSERT_EQUAL(likely_of(&world, 1), LIKELY_LINKED);
	/* A head in a frame may be dead. */
	memset(&world.in.word[HEAD], 0, 16);
	links[0] = at(STACK);
	link_ring(&world, links, MEMBERS + 1);
	world.stack[0] = (struct reach_range){ at(STACK), at(ROOT) };
	run(&world);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_LINKED), 0);
}

TEST("members of lists that end with their link")
{
	enum { MEMBERS = 3, LINK = 17 };	/* word 17 of 18 */
	CLEANUP(world_close) struct world world;
	uint64_t *last;

	world_open(&world);
	add_blocks(&world, 0, MEMBERS, 1);
	point(&world, 0, 0, 1, 8 * LINK);
	for (size_t i = 0; i + 1 < MEMBERS; i++)
		point(&world, FIRST + STEP * i + LINK, i + 1, 1, 8 * LINK);
	run(&world);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_LINKED), MEMBERS);
	/* At the end of a text, or of an array of pointers, a loop may have ended. */
	last = &world.in.word[FIRST + STEP * (MEMBERS - 1) + LINK - 1];
	memcpy(last, "the end.", sizeof(*last));
	run(&world);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_LINKED), MEMBERS - 1);
	*last = at(2000);
	run(&world);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_LINKED), MEMBERS - 1);
	*last = 0x2020200000000000;
	run(&world);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_LINKED), MEMBERS);
	/* Elsewhere in a block, a 0 says nothing. */
	point(&world, 0, 0, 1, 8 * LINK - 8);
	run(&world);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_LINKED), 0);
}

/*
 * Where a chunk of glibc's may begin, behind the last word of a block: a list of the program's leads there, from outside
 * of all blocks or from the same place of another one; what lists of free chunks have left over does not.
 */
TEST("a list that ends where a chunk begins")
{
	enum { MEMBERS = 3, LINK = 16, OTHER = MEMBERS };
	CLEANUP(world_close) struct world world;

	world_open(&world);
	for (size_t i = 0; i <= OTHER; i++)
		push(&world, (struct block){ .address = at(FIRST + STEP * i), .size = 8 * LINK + 8, .stack = 1 });
	point(&world, 0, 0, 1, 8 * LINK);
	point(&world, 1, OTHER, 1, 0);
	for (size_t i = 0; i + 1 < MEMBERS; i++)
		point(&world, FIRST + STEP * i + LINK, i + 1, 1, 8 * LINK);
	run(&world);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_LINKED), MEMBERS);
	/* From the first word of the other block, and not from a list's head any more. */
	point(&world, FIRST + STEP * OTHER, MEMBERS - 1, 1, 8 * LINK);
	world.in.word[0] = 0;
	run(&world);
	CU_ASSERT_EQUAL(kind_of(&world, MEMBERS - 1), LEAK_POSSIBLE);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_LINKED), 0);
	point(&world, 0, MEMBERS - 1, 1, 8 * LINK);
	run(&world);
	CU_ASSERT_EQUAL(likely_of(&world, MEMBERS - 1), LIKELY_LINKED);
}

/* A table of 64 entries, with the only pointers to blocks. Returns the address of its control bytes. */
static uint64_t add_table(struct world *world, size_t word)
{
	enum { BUCKETS = 64 };

	push(world, (struct block){ .address = at(word), .size = 8 * BUCKETS + BUCKETS + 16,
				    .stack = 1 });
	memset(&world->in.word[word + BUCKETS], 0xff, BUCKETS + 16);
	for (size_t i = 0; i < NR; i++) {
		((uint8_t *)&world->in.word[word + BUCKETS])[20 + i] = (uint8_t)i;
		world->in.word[word + 10 + i] = at(FIRST + STEP * i);
	}
	return at(word + BUCKETS);
}

TEST("a hash table")
{
	CLEANUP(world_close) struct world world;
	uint64_t control;

	world_open(&world);
	add_blocks(&world, 0, NR, 2);
	control = add_table(&world, 5000);
	world.in.word[0] = control;
	run(&world);
	CU_ASSERT_EQUAL(likely_of(&world, NR), LIKELY_FORM);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_VIA), NR);
	CU_ASSERT_EQUAL_FATAL(world.result.offsets.nr, 1);
	CU_ASSERT_EQUAL(world.result.offsets.at[0].form, FORM_TABLE);
	/* Its head on a stack has the mask as well; a word alone may be dead. */
	world.in.word[0] = 0;
	world.in.word[STACK + 4] = control;
	world.stack[0] = (struct reach_range){ at(STACK), at(ROOT) };
	run(&world);
	CU_ASSERT_EQUAL(likely_of(&world, NR), LIKELY_NOT);
	world.in.word[STACK + 5] = 63;
	run(&world);
	CU_ASSERT_EQUAL(likely_of(&world, NR), LIKELY_FORM);
	CU_ASSERT_EQUAL(count_likely(&world, LIKELY_VIA), NR);
	CU_ASSERT_NOT_EQUAL(reach_holder(&world.result, NR), REACH_NO_HOLDER);
	/* A block that a stack holds has it. */
	world.in.word[STACK + 4] = at(6000);
	push(&world, (struct block){ .address = at(6000), .size = 64, .stack = 3 });
	world.in.word[6001] = control;
	run(&world);
	CU_ASSERT_EQUAL(likely_of(&world, NR), LIKELY_FORM);
}

/* A table of virtual functions at 201, of a type whose name is at 220; functions are at 300. */
static void name_type(struct world *world, const char *name)
{
	world->code[0] = (struct reach_range){ at(30000), at(30010) };
	world->in.word[40000] = at(40010);		/* the type */
	world->in.word[40001] = at(30000);
	world->in.word[40011] = at(40020);
	strcpy((char *)&world->in.word[40020], name);
}

/* Blocks with a table of functions and two counts before what is pointed to. */
TEST("objects of make_shared")
{
	static const struct {
		const char *name;
		bool shared;
	} cases[] = {
		{ "St23_Sp_counted_ptr_inplaceI7SessionSaIvELN9__gnu_cxx12_Lock_policyE2EE", true },
		{ "*NSt3__120__shared_ptr_emplaceI7SessionNS_9allocatorIS1_EEEE", true },
		{ "7Session", false },
		{ NULL, true },		/* there are no names of types */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(world_close) struct world world;

		world_open(&world);
		name_type(&world, cases[i].name ? cases[i].name : "");
		if (!cases[i].name)
			world.in.word[40000] = 0;
		add_blocks(&world, 0, NR, 1);
		point(&world, 0, 0, NR, 16);
		for (size_t k = 0; k < NR; k++) {
			world.in.word[FIRST + STEP * k] = at(40001);
			world.in.word[FIRST + STEP * k + 1] = 1ull << 32 | 1;
		}
		run(&world);
		CU_ASSERT_EQUAL(kind_of(&world, 0), LEAK_POSSIBLE);
		CU_ASSERT_EQUAL(count_likely(&world, LIKELY_NOT), cases[i].shared ? NR : 0);
	}
}
