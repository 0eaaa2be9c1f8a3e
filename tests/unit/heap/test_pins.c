/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Free bytes are charged to the blocks on their pages. */

#include "heap/pins.h"
#include "os/page_runs.h"
#include "unit.h"

#define BASE	0x100000ull
#define NR	64u		/* pages */

static struct heap_walk walk;
static struct page_runs pages;
static struct packed_list held;
static struct pins pins;
static uint64_t end;		/* where the next chunk begins */

/* A chunk up to `to`; a block of a stack, or one that is in no record (0), or free. */
static void chunk(enum chunk_kind kind, uint64_t to, uint32_t stack)
{
	struct heap_chunk is = { .address = end + 16, .size = BASE + to - end, .kind = kind };
	const struct block block = { .address = is.address, .size = is.size - 20, .stack = stack };
	bool new_run;

	is.note = kind != CHUNK_USED ? NOTE_NONE : stack ? NOTE_RECORDED : NOTE_EARLY;
	end = BASE + to;
	if (heap_chunks_add(&walk.chunks, &is, &new_run) ||
	    (is.note == NOTE_RECORDED && packed_add(&held, &block)))
		abort();
}

/*
 * Four pages: on the first one two blocks of stack 1 and one of stack 2, on the second one of stack 1,
 * on the third one without a record, and the fourth is full of stack 1's.
 */
static int setup(void)
{
	end = BASE;
	if (vec_push(&walk.arenas, ((struct heap_arena){ .main = true, .brk = true })) ||
	    vec_push(&pages.vec, ((struct page_run){ BASE, BASE + NR * 0x1000, false })))
		return 1;
	chunk(CHUNK_USED, 0x20, 1);
	chunk(CHUNK_FREE, 0x200, 0);
	chunk(CHUNK_USED, 0x220, 1);
	chunk(CHUNK_FREE, 0x400, 0);
	chunk(CHUNK_USED, 0x440, 2);
	chunk(CHUNK_FREE, 0x1800, 0);
	chunk(CHUNK_USED, 0x1820, 1);
	chunk(CHUNK_FREE, 0x2200, 0);
	chunk(CHUNK_USED, 0x2250, 0);
	chunk(CHUNK_FREE, 0x3000, 0);
	chunk(CHUNK_USED, 0x4000, 1);
	chunk(CHUNK_USED, 0x4200, 2);
	return packed_sort(&held, NULL) ? 1 : 0;
}

static int teardown(void)
{
	heap_chunks_free(&walk.chunks);
	vec_free(&walk.arenas);
	page_runs_free(&pages);
	packed_free(&held);
	pins_free(&pins);
	return 0;
}

FIXTURE(setup, teardown);

/* Odd stacks are one function. */
static uint64_t function_of(void *ctx UNUSED, uint32_t stack, enum site_by by UNUSED)
{
	return stack % 2 + 100;
}

static struct pins_source source(enum pin_by by)
{
	return (struct pins_source){
		.walk = &walk, .pages = &pages, .held = &held, .by = by,
		.moment = { .until = UINT64_MAX, .complete = true }, .key_of = function_of,
	};
}

static void build(const struct pins_source *is)
{
	pins_free(&pins);
	pins = (struct pins)PINS_INIT;
	CU_ASSERT_PTR_NULL_FATAL(pins_build(is, &pins));
}

#define FIRST	(0x1000u - 0x20 - 0x20 - 0x40)	/* free bytes of the first page */

TEST("all blocks on a page share its free bytes")
{
	struct pins_source is = source(PIN_STACK);
	const struct pin *one, *none, *two;

	build(&is);
	CU_ASSERT_EQUAL_FATAL(pins.vec.nr, 3);
	one = &pins.vec.at[0];
	none = &pins.vec.at[1];
	two = &pins.vec.at[2];
	CU_ASSERT_EQUAL(FIRST % 3, 2);
	CU_ASSERT_TRUE(one->key == 1 && one->stack == 1 && !one->preattach);
	CU_ASSERT_EQUAL(one->bytes, 2 * (FIRST / 3) + 2 + 0xfe0);
	CU_ASSERT_TRUE(one->pages == 2 && one->count == 3 && one->held == 3 * 12);
	CU_ASSERT_TRUE(two->key == 2 && two->bytes == FIRST / 3 && two->pages == 1 && two->count == 1);
	CU_ASSERT_TRUE(none->preattach && none->key == 0x48 && none->stack == LOG_STACK_NONE);
	CU_ASSERT_EQUAL(none->bytes, 0x200 + 0xdb0);
	CU_ASSERT_EQUAL(pins.bytes, pins.space.all.kept[FREE_PINNED]);
	CU_ASSERT_EQUAL(pins.bytes, one->bytes + two->bytes + none->bytes);
}

/* Two objects lie in the block of stack 2 on the first page, and one in the last block. */
TEST("objects of a pool keep its block")
{
	const struct block object[] = {
		{ .address = BASE + 0x410, .size = 8, .stack = 5, .heap = LOG_HEAP_USER },
		{ .address = BASE + 0x420, .size = 8, .stack = 6, .heap = LOG_HEAP_USER },
		{ .address = BASE + 0x4010, .size = 16, .stack = 5, .heap = LOG_HEAP_USER },
	};
	struct pins_source is = source(PIN_STACK);
	struct free_space space = FREE_SPACE_INIT;
	uint32_t third = FIRST / 3;

	for (unsigned i = 0; i < 3; i++)
		CU_ASSERT_PTR_NULL_FATAL(packed_add(&held, &object[i]));
	CU_ASSERT_PTR_NULL_FATAL(packed_sort(&held, NULL));
	CU_ASSERT_EQUAL_FATAL(held.nr - held.nr_outer, 3);
	build(&is);
	CU_ASSERT_EQUAL_FATAL(pins.vec.nr, 4);
	CU_ASSERT_TRUE(pins.vec.at[2].key == 5 && pins.vec.at[2].bytes == third / 2 + third % 2);
	CU_ASSERT_TRUE(pins.vec.at[2].count == 1 && pins.vec.at[2].held == 8);
	CU_ASSERT_TRUE(pins.vec.at[3].key == 6 && pins.vec.at[3].bytes == third / 2);
	CU_ASSERT_EQUAL(pins.bytes, pins.space.all.kept[FREE_PINNED]);
	/* The block goes with both of its objects. */
	CU_ASSERT_PTR_NULL_FATAL(pins_without(&is, &pins, 3, &space));
	CU_ASSERT_NOT_EQUAL(space.all.kept[FREE_PINNED], 0);
	free_space_free(&space);
	space = (struct free_space)FREE_SPACE_INIT;
	CU_ASSERT_PTR_NULL_FATAL(pins_without(&is, &pins, 4, &space));
	CU_ASSERT_EQUAL(space.all.kept[FREE_PINNED], 0);
	free_space_free(&space);
	held.nr = held.nr_outer;
}

TEST("by function, size and heap")
{
	struct pins_source is = source(PIN_FUNCTION);

	build(&is);
	CU_ASSERT_TRUE(pins.vec.nr == 3 && pins.vec.at[0].key == 101 && pins.vec.at[2].key == 100);
	is.by = PIN_SIZE;
	build(&is);
	CU_ASSERT_TRUE(pins.vec.nr == 3 && pins.vec.at[0].key == 12 && pins.vec.at[2].key == 44);
	is.by = PIN_HEAP;
	build(&is);
	CU_ASSERT_EQUAL_FATAL(pins.vec.nr, 1);
	CU_ASSERT_TRUE(pins.vec.at[0].count == 5 && pins.vec.at[0].pages == 3 && pins.vec.at[0].stack == 1);
}

TEST("what a filter does not keep is charged to others")
{
	struct filter filter = { VEC_INIT };
	const struct filter_env env = { .now_ns = 0 };
	struct pins_source is = source(PIN_STACK);

	CU_ASSERT_PTR_NULL_FATAL(vec_push(&filter.conds, ((struct filter_cond){
		.attr = FILTER_SIZE, .relop = FILTER_EQ, .number = 44 })));
	is.filter = &filter;
	is.env = &env;
	build(&is);
	CU_ASSERT_TRUE(pins.vec.nr == 1 && pins.vec.at[0].key == 2);
	CU_ASSERT_EQUAL(pins.bytes + pins.others, pins.space.all.kept[FREE_PINNED]);
	filter_free(&filter);
}

TEST("what would be without the blocks of the first ones")
{
	struct pins_source is = source(PIN_STACK);
	struct free_space space = FREE_SPACE_INIT;

	build(&is);
	CU_ASSERT_EQUAL(pins.space.all.kept[FREE_TRIMMED], 0);
	CU_ASSERT_PTR_NULL_FATAL(pins_without(&is, &pins, 1, &space));
	/* The second page; the full one has the links of its own chunk. */
	CU_ASSERT_EQUAL(space.all.kept[FREE_TRIMMED], 0x1000 + 0x1000);
	free_space_free(&space);
	space = (struct free_space)FREE_SPACE_INIT;
	CU_ASSERT_PTR_NULL_FATAL(pins_without(&is, &pins, 3, &space));
	CU_ASSERT_EQUAL(space.all.kept[FREE_PINNED], 0);
	free_space_free(&space);
}
