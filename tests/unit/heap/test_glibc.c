/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of glibc's heaps, on heaps built for the layouts of its versions. */

#include "fixture.h"
#include "heap/packed.h"
#include "heap/reconcile.h"
#include "glibc_image.h"

void suite_glibc(void);

static const struct image_spec versions[] = {
	{ .heaps = 1 },								/* 2.26 */
	{ .heaps = 3, .mapped = 3 },						/* 2.26 */
	{ .have_fastchunks = true, .heaps = 1, .uneven_brk = true },		/* 2.27 */
	{ .have_fastchunks = true, .heaps = 4, .mapped = 2 },			/* 2.27 */
	{ .have_fastchunks = true, .wide_counts = true, .heaps = 2 },		/* 2.31 */
	{ .have_fastchunks = true, .wide_counts = true, .heaps = 2, .second_heap = true },
	{ .have_fastchunks = true, .wide_counts = true, .safe_linking = true, .heaps = 3,
	  .mapped = 1 },							/* 2.32 */
	{ .have_fastchunks = true, .wide_counts = true, .safe_linking = true, .page_size = true,
	  .heaps = 4, .mapped = 4, .second_heap = true },			/* 2.35 */
	{ .have_fastchunks = true, .wide_counts = true, .safe_linking = true, .page_size = true,
	  .heaps = 1, .uneven_brk = true },
	{ .have_fastchunks = true, .wide_counts = true, .safe_linking = true, .page_size = true,
	  .room = true, .heaps = 3, .mapped = 2 },				/* 2.42 */
	{ .wide_counts = true, .safe_linking = true, .page_size = true, .room = true,
	  .no_fastbins = true, .heaps = 4, .mapped = 3, .second_heap = true },	/* 2.43 */
	{ .wide_counts = true, .safe_linking = true, .page_size = true, .room = true,
	  .no_fastbins = true, .heaps = 1 },
	{ .have_fastchunks = true, .wide_counts = true, .safe_linking = true, .page_size = true,
	  .heaps = 2, .mapped = 2, .blocked = true },
};

/* Chunks of all kinds, never two free ones side by side. */
static void populate(struct image *image, unsigned heap)
{
	enum chunk_kind fast = image->spec.no_fastbins ? CHUNK_CACHED : CHUNK_FAST;

	for (unsigned i = 0; i < 20; i++) {
		image_chunk(image, heap, 0x20 + 0x10 * (i % 7), CHUNK_USED);
		image_chunk(image, heap, 0x20 + 0x10 * (i % 6), fast);
		image_chunk(image, heap, 0x20 + 0x20 * (i % 30), CHUNK_CACHED);
		image_chunk(image, heap, 0x90 + 0x40 * i, CHUNK_FREE);
	}
	for (uint64_t size = 0x420; image->spec.room && size < 0x3000; size += size / 2 & ~15ull)
		image_chunk(image, heap, size, CHUNK_CACHED);
	image_chunk(image, heap, 0x40, CHUNK_USED);
}

static void make(struct image *image, const struct image_spec *spec)
{
	image_init(image, spec);
	for (unsigned i = 0; i < spec->heaps; i++)
		populate(image, i);
	if (spec->second_heap) {
		image_next_heap(image);
		populate(image, spec->heaps - 1);
	}
	for (unsigned i = 0; spec->blocked && i < 2; i++) {
		image_next_piece(image);
		populate(image, 0);
	}
	image_end(image);
}

static void check_truth(const struct image *image, const struct heap_walk *walk)
{
	CU_ASSERT_EQUAL(walk->chunks.nr, image->nr_chunks);
	for (unsigned i = 0; i < image->nr_chunks; i++) {
		const struct image_chunk *truth = &image->chunk[i];
		struct heap_chunk chunk;

		if (!heap_chunk_at(&walk->chunks, truth->block, &chunk, NULL)) {
			CU_FAIL("not found");
			continue;
		}
		CU_ASSERT_EQUAL(chunk.size, truth->size);
		CU_ASSERT_EQUAL(chunk.kind, truth->kind);
		CU_ASSERT_EQUAL(chunk.heap,
				truth->heap == IMAGE_MAPPED ? LOG_HEAP_MMAP : truth->heap);
	}
}

static uint64_t pulse_of(const struct image *image)
{
	uint64_t pulse = 0;

	CU_ASSERT_PTR_NULL(glibc_pulse(&image->source, &pulse));
	return pulse;
}

/* What is given out or taken back changes it, in whatever arena; locks, and blocks' contents, do not. */
static void pulses(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct image image;
		uint64_t before, first, word;

		make(&image, &versions[i]);
		before = pulse_of(&image);
		CU_ASSERT_NOT_EQUAL(before, 0);
		CU_ASSERT_EQUAL(pulse_of(&image), before);
		image_put(&image, image.chunk[0].block, 0x1234);
		image_put(&image, image.arena[0], image_get(&image, image.arena[0]) ^ 1);
		CU_ASSERT_EQUAL(pulse_of(&image), before);
		for (unsigned heap = 0; heap < versions[i].heaps; heap++) {
			first = image.arena[heap] + image.bins;
			word = image_get(&image, first);
			image_put(&image, first, word + 32);
			CU_ASSERT_NOT_EQUAL(pulse_of(&image), before);
			image_put(&image, first, word);
			CU_ASSERT_EQUAL(pulse_of(&image), before);
		}
		image_free(&image);
	}
}

/* The range that a chunk lies in; NULL: in none. */
static const struct heap_range *range_with(const struct heap_ranges *ranges, uint64_t address)
{
	vec_each(range, &ranges->vec)
		if (address >= range->start && address < range->end)
			return range;
	return NULL;
}

/* All chunks lie in the ranges that a look without a walk gives: heaps, and what is mapped. */
static void has_ranges(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct heap_ranges ranges;
		struct image image;

		/* Main heaps in pieces are for the walk. */
		if (versions[i].blocked)
			continue;
		make(&image, &versions[i]);
		CU_ASSERT_PTR_NULL_FATAL(glibc_ranges(&image.source, &ranges));
		CU_ASSERT_TRUE(ranges.whole);
		for (unsigned j = 0; j < image.nr_chunks; j++) {
			const struct heap_range *range = range_with(&ranges, image.chunk[j].block);

			CU_ASSERT_PTR_NOT_NULL_FATAL(range);
			CU_ASSERT_EQUAL(range->mapped, image.chunk[j].heap == IMAGE_MAPPED);
		}
		heap_ranges_free(&ranges);
		/* Where there is no arena there is nothing, and it is not said to be all. */
		image.source.nr_data = 0;
		CU_ASSERT_PTR_NULL_FATAL(glibc_ranges(&image.source, &ranges));
		CU_ASSERT_TRUE(!ranges.whole && !ranges.vec.nr);
		image_free(&image);
	}
}

static bool nothing_touched(void *ctx, uint64_t address UNUSED)
{
	++*(unsigned *)ctx;
	return false;
}

/* A chunk that malloc counts and that is not found: pages are asked for, and those untouched not read. */
static void asks_what_is_touched(void)
{
	static const struct image_spec spec = { .have_fastchunks = true, .wide_counts = true,
						.safe_linking = true, .page_size = true,
						.heaps = 1, .mapped = 2 };
	struct heap_ranges ranges;
	struct image image;
	unsigned asked = 0;
	uint64_t first = 0;

	make(&image, &spec);
	for (unsigned i = 0; i < image.nr_chunks && !first; i++)
		if (image.chunk[i].heap == IMAGE_MAPPED)
			first = image.chunk[i].block;
	image_put(&image, first - 8, 0);
	CU_ASSERT_PTR_NULL_FATAL(glibc_ranges(&image.source, &ranges));
	CU_ASSERT_FALSE(ranges.whole);
	heap_ranges_free(&ranges);
	image.source.touched = nothing_touched;
	image.source.ctx = &asked;
	CU_ASSERT_PTR_NULL_FATAL(glibc_ranges(&image.source, &ranges));
	CU_ASSERT_FALSE(ranges.whole);
	CU_ASSERT_TRUE(asked > 0);
	CU_ASSERT_PTR_NULL(range_with(&ranges, first));
	heap_ranges_free(&ranges);
	image_free(&image);
}

static void walks_each_version(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct heap_walk walk;
		struct image image;

		make(&image, &versions[i]);
		CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
		CU_ASSERT_EQUAL(walk.damage.nr, 0);
		for (size_t j = 0; j < walk.damage.nr; j++)
			printf("version %zu: %s\n", i, walk.damage.at[j].what);
		CU_ASSERT_EQUAL(walk.arenas.nr, versions[i].heaps);
		check_truth(&image, &walk);
		CU_ASSERT_TRUE(walk.caches_known);
		CU_ASSERT_TRUE(walk.mmapped_known && walk.mmapped_certain);
		CU_ASSERT_EQUAL(walk.mmapped, versions[i].mapped);
		CU_ASSERT_EQUAL(walk.mmapped_bytes, image.mapped_bytes);
		for (unsigned j = 0; j < versions[i].heaps; j++) {
			CU_ASSERT_EQUAL(walk.arenas.at[j].address, image.arena[j]);
			CU_ASSERT_TRUE(walk.arenas.at[j].whole);
			CU_ASSERT_EQUAL(walk.arenas.at[j].system_mem, image.system_mem[j]);
		}
		heap_walk_free(&walk);
		image_free(&image);
	}
}

/* Without thread pointers a cache is known by what is in it. */
static void knows_caches_by_content(void)
{
	struct heap_walk walk;
	struct image image;

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		make(&image, &versions[i]);
		image.source.nr_threads = 0;
		image.source.all_threads = false;
		CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
		CU_ASSERT_EQUAL(walk.damage.nr, 0);
		CU_ASSERT_FALSE(walk.caches_known);
		check_truth(&image, &walk);
		heap_walk_free(&walk);
		image_free(&image);
	}
}

static void finds_by_symbol_only_there(void)
{
	struct heap_walk walk;
	struct image image;
	struct err *err;

	make(&image, &versions[7]);
	image.source.main_arena = image.arena[0];
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	check_truth(&image, &walk);
	heap_walk_free(&walk);
	image.source.main_arena = image.arena[0] + 8;
	err = glibc_walk(&image.source, &walk);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_NOTFOUND);
	image_free(&image);
}

/* Nothing was allocated yet: bins are zero. */
static void says_that_there_is_no_arena(void)
{
	struct heap_walk walk;
	struct image image;
	struct err *err;

	make(&image, &versions[7]);
	for (unsigned i = 0; i < 254; i++)
		image_put(&image, image.arena[0] + image.bins + i * 8, 0);
	err = glibc_walk(&image.source, &walk);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_NOTFOUND);
	image_free(&image);
}

static const struct image_chunk *nth_of_kind(const struct image *image, enum chunk_kind kind,
					     unsigned n)
{
	for (unsigned i = 0;; i++)
		if (image->chunk[i].kind == kind && !n--)
			return &image->chunk[i];
}

/* Whether one damage names this address. */
static bool tells_of(const struct heap_walk *walk, uint64_t address)
{
	for (size_t i = 0; i < walk->damage.nr; i++)
		if (walk->damage.at[i].address == address)
			return true;
	return false;
}

static uint64_t known_block(void *ctx, uint64_t address)
{
	uint64_t known = *(const uint64_t *)ctx;

	return known >= address ? known : UINT64_MAX;
}

/* A header is overwritten: the walk goes on at the next block that is known, else at top. */
static void goes_on_behind_a_bad_header(void)
{
	struct heap_walk walk;
	struct image image;
	const struct image_chunk *bad;
	struct heap_chunk chunk;
	uint64_t known;

	make(&image, &versions[7]);
	bad = nth_of_kind(&image, CHUNK_USED, 5);
	known = nth_of_kind(&image, CHUNK_USED, 6)->block;
	image_put(&image, bad->block - 8, 0x4141414141414141);
	image.source.known_from = known_block;
	image.source.ctx = &known;
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	CU_ASSERT_TRUE(tells_of(&walk, bad->block - 8));
	CU_ASSERT_EQUAL(walk.damage.at[0].after, known);
	CU_ASSERT_FALSE(walk.arenas.at[0].whole);
	CU_ASSERT_TRUE(walk.arenas.at[1].whole);
	CU_ASSERT_TRUE(heap_chunk_at(&walk.chunks, known, &chunk, NULL));
	CU_ASSERT_FALSE(heap_chunk_at(&walk.chunks, bad->block, &chunk, NULL));
	heap_walk_free(&walk);
	image.source.known_from = NULL;
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	CU_ASSERT_EQUAL(walk.arenas.at[0].chunks[CHUNK_TOP], 1);
	heap_walk_free(&walk);
	image_free(&image);
}

/* A block was written past its end, and the size of the top chunk with it: nothing else is lost. */
static void goes_up_to_a_bad_top(void)
{
	static const uint64_t bad[] = { 0x4141414141414141, 0, 0x31, 0x1001 };

	for (size_t i = 0; i < ARRAY_SIZE(versions) * ARRAY_SIZE(bad); i++) {
		const struct image_spec *spec = &versions[i / ARRAY_SIZE(bad)];
		struct heap_walk walk;
		struct image image;

		make(&image, spec);
		CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
		for (unsigned heap = 0; heap < spec->heaps; heap++)
			image_put(&image, walk.arenas.at[heap].top + 8, bad[i % ARRAY_SIZE(bad)]);
		/* [heap] ends where sbrk ends. */
		for (unsigned j = 0; j < image.source.nr_maps; j++)
			if (image.map[j].brk && !spec->blocked)
				image.map[j].end = image.base[0] + IMAGE_SPACE;
		heap_walk_free(&walk);
		CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
		for (unsigned heap = 0; heap < spec->heaps; heap++) {
			uint64_t top = walk.arenas.at[heap].top;
			struct heap_chunk chunk;
			size_t j = 0;

			while (j < walk.damage.nr && walk.damage.at[j].address != top + 8)
				j++;
			CU_ASSERT_TRUE_FATAL(j < walk.damage.nr);
			CU_ASSERT_TRUE(heap_chunk_at(&walk.chunks, walk.damage.at[j].before, &chunk, NULL));
			CU_ASSERT_EQUAL(chunk.address - 16 + chunk.size, top);
			CU_ASSERT_FALSE(walk.arenas.at[heap].whole);
		}
		if (!spec->blocked) {
			CU_ASSERT_EQUAL(walk.damages, spec->heaps);
			check_truth(&image, &walk);
		}
		heap_walk_free(&walk);
		image_free(&image);
	}
}

static void tells_of_bad_lists(void)
{
	const struct image_chunk *chunk;
	struct heap_walk walk;
	struct image image;

	/* A list that comes round to itself. */
	make(&image, &versions[3]);
	chunk = nth_of_kind(&image, CHUNK_FAST, 0);
	image_put(&image, chunk->block, chunk->block - 16);
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	CU_ASSERT_TRUE(tells_of(&walk, chunk->block));
	heap_walk_free(&walk);
	image_free(&image);
	/* A cache's list into nowhere. */
	make(&image, &versions[7]);
	chunk = nth_of_kind(&image, CHUNK_CACHED, 19);
	image_put(&image, chunk->block, 0x1234);
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	CU_ASSERT_TRUE(tells_of(&walk, chunk->block));
	heap_walk_free(&walk);
	image_free(&image);
	/* A bin's chunk that does not point back; its size at its end. */
	make(&image, &versions[7]);
	chunk = nth_of_kind(&image, CHUNK_FREE, 2);
	image_put(&image, chunk->block + 8, 0);
	image_put(&image, chunk->block - 16 + chunk->size, 0x40);
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	CU_ASSERT_TRUE(tells_of(&walk, chunk->block + 8));
	CU_ASSERT_TRUE(tells_of(&walk, chunk->block - 16 + chunk->size));
	check_truth(&image, &walk);
	heap_walk_free(&walk);
	image_free(&image);
}

/* In a cache that counts what it has room for: one list says that it has one more; one is of another size. */
static void tells_of_bad_rooms(void)
{
	struct heap_walk walk;
	struct image image;
	uint64_t entry;

	make(&image, &versions[9]);
	entry = image.cache[0] + 76 * 2;
	image_put(&image, image.cache[0], image_get(&image, image.cache[0]) - 1);
	image_put(&image, entry + 64 * 8, image_get(&image, entry + 65 * 8));
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	CU_ASSERT_TRUE(tells_of(&walk, entry));
	CU_ASSERT_TRUE(tells_of(&walk, entry + 64 * 8));
	CU_ASSERT_TRUE(walk.caches_known);
	heap_walk_free(&walk);
	image_free(&image);
}

/* Two fenceposts, something of somebody else's, and the heap goes on. */
static void goes_on_behind_a_foreign_sbrk(void)
{
	struct heap_walk walk;
	struct image image;
	uint64_t gap;

	image_init(&image, &versions[8]);
	populate(&image, 0);
	gap = image.at[0];
	image_put(&image, gap + 8, 0x11);
	image_put(&image, gap + 16 + 8, 0x11);
	for (unsigned i = 32; i < 0x1000; i += 8)
		image_put(&image, gap + i, 0x2121212121212121);
	image.at[0] += 0x1000;
	populate(&image, 0);
	image_end(&image);
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	CU_ASSERT_EQUAL(walk.damage.nr, 0);
	check_truth(&image, &walk);
	heap_walk_free(&walk);
	image_free(&image);
}

/* A mapping of the program's that looks like a chunk: the counts do not agree, and that is said. */
static void says_what_is_not_certain(void)
{
	struct heap_walk walk;
	struct image image;

	make(&image, &versions[7]);
	image_put(&image, nth_of_kind(&image, CHUNK_MMAPPED, 0)->block - 8, 0);
	image_put(&image, 0x7f0000400000ull + image.mapped_bytes + 8, 0x1002);
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	CU_ASSERT_TRUE(walk.mmapped_known);
	CU_ASSERT_FALSE(walk.mmapped_certain);
	heap_walk_free(&walk);
	image_free(&image);
}

/* Small negative numbers are headers of chunks as long as all memory, but for the end of them. */
static void passes_by_a_negative_number(void)
{
	for (int64_t number = -64; number < 0; number++) {
		struct heap_walk walk;
		struct image image;

		make(&image, &versions[7]);
		image_put(&image, nth_of_kind(&image, CHUNK_MMAPPED, 0)->block - 8, (uint64_t)number);
		CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
		CU_ASSERT_FALSE(walk.mmapped_certain);
		heap_walk_free(&walk);
		image_free(&image);
	}
}

static void finds_what_holds_an_address(void)
{
	const struct image_chunk *chunk;
	struct heap_chunk found;
	struct heap_walk walk;
	struct image image;

	make(&image, &versions[0]);
	chunk = nth_of_kind(&image, CHUNK_USED, 3);
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	for (uint64_t at = chunk->block - 8; at < chunk->block - 8 + chunk->size; at++)
		CU_ASSERT_TRUE(heap_chunk_around(&walk.chunks, at, &found) &&
			       found.address == chunk->block);
	CU_ASSERT_TRUE(heap_chunk_around(&walk.chunks, chunk->block - 9, &found));
	CU_ASSERT_NOT_EQUAL(found.address, chunk->block);
	CU_ASSERT_FALSE(heap_chunk_around(&walk.chunks, 0x1000, &found));
	CU_ASSERT_FALSE(heap_chunk_around(&walk.chunks, 0x7fffffffffff, &found));
	heap_walk_free(&walk);
	image_free(&image);
}

/* A fastbin that malloc_consolidate takes apart: its head is empty, one of its chunks is in hand. */
static void follows_a_list_in_hand(void)
{
	const struct image_chunk *chunk;
	struct heap_walk walk;
	struct image image;
	unsigned size = 0x30, nr = 0;
	uint64_t bin, in_flight_word;

	make(&image, &versions[7]);
	bin = image.arena[0] + image.bins - 16 - 80 + (size - 32) / 16 * 8;
	in_flight_word = image_get(&image, bin);
	image_put(&image, bin, 0);
	image.source.in_flight_word = &in_flight_word;
	image.source.nr_in_flight = 1;
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	for (unsigned i = 0; i < image.nr_chunks; i++) {
		bool found = false;

		chunk = &image.chunk[i];
		if (chunk->kind != CHUNK_FAST || chunk->size != size || chunk->heap)
			continue;
		for (size_t j = 0; j < walk.loose.nr; j++)
			found |= walk.loose.at[j] == chunk->block;
		CU_ASSERT_EQUAL(found, chunk->block != in_flight_word + 16);
		nr++;
	}
	CU_ASSERT_TRUE(nr > 1 && walk.loose.nr == nr - 1);
	heap_walk_free(&walk);
	image_free(&image);
}

/* The end of a thread: nothing has a pointer to its cache but a register, the first lists are empty, their counts stay. */
static void follows_a_cache_in_hand(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		unsigned lists = versions[i].room ? 76 : 64, width = versions[i].wide_counts ? 2 : 1;
		struct heap_walk walk;
		struct image image;
		uint64_t entry, taken;

		make(&image, &versions[i]);
		entry = image.cache[0] + lists * width;
		taken = image_get(&image, entry);
		image_put(&image, entry, 0);
		image_put(&image, image.threads[0] - 72, 0);
		image.source.in_flight_word = &image.cache[0];
		image.source.nr_in_flight = 1;
		CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
		CU_ASSERT_EQUAL(walk.damage.nr, 0);
		for (unsigned j = 0; j < image.nr_chunks; j++) {
			const struct image_chunk *truth = &image.chunk[j];
			struct heap_chunk chunk;

			if (truth->kind == CHUNK_CACHED && truth->size > 0x20) {
				CU_ASSERT_TRUE(heap_chunk_at(&walk.chunks, truth->block, &chunk, NULL));
				CU_ASSERT_EQUAL(chunk.kind, CHUNK_CACHED);
			}
		}
		CU_ASSERT_NOT_EQUAL(taken, 0);
		heap_walk_free(&walk);
		image_free(&image);
	}
}

/* Walk minus log, which is read, or has been. */
static void add_to_the_log(bool read)
{
	const struct image_chunk *recorded, *under_way, *known;
	struct packed_list list = PACKED_INIT;
	struct heap_walk walk;
	struct image image;
	struct log log;
	const struct packed_source source = { .log = &log, .until = UINT64_MAX };
	struct word_list left_out = { VEC_INIT };
	uint64_t in_flight_word;
	unsigned early = 0, seen = 0;

	make(&image, &versions[7]);
	fixture_open(&log);
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	recorded = nth_of_kind(&image, CHUNK_USED, 1);
	under_way = nth_of_kind(&image, CHUNK_USED, 2);
	known = nth_of_kind(&image, CHUNK_USED, 3);
	for (unsigned i = 0; i < 2; i++)
		CU_ASSERT_TRUE(log_insert(&log, &(struct log_record){
			.address = (i ? known : recorded)->block, .size = 7, .time = 1 + i,
			.heap = LOG_HEAP_UNKNOWN }, NULL));
	CU_ASSERT_TRUE(log_remove(&log, known->block, 0, NULL));
	in_flight_word = under_way->block - 16;
	CU_ASSERT_PTR_NULL_FATAL(packed_from_log(&source, &list));
	CU_ASSERT_PTR_NULL_FATAL(walk_merge(&walk, &(struct walk_merge){
		.log = &log, .held = read ? &list : NULL, .complete = true,
		.in_flight_word = &in_flight_word, .nr_in_flight = 1 }, &left_out));
	CU_ASSERT_PTR_NULL_FATAL(packed_merge_walk(&list, &walk, true));
	CU_ASSERT_EQUAL_FATAL(left_out.vec.nr, 1);
	CU_ASSERT_EQUAL(left_out.vec.at[0], under_way->block);
	for (size_t i = 0; i < list.nr; i++) {
		struct block is = packed_block(&list, i), *block = &is;

		CU_ASSERT_TRUE(!i || packed_at(&list, i - 1)->address < block->address);
		CU_ASSERT_NOT_EQUAL(block->address, under_way->block);
		CU_ASSERT_NOT_EQUAL(block->address, known->block);
		CU_ASSERT_EQUAL(block->preattach, block->address != recorded->block);
		CU_ASSERT_FALSE(block->unrecorded);
		early += block->preattach;
		if (block->address == recorded->block)
			CU_ASSERT_TRUE(block->size == 7 && block->heap == 0);
	}
	CU_ASSERT_EQUAL(early, 21 * (versions[7].heaps + 1) + versions[7].mapped - 3);
	/* What was sure before is, whatever is near it; and if the log is not complete nothing is. */
	packed_free(&list);
	vec_clear(&left_out.vec);
	CU_ASSERT_PTR_NULL_FATAL(walk_merge(&walk, &(struct walk_merge){
		.log = &log, .in_flight_word = &in_flight_word, .nr_in_flight = 1,
		.sure = &under_way->block, .nr_sure = 1 }, &left_out));
	CU_ASSERT_PTR_NULL_FATAL(packed_merge_walk(&list, &walk, false));
	CU_ASSERT_EQUAL(left_out.vec.nr, 0);
	vec_free(&left_out.vec);
	CU_ASSERT_TRUE(list.nr && packed_at(&list, 0)->preattach &&
		       packed_at(&list, 0)->unrecorded);
	packed_free(&list);
	/* The log has gone on since: what was freed meanwhile was a block. */
	CU_ASSERT_PTR_NULL_FATAL(packed_merge_past(&list, &walk, &(struct walk_merge){
		.log = &log, .complete = true, .until = 1 }, &left_out));
	for (size_t i = 0; i < list.nr; i++) {
		struct block is = packed_block(&list, i), *block = &is;
		bool freed = block->address == recorded->block;
		bool since = block->address == known->block;

		CU_ASSERT_EQUAL(block->freed, freed || since);
		CU_ASSERT_EQUAL(block->preattach, !freed);
		CU_ASSERT_EQUAL(block->unrecorded, since);
		seen += freed || since;
	}
	CU_ASSERT_EQUAL(seen, 2);
	vec_free(&left_out.vec);
	packed_free(&list);
	heap_walk_free(&walk);
	image_free(&image);
	fixture_close(&log);
}

static void adds_to_the_log(void)
{
	add_to_the_log(false);
	add_to_the_log(true);
}

void suite_glibc(void)
{
	CU_pSuite suite = CU_add_suite("glibc", NULL, NULL);

	CU_add_test(suite, "walks each version", walks_each_version);
	CU_add_test(suite, "a pulse", pulses);
	CU_add_test(suite, "ranges of heaps", has_ranges);
	CU_add_test(suite, "ranges and touched pages", asks_what_is_touched);
	CU_add_test(suite, "knows caches by content", knows_caches_by_content);
	CU_add_test(suite, "finds by symbol only there", finds_by_symbol_only_there);
	CU_add_test(suite, "says that there is no arena", says_that_there_is_no_arena);
	CU_add_test(suite, "goes on behind a bad header", goes_on_behind_a_bad_header);
	CU_add_test(suite, "goes up to a bad top", goes_up_to_a_bad_top);
	CU_add_test(suite, "tells of bad lists", tells_of_bad_lists);
	CU_add_test(suite, "tells of bad rooms", tells_of_bad_rooms);
	CU_add_test(suite, "goes on behind a foreign sbrk", goes_on_behind_a_foreign_sbrk);
	CU_add_test(suite, "says what is not certain", says_what_is_not_certain);
	CU_add_test(suite, "passes by a negative number", passes_by_a_negative_number);
	CU_add_test(suite, "finds what holds an address", finds_what_holds_an_address);
	CU_add_test(suite, "follows a list in hand", follows_a_list_in_hand);
	CU_add_test(suite, "follows a cache in hand", follows_a_cache_in_hand);
	CU_add_test(suite, "adds to the log", adds_to_the_log);
}
