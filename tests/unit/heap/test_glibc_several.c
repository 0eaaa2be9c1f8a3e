/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several glibcs in one process: images beside each other, which one walk sees. */

#include "glibc_image.h"
#include "glibc_versions.h"
#include "log/log.h"
#include "unit.h"

#define SEVERAL	3u
#define SHIFT	(1ull << 36)

struct several {
	struct memory memory;
	struct image image[SEVERAL];
	struct heap_libc libc[SEVERAL];
	struct heap_map map[SEVERAL * IMAGE_PIECES];
	uint64_t thread[SEVERAL * IMAGE_HEAPS];
	struct heap_source source;
};

static struct err *several_read(struct memory *memory, uint64_t addr, void *buf, size_t len,
				size_t *len_ret)
{
	struct several *several = (struct several *)memory;
	struct err *err = NULL;

	for (unsigned i = 0; i < SEVERAL; i++) {
		struct memory *of = &several->image[i].memory;

		err = of->read(of, addr, buf, len, len_ret);
		if (!err)
			return NULL;
	}
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct heap_map *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The first image has brk. Those from nr on are of glibcs that were unloaded: nobody names them. */
static void make(struct several *several, const struct image_spec *spec, unsigned nr)
{
	size_t maps = 0, threads = 0;

	memset(several, 0, sizeof(*several));
	for (unsigned i = 0; i < SEVERAL; i++) {
		struct image *image = &several->image[i];
		struct image_spec is = *spec;

		is.apart = i > 0;
		is.blocked = i > 0;
		is.shift = (SEVERAL - i) * SHIFT;
		image_fill(image, &is);
		several->libc[i] = *image->source.libc;
		for (size_t j = 0; j < image->source.nr_maps; j++)
			several->map[maps++] = image->source.map[j];
		for (size_t j = 0; i < nr && j < image->source.nr_threads; j++)
			several->thread[threads++] = image->source.thread[j];
	}
	qsort(several->map, maps, sizeof(several->map[0]), by_start);
	several->memory.read = several_read;
	several->source = several->image[0].source;
	several->source.memory = &several->memory;
	several->source.map = several->map;
	several->source.nr_maps = maps;
	several->source.libc = several->libc;
	several->source.nr_libcs = nr;
	several->source.thread = several->thread;
	several->source.nr_threads = threads;
}

static void end(struct several *several)
{
	for (unsigned i = 0; i < SEVERAL; i++)
		image_free(&several->image[i]);
}

static uint64_t used_chunks(const struct image *image)
{
	uint64_t nr = 0;

	for (unsigned i = 0; i < image->nr_chunks; i++)
		nr += image->chunk[i].heap != IMAGE_MAPPED;
	return nr;
}

/* first: the number of the image's main heap. */
static void check_image(const struct image *image, const struct heap_walk *walk, unsigned first)
{
	for (unsigned i = 0; i < image->nr_chunks; i++) {
		const struct image_chunk *truth = &image->chunk[i];
		struct heap_chunk chunk;

		CU_ASSERT_TRUE_FATAL(heap_chunk_at(&walk->chunks, truth->block, &chunk, NULL));
		CU_ASSERT_EQUAL(chunk.size, truth->size);
		CU_ASSERT_EQUAL(chunk.kind, truth->kind);
		CU_ASSERT_EQUAL(chunk.heap, truth->heap == IMAGE_MAPPED ? LOG_HEAP_MMAP :
								     first + truth->heap);
	}
	for (unsigned i = 0; i < image->spec.heaps; i++) {
		CU_ASSERT_EQUAL(walk->arenas.at[first + i].address, image->arena[i]);
		CU_ASSERT_EQUAL(walk->arenas.at[first + i].main, !i);
		CU_ASSERT_TRUE(walk->arenas.at[first + i].whole);
	}
}

static void walk_and_check(struct several *several, unsigned nr)
{
	uint64_t chunks = 0, mapped = 0;
	CLEANUP(heap_walk_free) struct heap_walk walk;
	unsigned first = 0;

	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&several->source, &walk));
	CU_ASSERT_EQUAL(heap_walk_all_damage(&walk), 0);
	CU_ASSERT_TRUE(walk.mmapped_certain);
	CU_ASSERT_TRUE(walk.caches_known);
	CU_ASSERT_EQUAL(walk.unknown_libcs, 0);
	for (unsigned i = 0; i < nr; i++) {
		const struct image *image = &several->image[i];

		check_image(image, &walk, first);
		CU_ASSERT_EQUAL(walk.arenas.at[first].brk, !i);
		first += image->spec.heaps;
		chunks += used_chunks(image) + image->spec.mapped;
		mapped += image->spec.mapped;
	}
	CU_ASSERT_EQUAL(walk.arenas.nr, first);
	CU_ASSERT_EQUAL(walk.mmapped, mapped);
	CU_ASSERT_EQUAL(walk.chunks.nr, chunks);
}

/* Each version's layout. The one with brk is heap 0, whatever its place. */
TEST("the one with brk is first")
{
	static struct several several;

	for (unsigned i = 0; i < IMAGE_VERSIONS; i++) {
		if (image_versions[i].blocked || image_versions[i].uneven_brk ||
		    image_versions[i].no_fastbins)
			continue;
		make(&several, &image_versions[i], 3);
		walk_and_check(&several, 3);
		/* The library of LD_AUDIT comes before that of the program. */
		several.libc[0] = *several.image[1].source.libc;
		several.libc[1] = *several.image[0].source.libc;
		walk_and_check(&several, 3);
		end(&several);
	}
}

/* The main heaps of those that were unloaded stay mapped; they are nobody's. */
TEST("beside what was unloaded")
{
	static struct several several;
	struct image_spec spec = image_versions[7];

	spec.mapped = 0;	/* those could be of anybody */
	make(&several, &spec, 2);
	walk_and_check(&several, 2);
	end(&several);
}

/* One in which nothing was allocated has no heaps; of one with strange data they are not known. */
TEST("without arenas")
{
	static struct several several;
	struct image_spec spec = image_versions[7];
	struct heap_walk walk;

	spec.mapped = 0;
	for (unsigned strange = 0; strange < 2; strange++) {
		const struct image *image = &several.image[1];
		uint64_t bins;

		make(&several, &spec, 2);
		bins = image->arena[0] + image->bins;
		for (unsigned i = 0; i < 254; i++)
			image_put(&several.image[1], bins + i * 8, strange);
		image_put(&several.image[1], bins + 256 * 8, image->arena[0]);
		CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&several.source, &walk));
		CU_ASSERT_EQUAL(walk.unknown_libcs, strange ? 2 : 0);
		CU_ASSERT_EQUAL(walk.arenas.nr, spec.heaps);
		check_image(&several.image[0], &walk, 0);
		heap_walk_free(&walk);
		end(&several);
	}
}
