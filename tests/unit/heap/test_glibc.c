/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of glibc's heaps, on heaps built for the layouts of its versions. */

#include "fixture.h"
#include "glibc_versions.h"

static uint64_t pulse_of(const struct image *image)
{
	struct heap_pulse pulse = { 0 };
	uint64_t acquired = 0;

	for (unsigned heap = 0; heap < IMAGE_HEAPS; heap++)
		acquired += image->system_mem[heap];
	CU_ASSERT_PTR_NULL(glibc_pulse(&image->source, &pulse));
	CU_ASSERT_EQUAL(pulse.acquired, acquired);
	return pulse.sum;
}

/* What is given out or taken back changes it, in whatever arena; locks, and blocks' contents, do not. */
TEST("a pulse")
{
	for (size_t i = 0; i < ARRAY_SIZE(image_versions); i++) {
		struct image image;
		uint64_t before, first, word;

		image_fill(&image, &image_versions[i]);
		before = pulse_of(&image);
		CU_ASSERT_NOT_EQUAL(before, 0);
		CU_ASSERT_EQUAL(pulse_of(&image), before);
		image_put(&image, image.chunk[0].block, 0x1234);
		image_put(&image, image.arena[0], image_get(&image, image.arena[0]) ^ 1);
		CU_ASSERT_EQUAL(pulse_of(&image), before);
		for (unsigned heap = 0; heap < image_versions[i].heaps; heap++) {
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
TEST("ranges of heaps")
{
	for (size_t i = 0; i < ARRAY_SIZE(image_versions); i++) {
		struct heap_ranges ranges;
		struct image image;

		image_fill(&image, &image_versions[i]);
		/* Main heaps in pieces are looked for where it is known what is touched. */
		if (image_versions[i].blocked) {
			CU_ASSERT_PTR_NULL_FATAL(glibc_ranges(&image.source, &ranges));
			CU_ASSERT_FALSE(ranges.whole);
			heap_ranges_free(&ranges);
			image.source.live = true;
		}
		CU_ASSERT_PTR_NULL_FATAL(glibc_ranges(&image.source, &ranges));
		CU_ASSERT_TRUE(ranges.whole);
		for (unsigned j = 0; j < image.nr_chunks; j++) {
			const struct heap_range *range = range_with(&ranges, image.chunk[j].block);

			CU_ASSERT_PTR_NOT_NULL_FATAL(range);
			CU_ASSERT_EQUAL(range->mapped, image.chunk[j].heap == IMAGE_MAPPED);
			CU_ASSERT_TRUE(range->mapped || !image.chunk[j].heap ||
				       range->end - range->start == image_heap_max(&image));
		}
		heap_ranges_free(&ranges);
		/* Where there is no arena there is nothing, and it is not said to be all. */
		image.libc.nr_data = 0;
		CU_ASSERT_PTR_NULL_FATAL(glibc_ranges(&image.source, &ranges));
		CU_ASSERT_TRUE(!ranges.whole && !ranges.vec.nr);
		image_free(&image);
	}
}

/* What the lists of the arenas have is what a walk finds free. */
TEST("free memory without a walk")
{
	for (size_t i = 0; i < ARRAY_SIZE(image_versions); i++) {
		struct heap_ranges ranges;
		struct heap_walk walk = HEAP_WALK_INIT;
		uint64_t listed = 0, main_top = 0, other_top = 0;
		struct image image;

		image_fill(&image, &image_versions[i]);
		image.source.live = true;
		CU_ASSERT_PTR_NULL_FATAL(glibc_ranges(&image.source, &ranges));
		CU_ASSERT_FALSE(ranges.free.known);
		heap_ranges_free(&ranges);
		image.source.free_ns = 10000000000;
		CU_ASSERT_PTR_NULL_FATAL(glibc_ranges(&image.source, &ranges));
		CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
		vec_each(arena, &walk.arenas) {
			uint64_t top = arena->bytes[CHUNK_TOP];

			listed += arena->bytes[CHUNK_FREE];
			main_top += arena->main ? top : 0;
			other_top += !arena->main && top >= 4096 ? top : 0;
		}
		CU_ASSERT_TRUE(ranges.free.known && ranges.free.whole);
		CU_ASSERT_EQUAL(ranges.free.listed, listed);
		CU_ASSERT_EQUAL(ranges.free.main_top, main_top);
		CU_ASSERT_EQUAL(ranges.free.other_top, other_top);
		CU_ASSERT_TRUE(ranges.free.trimmed <= listed + main_top);
		heap_walk_free(&walk);
		heap_ranges_free(&ranges);
		image_free(&image);
	}
}

static const struct image_spec two_mapped = { .have_fastchunks = true, .wide_counts = true,
					      .safe_linking = true, .page_size = true,
					      .heaps = 1, .mapped = 2 };
static unsigned asked;

static bool nothing_written(struct memory *memory UNUSED, uint64_t start UNUSED,
			    uint64_t end UNUSED, uint64_t *start_ret UNUSED,
			    uint64_t *end_ret UNUSED)
{
	asked++;
	return false;
}

/* A chunk that malloc counts and that is not found: pages are asked for, and those untouched not read. */
TEST("ranges and touched pages")
{
	struct heap_ranges ranges;
	CLEANUP(image_free) struct image image;
	uint64_t first = 0;

	asked = 0;
	image_fill(&image, &two_mapped);
	for (unsigned i = 0; i < image.nr_chunks && !first; i++)
		if (image.chunk[i].heap == IMAGE_MAPPED)
			first = image.chunk[i].block;
	image_put(&image, first - 8, 0);
	CU_ASSERT_PTR_NULL_FATAL(glibc_ranges(&image.source, &ranges));
	CU_ASSERT_FALSE(ranges.whole);
	heap_ranges_free(&ranges);
	image.source.live = true;
	image.memory.next = nothing_written;
	CU_ASSERT_PTR_NULL_FATAL(glibc_ranges(&image.source, &ranges));
	CU_ASSERT_FALSE(ranges.whole);
	CU_ASSERT_TRUE(asked > 0);
	CU_ASSERT_PTR_NULL(range_with(&ranges, first));
	heap_ranges_free(&ranges);
}

/* The image's pieces, which are its first member's. */
static bool next_piece(struct memory *memory, uint64_t start, uint64_t end, uint64_t *start_ret,
		       uint64_t *end_ret)
{
	const struct image *image = (const struct image *)memory;
	uint64_t found = end;

	asked++;
	for (unsigned i = 0; i < image->nr_pieces; i++) {
		const struct image_piece *piece = &image->piece[i];

		if (piece->start + piece->len <= start || MAX(piece->start, start) >= found)
			continue;
		found = MAX(piece->start, start);
		*end_ret = MIN(piece->start + piece->len, end);
	}
	*start_ret = found;
	return found < end;
}

/* The kernel has made one mapping of a terabyte that was only reserved, and of the chunks behind it. */
TEST("what was never written is passed over")
{
	CLEANUP(image_free) struct image image;
	struct heap_walk walk;

	asked = 0;
	image_fill(&image, &two_mapped);
	image.memory.next = next_piece;
	image.map[image.source.nr_maps - 1].start -= 1ull << 40;
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	CU_ASSERT_TRUE(walk.mmapped_certain);
	CU_ASSERT_EQUAL(walk.mmapped, 2);
	CU_ASSERT_TRUE(asked > 0 && asked < 100);
	heap_walk_free(&walk);
}

TEST("walks each version")
{
	for (size_t i = 0; i < ARRAY_SIZE(image_versions); i++) {
		struct heap_walk walk;
		struct image image;

		image_fill(&image, &image_versions[i]);
		CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
		CU_ASSERT_EQUAL(walk.damage.nr, 0);
		for (size_t j = 0; j < walk.damage.nr; j++)
			printf("version %zu: %s\n", i, walk.damage.at[j].what);
		CU_ASSERT_EQUAL(walk.arenas.nr, image_versions[i].heaps);
		image_check(&image, &walk);
		CU_ASSERT_TRUE(walk.caches_known);
		CU_ASSERT_TRUE(walk.mmapped_known && walk.mmapped_certain);
		CU_ASSERT_EQUAL(walk.mmapped, image_versions[i].mapped);
		CU_ASSERT_EQUAL(walk.mmapped_bytes, image.mapped_bytes);
		for (unsigned j = 0; j < image_versions[i].heaps; j++) {
			CU_ASSERT_EQUAL(walk.arenas.at[j].address, image.arena[j]);
			CU_ASSERT_TRUE(walk.arenas.at[j].whole);
			CU_ASSERT_EQUAL(walk.arenas.at[j].system_mem, image.system_mem[j]);
		}
		heap_walk_free(&walk);
		image_free(&image);
	}
}

/* Without thread pointers a cache is known by what is in it. */
TEST("knows caches by content")
{
	struct heap_walk walk;
	struct image image;

	for (size_t i = 0; i < ARRAY_SIZE(image_versions); i++) {
		image_fill(&image, &image_versions[i]);
		image.source.nr_threads = 0;
		image.source.all_threads = false;
		CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
		CU_ASSERT_EQUAL(walk.damage.nr, 0);
		CU_ASSERT_FALSE(walk.caches_known);
		image_check(&image, &walk);
		heap_walk_free(&walk);
		image_free(&image);
	}
}

TEST("finds by symbol only there")
{
	struct heap_walk walk;
	CLEANUP(image_free) struct image image;
	struct err *err;

	image_fill(&image, &image_versions[7]);
	image.libc.main_arena = image.arena[0];
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	image_check(&image, &walk);
	heap_walk_free(&walk);
	image.libc.main_arena = image.arena[0] + 8;
	err = glibc_walk(&image.source, &walk);
	CU_ASSERT_FATAL(err && err->code == ERR_NOTFOUND);
}

/* Nothing was allocated yet: bins are zero. */
TEST("says that there is no arena")
{
	struct heap_walk walk;
	CLEANUP(image_free) struct image image;
	struct err *err;

	image_fill(&image, &image_versions[7]);
	for (unsigned i = 0; i < 254; i++)
		image_put(&image, image.arena[0] + image.bins + i * 8, 0);
	err = glibc_walk(&image.source, &walk);
	CU_ASSERT_FATAL(err && err->code == ERR_NOTFOUND);
}

TEST("finds what holds an address")
{
	const struct image_chunk *chunk;
	struct heap_chunk found;
	struct heap_walk walk;
	struct image image;

	image_fill(&image, &image_versions[0]);
	chunk = image_nth(&image, CHUNK_USED, 3);
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
TEST("follows a list in hand")
{
	const struct image_chunk *chunk;
	struct heap_walk walk;
	struct image image;
	unsigned size = 0x30, nr = 0;
	uint64_t bin, in_flight_word;

	image_fill(&image, &image_versions[7]);
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
TEST("follows a cache in hand")
{
	for (size_t i = 0; i < ARRAY_SIZE(image_versions); i++) {
		unsigned lists = image_versions[i].room ? 76 : 64, width = image_versions[i].wide_counts ? 2 : 1;
		struct heap_walk walk;
		struct image image;
		uint64_t entry, taken;

		image_fill(&image, &image_versions[i]);
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
