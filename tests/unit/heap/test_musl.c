/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of the heap of musl's mallocng, by the C library that is installed. */

#include "heap/heap_walk.h"

#include "base/page.h"
#include "live_image.h"
#include "log/log.h"
#include "unit.h"

static struct live_image image;

static int setup(void)
{
	char command[1024], program[64];

	snprintf(program, sizeof(program), "/tmp/mdbg-unit-%d-known", getpid());
	snprintf(command, sizeof(command),
		 "musl-gcc -static -O2 -D_GNU_SOURCE -I%s/tests/targets -o %s %s/tests/targets/known.c "
		 "2>/dev/null", getenv("MDBG_SOURCE"), program, getenv("MDBG_SOURCE"));
	image.of = "musl-gcc";
	if (!system(command))
		live_image_take(&image, image.of, program, NULL, program);
	unlink(program);
	return 0;
}

static int teardown(void)
{
	live_image_free(&image);
	return 0;
}

FIXTURE(setup, teardown);

TEST("all blocks are there, and none that is free")
{
	struct heap_walk walk;
	const char *wrong;

	if (!live_image_is_there(&image))
		return;
	CU_ASSERT_PTR_NULL_FATAL(musl_walk(&image.source, &walk));
	wrong = live_image_compare(&image, &walk);
	if (wrong)
		printf("%s\n", wrong);
	CU_ASSERT_PTR_NULL(wrong);
	CU_ASSERT_EQUAL(heap_walk_all_damage(&walk), 0);
	CU_ASSERT_TRUE(walk.caches_known && walk.mmapped_certain && walk.mmapped > 0);
	CU_ASSERT_TRUE(walk.arenas.nr == 1 && walk.arenas.at[0].whole && walk.arenas.at[0].bare);
	heap_walk_free(&walk);
}

/* Each block begins where the allocator says. */
TEST("blocks begin where they begin")
{
	struct heap_walk walk;
	struct heap_chunk chunk;

	if (!live_image_is_there(&image))
		return;
	CU_ASSERT_PTR_NULL_FATAL(musl_walk(&image.source, &walk));
	for (size_t i = 0; i < image.nr_blocks; i++)
		CU_ASSERT_TRUE(heap_chunk_at(&walk.chunks, image.block[i].address, &chunk, NULL) &&
			       chunk.kind == CHUNK_USED);
	heap_walk_free(&walk);
}

TEST("without a context nothing is found")
{
	struct heap_walk walk;
	struct err *err;

	if (!live_image_is_there(&image))
		return;
	image.source.nr_libcs = 0;
	err = musl_walk(&image.source, &walk);
	CU_ASSERT_TRUE_FATAL(err != NULL);
	CU_ASSERT_EQUAL(err->code, ERR_NOTFOUND);
	image.source.nr_libcs = 1;
}

/* The first page that begins with the secret: a meta area. */
static uint64_t first_area(const struct live_image *of, uint64_t secret)
{
	for (unsigned i = 0; i < of->nr_pieces; i++)
		for (uint64_t at = of->piece[i].start; at < of->piece[i].start + of->piece[i].len;
		     at += PAGE)
			if (of->map[i].anonymous && live_image_word(of, at) == secret)
				return at;
	return 0;
}

static uint64_t context;

static void find_context(void)
{
	struct heap_walk walk;

	CU_ASSERT_PTR_NULL_FATAL(musl_walk(&image.source, &walk));
	context = walk.arenas.at[0].address;
	heap_walk_free(&walk);
}

/* Words of the context, of meta areas, of headers, and all others. */
static uint64_t pick(const struct live_image *of, uint64_t random)
{
	static uint64_t area;
	const struct live_block *block = &of->block[random / 16 % of->nr_blocks];
	const struct live_piece *piece = &of->piece[random / 16 % of->nr_pieces];

	if (!area)
		area = first_area(of, live_image_word(of, context));
	switch (random % 8) {
	case 0:
		return context + random / 16 % 110 * 8;
	case 1:
		return block->address - 8;
	case 2:
		return (block->address & ~(PAGE - 1)) + 8 * (random / 65536 % 2);
	case 3:
		return piece->start + random / 65536 % (piece->len / 8) * 8;
	default:
		return area + random / 16 % 512 * 8;
	}
}

TEST("survives any damage")
{
	if (!live_image_is_there(&image))
		return;
	find_context();
	CU_ASSERT_EQUAL(live_image_forge(&image, musl_walk, pick), 0);
}

TEST("damage is named")
{
	struct heap_walk walk;
	uint64_t area, was, block;
	size_t i;

	if (!live_image_is_there(&image))
		return;
	find_context();
	area = first_area(&image, live_image_word(&image, context));
	/* where the group of the first meta is that is in use */
	for (block = area + 24 + 16; !live_image_word(&image, block); block += 40)
		;
	was = live_image_word(&image, block);
	live_image_put(&image, block, was + 32);
	CU_ASSERT_PTR_NULL_FATAL(musl_walk(&image.source, &walk));
	CU_ASSERT_TRUE(walk.damages >= 1);
	CU_ASSERT_EQUAL(walk.damage.at[0].address, block);
	heap_walk_free(&walk);
	live_image_put(&image, block, was);
	/* the header of a block in a group: those that are mapped alone are of no arena */
	for (i = image.nr_blocks / 2; image.block[i % image.nr_blocks].size >= PAGE; i++)
		;
	block = image.block[i % image.nr_blocks].address;
	was = live_image_word(&image, block - 8);
	live_image_put(&image, block - 8, was ^ 1ull << 43);
	CU_ASSERT_PTR_NULL_FATAL(musl_walk(&image.source, &walk));
	CU_ASSERT_TRUE(walk.damages >= 1);
	CU_ASSERT_TRUE(!walk.arenas.at[0].whole);
	heap_walk_free(&walk);
	live_image_put(&image, block - 8, was);
}
