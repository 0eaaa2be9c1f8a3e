/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * jemalloc's data as 5.3 and 5.2 lay them out, made by hand: walks must give exactly what was put
 * there, and must end whatever is damaged.
 */

#include "heap/heap_walk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/page.h"
#include "log/log.h"
#include "unit.h"

#define MB	(1ull << 20)
#define DATA	0x500000000000ull	/* the module's data, which has the root */
#define DATA_LEN (3 * MB)
#define BASE	0x510000000000ull	/* of a base block */
#define BASE_LEN (4 * MB)
#define LEAF	(BASE + MB)
#define HEAP	0x520000000000ull	/* extents */
#define HEAP_LEN (1 * MB)
#define STACK	(BASE + 3 * MB + 0x1000)	/* of the bins */
#define TLS	0x530000000000ull
#define TP	(TLS + 0x2f00)
#define TLS_LEN	0x3000ull
#define PIECES	4u
#define BINS	40u
#define ROUNDS	2000u

struct layout {
	unsigned state, class, free;
	bool counted_bins;
};

static const struct layout v53 = { 17, 20, 28, false }, v52 = { 16, 18, 26, true };

static struct piece {
	uint64_t start, len;
	uint8_t *bytes;
} piece[PIECES];

static const struct layout *layout;
static uint64_t next_extent;

static uint8_t *at(uint64_t address, size_t len)
{
	for (unsigned i = 0; i < PIECES; i++)
		if (address >= piece[i].start && address + len <= piece[i].start + piece[i].len)
			return &piece[i].bytes[address - piece[i].start];
	return NULL;
}

static void put(uint64_t address, uint64_t word)
{
	memcpy(at(address, 8), &word, 8);
}

static struct err *read_image(struct memory *memory UNUSED, uint64_t addr, void *buf, size_t len,
			      size_t *len_ret)
{
	for (unsigned i = 0; i < PIECES; i++)
		if (addr >= piece[i].start && addr < piece[i].start + piece[i].len) {
			*len_ret = MIN(len, piece[i].start + piece[i].len - addr);
			memcpy(buf, &piece[i].bytes[addr - piece[i].start], *len_ret);
			return NULL;
		}
	return err_create(ERR_MEMORY, "nothing at 0x%llx", (unsigned long long)addr);
}

/* Only pages that have something count as written: a leaf has 512 of them. */
static bool next_written(struct memory *memory UNUSED, uint64_t start, uint64_t end,
			 uint64_t *start_ret, uint64_t *end_ret)
{
	static const uint8_t nothing[PAGE];

	for (; start < end; start = ALIGN_DOWN(start, PAGE) + PAGE) {
		const uint8_t *page = at(ALIGN_DOWN(start, PAGE), PAGE);

		if (!page || !memcmp(page, nothing, PAGE))
			continue;
		*start_ret = start;
		*end_ret = MIN(end, ALIGN_DOWN(start, PAGE) + PAGE);
		return true;
	}
	return false;
}

static struct memory memory = { read_image, next_written };

/* An extent: its descriptor, and a word of the leaf for its first page (a slab: for each). */
static uint64_t extent(uint64_t address, uint64_t len, unsigned arena, unsigned state,
		       unsigned class, bool slab, unsigned free)
{
	uint64_t descriptor = next_extent;

	next_extent += 128;
	put(descriptor, arena | (uint64_t)slab << 12 | (uint64_t)state << layout->state |
				(uint64_t)class << layout->class | (uint64_t)free << layout->free);
	put(descriptor + 8, address);
	put(descriptor + 16, len | 5);		/* with a serial number in the low bits */
	for (uint64_t page = address / PAGE; page < (address + len) / PAGE; page++)
		if (slab || page == address / PAGE || page + 1 == (address + len) / PAGE)
			put(LEAF + page % (1 << 18) * 8,
			    (uint64_t)class << 48 | descriptor | slab);
	return descriptor;
}

/* A bin whose stack, of 8 blocks, is the n-th; cached: what is on it, or 0. */
static void bin(unsigned n, uint64_t cached)
{
	uint64_t is = TLS + 0x1000 + n * 24, end = STACK + 64 * (n + 1), head = end - (cached ? 8 : 0);

	if (cached)
		put(head, cached);
	if (layout->counted_bins) {
		put(is, (uint64_t)!!cached << 32);
		put(is + 16, end);
		return;
	}
	put(is, head);
	put(is + 16, (end & 0xffff) | ((end - 64) & 0xffff) << 16 | (end & 0xffff) << 32);
}

/*
 * A slab of 64 blocks of 64 bytes of which 0, 1 and 40 are not free, and 40 is cached; a large block of
 * 16 KB that begins 0x80 bytes behind its first page; dirty pages; given back pages; and a slab of
 * 8 bytes in arena 3, which is full but for its last block.
 */
static void make(const struct layout *of)
{
	static const uint64_t start[] = { DATA, BASE, HEAP, TLS };
	static const uint64_t len[] = { DATA_LEN, BASE_LEN, HEAP_LEN, TLS_LEN };
	uint64_t descriptor;

	layout = of;
	for (unsigned i = 0; i < PIECES; i++) {
		piece[i] = (struct piece){ start[i], len[i],
			mmap(NULL, len[i], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) };
		if (piece[i].bytes == MAP_FAILED)
			abort();
	}
	next_extent = BASE + 0x1000;
	put(BASE, BASE_LEN);
	put(BASE + 24, BASE + 3 * MB);
	put(BASE + 32, MB);
	descriptor = extent(HEAP, 4096, 0, 0, 4, true, 61);
	put(descriptor + 64, ~(3ull | 1ull << 40));
	descriptor = extent(HEAP + 0x1000, 0x5000, 0, 0, 36, false, 0);
	put(descriptor + 8, HEAP + 0x1080);
	extent(HEAP + 0x6000, 0x2000, 0, 1, 235, false, 0);
	extent(HEAP + 0x8000, 0x4000, 0, 3, 235, false, 0);
	descriptor = extent(HEAP + 0xc000, 4096, 3, 0, 0, true, 1);
	put(descriptor + 64 + 56, 1ull << 63);
	for (unsigned i = 0; i < BINS; i++)
		bin(i, i == 4 ? HEAP + 40 * 64 : 0);
}

static uint64_t root_at;

/* The root's word for the GB of HEAP lies in the module's data. */
static void make_root(void)
{
	root_at = DATA + 0x1000;
	put(root_at + (HEAP >> 30) % (1 << 18) * 8, LEAF);
}

static void drop(void)
{
	for (unsigned i = 0; i < PIECES; i++)
		munmap(piece[i].bytes, piece[i].len);
}

static struct err *run(struct heap_walk *ret, bool inside)
{
	static const uint64_t tp = TP;
	const struct heap_map map[] = {
		{ DATA, DATA + DATA_LEN, false, false }, { BASE, BASE + BASE_LEN, false, true },
		{ HEAP, HEAP + HEAP_LEN, false, true }, { TLS, TLS + TLS_LEN, false, true },
	};
	const struct heap_libc libc = { .data = map, .nr_data = 1 };
	const struct heap_inside in = { .tid = 7 };
	const struct heap_source source = {
		.memory = &memory, .map = map, .nr_maps = ARRAY_SIZE(map),
		.libc = &libc, .nr_libcs = 1, .thread = &tp, .nr_threads = 1, .all_threads = true,
		.inside = &in, .nr_inside = inside, .most_chunks = 100000,
	};

	*ret = (struct heap_walk)HEAP_WALK_INIT;
	return jemalloc_walk(&source, ret);
}

struct truth {
	uint64_t address, size;
	uint16_t heap;
	enum chunk_kind kind;
};

static const struct truth truth[] = {
	{ BASE, BASE_LEN, 0, CHUNK_OWN },
	{ HEAP, 64, 0, CHUNK_USED }, { HEAP + 64, 64, 0, CHUNK_USED },
	{ HEAP + 128, 38 * 64, 0, CHUNK_FREE }, { HEAP + 40 * 64, 64, 0, CHUNK_CACHED },
	{ HEAP + 41 * 64, 23 * 64, 0, CHUNK_FREE },
	{ HEAP + 0x1080, 16384, 0, CHUNK_USED },
	{ HEAP + 0x6000, 0x2000, 0, CHUNK_KEPT },
};

static void check(const struct layout *of)
{
	struct chunk_at at_chunk = heap_chunks_start();
	struct heap_chunk chunk = { .size = 0 };
	struct heap_walk walk;

	make(of);
	make_root();
	CU_ASSERT_PTR_NULL_FATAL(run(&walk, false));
	CU_ASSERT_EQUAL(heap_walk_all_damage(&walk), 0);
	CU_ASSERT_TRUE(walk.caches_known && walk.mmapped_certain);
	for (size_t i = 0; i < ARRAY_SIZE(truth); i++) {
		CU_ASSERT_TRUE_FATAL(heap_chunks_next(&walk.chunks, &at_chunk, &chunk));
		CU_ASSERT_TRUE(chunk.bare && chunk.address == truth[i].address &&
			       chunk.size == truth[i].size && chunk.kind == truth[i].kind &&
			       chunk.heap == truth[i].heap);
	}
	for (unsigned i = 0; i < 511; i++)
		CU_ASSERT_TRUE_FATAL(heap_chunks_next(&walk.chunks, &at_chunk, &chunk) &&
				     chunk.address == HEAP + 0xc000 + i * 8 && chunk.size == 8 &&
				     chunk.kind == CHUNK_USED && chunk.heap == 3);
	CU_ASSERT_TRUE(heap_chunks_next(&walk.chunks, &at_chunk, &chunk) &&
		       chunk.kind == CHUNK_FREE);
	CU_ASSERT_FALSE(heap_chunks_next(&walk.chunks, &at_chunk, &chunk));
	CU_ASSERT_EQUAL_FATAL(walk.arenas.nr, 4);
	CU_ASSERT_EQUAL(walk.arenas.at[0].system_mem, 0x8000);
	CU_ASSERT_EQUAL(walk.arenas.at[3].bytes[CHUNK_USED], 511 * 8);
	heap_walk_free(&walk);
	drop();
}

TEST("all that is there, as 5.3 lays it out")
{
	check(&v53);
}

TEST("all that is there, as 5.2 lays it out")
{
	check(&v52);
}

TEST("nothing was allocated yet")
{
	struct heap_walk walk;

	make(&v53);
	CU_ASSERT_EQUAL(run(&walk, false)->code, ERR_NOTFOUND);
	drop();
}

TEST("a root that has other words than leaves is not walked")
{
	struct heap_walk walk;

	make(&v53);
	make_root();
	put(root_at + 8, 12345);
	CU_ASSERT_EQUAL(run(&walk, false)->code, ERR_UNSUPPORTED);
	drop();
}

TEST("a slab whose count is not that of its map is damage, or a change under way")
{
	struct heap_walk walk;

	make(&v53);
	make_root();
	put(BASE + 0x1000 + 64, 1);
	CU_ASSERT_PTR_NULL_FATAL(run(&walk, false));
	CU_ASSERT_TRUE(walk.damages == 1 && walk.damage.at[0].address == BASE + 0x1000);
	CU_ASSERT_TRUE(walk.arenas.at[0].damaged && !walk.arenas.at[0].whole);
	heap_walk_free(&walk);
	CU_ASSERT_PTR_NULL_FATAL(run(&walk, true));
	CU_ASSERT_TRUE(!walk.damages && walk.uncertain == 1);
	CU_ASSERT_EQUAL(walk.damage.at[0].doubt.thread, 7);
	heap_walk_free(&walk);
	drop();
}

TEST("without a thread's bins it is not known what is cached")
{
	struct heap_walk walk;

	make(&v53);
	make_root();
	memset(at(TLS, TLS_LEN), 0, TLS_LEN);
	CU_ASSERT_PTR_NULL_FATAL(run(&walk, false));
	CU_ASSERT_FALSE(walk.caches_known);
	CU_ASSERT_EQUAL(walk.arenas.at[0].chunks[CHUNK_CACHED], 0);
	heap_walk_free(&walk);
	drop();
}

/* Chunks ascend, and lie in the mapping of the extents or of the base block. */
static bool is_sound(const struct heap_walk *walk)
{
	struct chunk_at at_chunk = heap_chunks_start();
	struct heap_chunk chunk;
	uint64_t behind = 0;

	while (heap_chunks_next(&walk->chunks, &at_chunk, &chunk)) {
		if (chunk.address < behind || !chunk.size || !at(chunk.address, chunk.size))
			return false;
		behind = chunk.address + chunk.size;
	}
	return true;
}

TEST("whatever is damaged, a walk ends, and its chunks lie in its memory")
{
	static const uint64_t places[] = { BASE + 0x1000, LEAF + (HEAP / PAGE) % (1 << 18) * 8,
					   TLS + 0x1000, BASE };
	uint64_t state = 88172645463325252ull;
	unsigned bad = 0;

	make(&v53);
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t where = places[unit_random(&state) % ARRAY_SIZE(places)] + unit_random(&state) % 80 * 8;
		uint64_t was, word = unit_random(&state) >> unit_random(&state) % 64;
		struct heap_walk walk;

		make_root();
		memcpy(&was, at(where, 8), 8);
		put(where, unit_random(&state) % 2 ? was ^ 1ull << unit_random(&state) % 64 : word);
		if (!run(&walk, unit_random(&state) % 2)) {
			bad += !is_sound(&walk);
			heap_walk_free(&walk);
		}
		put(where, was);
	}
	CU_ASSERT_EQUAL(bad, 0);
	drop();
}
