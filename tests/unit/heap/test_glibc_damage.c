/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of glibc's heaps where they are damaged: what is told, and where it goes on. */

#include "fixture.h"
#include "glibc_versions.h"

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
TEST("goes on behind a bad header")
{
	struct heap_walk walk;
	CLEANUP(image_free) struct image image;
	const struct image_chunk *bad;
	struct heap_chunk chunk;
	uint64_t known;

	image_fill(&image, &image_versions[7]);
	bad = image_nth(&image, CHUNK_USED, 5);
	known = image_nth(&image, CHUNK_USED, 6)->block;
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
}

/* A block was written past its end, and the size of the top chunk with it: nothing else is lost. */
TEST("goes up to a bad top")
{
	static const uint64_t bad[] = { 0x4141414141414141, 0, 0x31, 0x1001 };

	for (size_t i = 0; i < ARRAY_SIZE(image_versions) * ARRAY_SIZE(bad); i++) {
		const struct image_spec *spec = &image_versions[i / ARRAY_SIZE(bad)];
		struct heap_walk walk;
		struct image image;

		image_fill(&image, spec);
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
			image_check(&image, &walk);
		}
		heap_walk_free(&walk);
		image_free(&image);
	}
}

TEST("tells of bad lists")
{
	const struct image_chunk *chunk;
	struct heap_walk walk;
	struct image image;

	/* A list that comes round to itself. */
	image_fill(&image, &image_versions[3]);
	chunk = image_nth(&image, CHUNK_FAST, 0);
	image_put(&image, chunk->block, chunk->block - 16);
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	CU_ASSERT_TRUE(tells_of(&walk, chunk->block));
	heap_walk_free(&walk);
	image_free(&image);
	/* A cache's list into nowhere. */
	image_fill(&image, &image_versions[7]);
	chunk = image_nth(&image, CHUNK_CACHED, 19);
	image_put(&image, chunk->block, 0x1234);
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	CU_ASSERT_TRUE(tells_of(&walk, chunk->block));
	heap_walk_free(&walk);
	image_free(&image);
	/* A bin's chunk that does not point back; its size at its end. */
	image_fill(&image, &image_versions[7]);
	chunk = image_nth(&image, CHUNK_FREE, 2);
	image_put(&image, chunk->block + 8, 0);
	image_put(&image, chunk->block - 16 + chunk->size, 0x40);
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	CU_ASSERT_TRUE(tells_of(&walk, chunk->block + 8));
	CU_ASSERT_TRUE(tells_of(&walk, chunk->block - 16 + chunk->size));
	image_check(&image, &walk);
	heap_walk_free(&walk);
	image_free(&image);
}

/* In a cache that counts what it has room for: one list says that it has one more; one is of another size. */
TEST("tells of bad rooms")
{
	struct heap_walk walk;
	struct image image;
	uint64_t entry;

	image_fill(&image, &image_versions[9]);
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
TEST("goes on behind a foreign sbrk")
{
	struct heap_walk walk;
	struct image image;
	uint64_t gap;

	image_init(&image, &image_versions[8]);
	image_populate(&image, 0);
	gap = image.at[0];
	image_put(&image, gap + 8, 0x11);
	image_put(&image, gap + 16 + 8, 0x11);
	for (unsigned i = 32; i < 0x1000; i += 8)
		image_put(&image, gap + i, 0x2121212121212121);
	image.at[0] += 0x1000;
	image_populate(&image, 0);
	image_end(&image);
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	CU_ASSERT_EQUAL(walk.damage.nr, 0);
	image_check(&image, &walk);
	heap_walk_free(&walk);
	image_free(&image);
}

/* A mapping of the program's that looks like a chunk: the counts do not agree, and that is said. */
TEST("says what is not certain")
{
	struct heap_walk walk;
	struct image image;

	image_fill(&image, &image_versions[7]);
	image_put(&image, image_nth(&image, CHUNK_MMAPPED, 0)->block - 8, 0);
	image_put(&image, 0x7f0000400000ull + image.mapped_bytes + 8, 0x1002);
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	CU_ASSERT_TRUE(walk.mmapped_known);
	CU_ASSERT_FALSE(walk.mmapped_certain);
	heap_walk_free(&walk);
	image_free(&image);
}

/* Small negative numbers are headers of chunks as long as all memory, but for the end of them. */
TEST("passes by a negative number")
{
	for (int64_t number = -64; number < 0; number++) {
		struct heap_walk walk;
		struct image image;

		image_fill(&image, &image_versions[7]);
		image_put(&image, image_nth(&image, CHUNK_MMAPPED, 0)->block - 8, (uint64_t)number);
		CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
		CU_ASSERT_FALSE(walk.mmapped_certain);
		heap_walk_free(&walk);
		image_free(&image);
	}
}
