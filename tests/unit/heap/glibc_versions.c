/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heaps with chunks of all kinds, for the layouts of glibc's versions. */

#include "glibc_versions.h"

#include <CUnit/CUnit.h>

#include "log/log.h"

const struct image_spec image_versions[IMAGE_VERSIONS] = {
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
	{ .have_fastchunks = true, .wide_counts = true, .safe_linking = true, .page_size = true,
	  .huge_page = 2ull << 20, .heaps = 4, .mapped = 2, .second_heap = true },
};

void image_populate(struct image *image, unsigned heap)
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

void image_fill(struct image *image, const struct image_spec *spec)
{
	image_make(image, spec, image_populate);
}

void image_check(const struct image *image, const struct heap_walk *walk)
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

const struct image_chunk *image_nth(const struct image *image, enum chunk_kind kind, unsigned n)
{
	for (unsigned i = 0;; i++)
		if (image->chunk[i].kind == kind && !n--)
			return &image->chunk[i];
}
