/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Free memory by what keeps its pages. */

#include "heap/free_space.h"
#include "os/page_runs.h"
#include "unit.h"

#define BASE	0x100000ull
#define NR	256u		/* pages */

static struct heap_walk walk;
static struct page_runs pages;
static struct free_space space;
static uint64_t end;		/* where the next chunk begins */

static int setup(void)
{
	static const struct heap_arena main_arena = { .main = true, .brk = true };

	end = BASE;
	if (vec_push(&walk.arenas, main_arena) || vec_push(&walk.arenas, (struct heap_arena){ .main = false }))
		return 1;
	return vec_push(&pages.vec, ((struct page_run){ BASE, BASE + NR * 0x1000, false })) ? 1 : 0;
}

static int teardown(void)
{
	heap_chunks_free(&walk.chunks);
	vec_free(&walk.arenas);
	vec_free(&walk.spans);
	page_runs_free(&pages);
	free_space_free(&space);
	return 0;
}

FIXTURE(setup, teardown);

static void chunk_in(uint16_t heap, enum chunk_kind kind, uint64_t to)
{
	const struct heap_chunk chunk = { .address = end + 16, .size = to - end, .heap = heap,
					  .kind = kind };
	bool new_run;

	CU_ASSERT_PTR_NULL_FATAL(heap_chunks_add(&walk.chunks, &chunk, &new_run));
	end = to;
}

static void chunk(enum chunk_kind kind, uint64_t to)
{
	chunk_in(0, kind, BASE + to);
}

static void begin(void)
{
	heap_chunks_free(&walk.chunks);
	end = BASE;
}

static void add_up_with(struct free_space_source *source)
{
	source->walk = &walk;
	source->pages = &pages;
	free_space_free(&space);
	space = (struct free_space)FREE_SPACE_INIT;
	CU_ASSERT_PTR_NULL_FATAL(free_space_add_up(source, &space));
}

static void add_up(uint64_t brk)
{
	struct free_space_source source = { .brk = brk };

	add_up_with(&source);
}

static void expect(uint64_t trimmed, uint64_t pinned, uint64_t at_end, uint64_t cached, uint64_t header)
{
	CU_ASSERT_EQUAL(space.all.kept[FREE_TRIMMED], trimmed);
	CU_ASSERT_EQUAL(space.all.kept[FREE_PINNED], pinned);
	CU_ASSERT_EQUAL(space.all.kept[FREE_END], at_end);
	CU_ASSERT_EQUAL(space.all.kept[FREE_CACHED], cached);
	CU_ASSERT_EQUAL(space.all.kept[FREE_HEADER], header);
	CU_ASSERT_EQUAL(space.all.resident, trimmed + pinned + at_end + cached + header);
}

TEST("whole pages inside a free chunk go, those with a live block do not")
{
	begin();
	chunk(CHUNK_USED, 0x40);
	chunk(CHUNK_FREE, 0x4040);
	chunk(CHUNK_USED, 0x4060);
	add_up(0);
	expect(0x3000, 0x1000, 0, 0, 0);
	CU_ASSERT_EQUAL(space.all.bytes, 0x4000);
	CU_ASSERT_EQUAL(space.all.pinned_pages, 2);
}

TEST("the links of a free chunk keep a page that nothing else is on")
{
	begin();
	chunk(CHUNK_USED, 0x1fe0);
	chunk(CHUNK_FREE, 0x4020);
	chunk(CHUNK_USED, 0x4040);
	add_up(0);
	expect(0x1000, 0x40, 0, 0, 0x1000);
}

TEST("a live block reaches into the next chunk")
{
	begin();
	chunk(CHUNK_USED, 0x1000);
	chunk(CHUNK_FREE, 0x3000);
	chunk(CHUNK_USED, 0x3020);
	add_up(0);
	/* The first page of the free chunk has a word of the block in front of it. */
	expect(0x1000, 0x1000, 0, 0, 0);
}

TEST("a fastbin's chunk becomes one with its neighbours")
{
	begin();
	chunk(CHUNK_USED, 0x20);
	chunk(CHUNK_FREE, 0x1ff0);
	chunk(CHUNK_FAST, 0x2010);
	chunk(CHUNK_FREE, 0x4000);
	chunk(CHUNK_USED, 0x4020);
	add_up(0);
	expect(0x3000, 0xfe0, 0, 0, 0);
}

TEST("the top goes if it ends at the brk, but for its least size")
{
	begin();
	chunk(CHUNK_USED, 0x20);
	chunk(CHUNK_TOP, 0x4000);
	add_up(BASE + 0x4000);
	expect(0x3000, 0xfe0, 0, 0, 0);
	/* Other code has called sbrk. */
	add_up(BASE + 0x5000);
	expect(0, 0, 0x3fe0, 0, 0);
}

TEST("MINSIZE and a byte of the top stay")
{
	begin();
	chunk(CHUNK_USED, 0xff0);
	chunk(CHUNK_TOP, 0x3000);
	add_up(BASE + 0x3000);
	expect(0x1000, 0x10, 0, 0, 0x1000);
}

TEST("the top of another arena stays, what is in its bins goes")
{
	begin();
	chunk_in(1, CHUNK_USED, BASE + 0x20);
	chunk_in(1, CHUNK_FREE, BASE + 0x3000);
	chunk_in(1, CHUNK_USED, BASE + 0x3020);
	chunk_in(1, CHUNK_TOP, BASE + 0x8000);
	add_up(BASE + 0x8000);
	expect(0x2000, 0xfe0, 0x4fe0, 0, 0);
	CU_ASSERT_EQUAL(space.arenas.at[1].kept[FREE_END], 0x4fe0);
	CU_ASSERT_EQUAL(space.arenas.at[0].resident, 0);
}

TEST("what is in a thread's cache counts apart, and keeps a page")
{
	begin();
	chunk(CHUNK_OWN, 0x290);
	chunk(CHUNK_FREE, 0x2000);
	chunk(CHUNK_CACHED, 0x2040);
	chunk(CHUNK_FREE, 0x3000);
	chunk(CHUNK_CACHED, 0x5040);
	chunk(CHUNK_USED, 0x6000);
	add_up(0);
	expect(0x1000, 0, 0, 0xd70 + 0xfc0, 0);
	CU_ASSERT_EQUAL(space.all.cached, 0x40 + 0x2040);
	CU_ASSERT_EQUAL(space.all.cached_resident, 0x40 + 0x2040);
}

TEST("pages that are not resident count as free alone")
{
	struct page_runs none = { VEC_INIT };
	struct free_space_source source = { .walk = &walk, .pages = &none };

	begin();
	chunk(CHUNK_USED, 0x40);
	chunk(CHUNK_FREE, 0x4040);
	chunk(CHUNK_USED, 0x4060);
	free_space_free(&space);
	space = (struct free_space)FREE_SPACE_INIT;
	CU_ASSERT_PTR_NULL_FATAL(free_space_add_up(&source, &space));
	expect(0, 0, 0, 0, 0);
	CU_ASSERT_EQUAL(space.all.bytes, 0x4000);
}

static uint64_t page_at[8], shares[8], blocks[8];
static unsigned nr_pages;

static struct err *take_page(void *ctx UNUSED, const struct pinned_page *page)
{
	page_at[nr_pages] = page->address;
	shares[nr_pages] = page->bytes;
	blocks[nr_pages++] = page->nr_live;
	return NULL;
}

static bool is_small(void *ctx UNUSED, const struct heap_chunk *is)
{
	return is->size == 0x20;
}

TEST("each page is given with its blocks; and what would be without some of them")
{
	struct free_space_source source = { .pinned = take_page };

	begin();
	chunk(CHUNK_USED, 0x20);
	chunk(CHUNK_FREE, 0x800);
	chunk(CHUNK_USED, 0x820);
	chunk(CHUNK_FREE, 0x1800);
	chunk(CHUNK_USED, 0x1820);
	chunk(CHUNK_FREE, 0x2800);
	chunk(CHUNK_USED, 0x4000);
	nr_pages = 0;
	add_up_with(&source);
	CU_ASSERT_EQUAL_FATAL(nr_pages, 3);
	CU_ASSERT_TRUE(page_at[0] == BASE && shares[0] == 0xfc0 && blocks[0] == 2);
	CU_ASSERT_TRUE(page_at[1] == BASE + 0x1000 && shares[1] == 0xfe0 && blocks[1] == 1);
	CU_ASSERT_TRUE(page_at[2] == BASE + 0x2000 && shares[2] == 0x800 && blocks[2] == 1);
	expect(0, 0x2fa0 - 0x800, 0, 0, 0);
	source.pinned = NULL;
	source.gone = is_small;
	add_up_with(&source);
	/* One chunk of 0x2800 bytes: its first page has its links, its last one a large block. */
	expect(0x1000, 0x800, 0, 0, 0x1000);
}

/* A bare chunk, from the end of the last one to BASE + to. */
static void bare(enum chunk_kind kind, uint64_t to)
{
	const struct heap_chunk chunk = { .address = end, .size = BASE + to - end, .kind = kind,
					  .bare = true };
	bool new_run;

	CU_ASSERT_PTR_NULL_FATAL(heap_chunks_add(&walk.chunks, &chunk, &new_run));
	end = BASE + to;
}

static void slab(uint64_t from, uint64_t to)
{
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&walk.spans,
					  ((struct heap_span){ BASE + from, BASE + to, 0 })));
}

static bool last_is_gone(void *ctx UNUSED, const struct heap_chunk *chunk)
{
	return chunk->address >= BASE + 0x4000;
}

/*
 * Four slabs side by side: one with a live block on its first page, one with a cached block, an empty
 * one, and one with live blocks; then pages that are kept.
 */
static void make_slabs(void)
{
	begin();
	vec_clear(&walk.spans);
	slab(0, 0x2000);
	bare(CHUNK_USED, 0x100);
	bare(CHUNK_FREE, 0x2000);
	slab(0x2000, 0x3000);
	bare(CHUNK_CACHED, 0x2040);
	bare(CHUNK_FREE, 0x3000);
	slab(0x3000, 0x4000);
	bare(CHUNK_FREE, 0x4000);
	slab(0x4000, 0x5000);
	bare(CHUNK_USED, 0x4800);
	bare(CHUNK_FREE, 0x5000);
	slab(0x5000, 0x8000);
	bare(CHUNK_KEPT, 0x8000);
}

TEST("what is free in a slab is kept by the blocks of that slab, wherever they lie")
{
	make_slabs();
	add_up(0);
	expect(0x3000, 0x1f00 + 0x800, 0, 0xfc0, 0x1000);
	CU_ASSERT_EQUAL(space.all.pinned_pages, 3);
	CU_ASSERT_EQUAL(space.all.cached, 0x40);
}

TEST("a slab whose blocks are taken as free would go")
{
	struct free_space_source source = { .gone = last_is_gone };

	make_slabs();
	add_up_with(&source);
	expect(0x3000 + 0x1000, 0x1f00, 0, 0xfc0, 0x1000);
}
