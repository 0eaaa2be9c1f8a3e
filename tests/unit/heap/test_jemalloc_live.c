/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of jemalloc's heap, by the library that is installed, and what becomes of it under damage. */

#include "heap/heap_walk.h"

#include "live_image.h"
#include "unit.h"

static struct live_image image;

static int setup(void)
{
	live_image_take_library(&image, "libjemalloc");
	return 0;
}

static int teardown(void)
{
	live_image_free(&image);
	return 0;
}

FIXTURE(setup, teardown);

TEST("all blocks are listed, with room for what was asked for")
{
	struct heap_walk walk;
	struct heap_chunk chunk;
	unsigned missing = 0;

	if (!live_image_is_there(&image))
		return;
	CU_ASSERT_PTR_NULL_FATAL(jemalloc_walk(&image.source, &walk));
	for (unsigned i = 0; i < image.nr_blocks; i++)
		missing += !heap_chunk_at(&walk.chunks, image.block[i].address, &chunk, NULL) ||
			   chunk.kind != CHUNK_USED || chunk.size < image.block[i].size;
	CU_ASSERT_EQUAL(missing, 0);
	CU_ASSERT_EQUAL(heap_walk_all_damage(&walk), 0);
	heap_walk_free(&walk);
}

TEST("survives any damage")
{
	if (live_image_is_there(&image))
		CU_ASSERT_EQUAL(live_image_forge(&image, jemalloc_walk, NULL), 0);
}
