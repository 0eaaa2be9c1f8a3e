/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of mimalloc's heap, by the library that is installed. */

#include "heap/mimalloc/mimalloc.h"

#include "live_image.h"
#include "log/log.h"
#include "unit.h"

static struct live_image image;

static int setup(void)
{
	live_image_take_library(&image, "libmimalloc");
	return 0;
}

static int teardown(void)
{
	live_image_free(&image);
	return 0;
}

FIXTURE(setup, teardown);

static uint64_t first_segment(void)
{
	for (unsigned i = 0; i < image.nr_pieces; i++)
		if (image.map[i].anonymous && image.piece[i].start % SEGMENT_STEP == 0)
			return image.piece[i].start;
	return 0;
}

TEST("all blocks are there, and none that is free")
{
	struct heap_walk walk;
	const char *wrong;

	if (!live_image_is_there(&image))
		return;
	CU_ASSERT_PTR_NULL_FATAL(mimalloc_walk(&image.source, &walk));
	wrong = live_image_compare(&image, &walk);
	if (wrong)
		printf("%s\n", wrong);
	CU_ASSERT_PTR_NULL(wrong);
	CU_ASSERT_EQUAL(heap_walk_all_damage(&walk), 0);
	CU_ASSERT_TRUE(walk.caches_known && walk.mmapped_certain);
	CU_ASSERT_TRUE(walk.arenas.nr == 1 && walk.arenas.at[0].whole && walk.arenas.at[0].bare);
	heap_walk_free(&walk);
}

static unsigned reads;

static struct err *counted_read(struct memory *memory UNUSED, uint64_t addr, void *buf, size_t len,
				size_t *len_ret)
{
	reads++;
	return image.memory.read(&image.memory, addr, buf, len, len_ret);
}

static bool next_piece(struct memory *memory UNUSED, uint64_t start, uint64_t end,
		       uint64_t *start_ret, uint64_t *end_ret)
{
	for (unsigned i = 0; i < image.nr_pieces; i++) {
		const struct live_piece *piece = &image.piece[i];

		*start_ret = MAX(piece->start, start);
		*end_ret = MIN(piece->start + piece->len, end);
		if (*start_ret < *end_ret)
			return true;
	}
	return false;
}

TEST("what was only reserved is passed over")
{
	struct memory memory = { .read = counted_read, .next = next_piece };
	struct heap_map map[LIVE_PIECES + 1] = { { .start = 1ull << 40, .end = 1ull << 41,
						   .anonymous = true } };
	struct heap_source source = image.source;
	struct heap_walk walk;
	unsigned without;

	if (!live_image_is_there(&image))
		return;
	source.memory = &memory;
	reads = 0;
	CU_ASSERT_PTR_NULL_FATAL(mimalloc_walk(&source, &walk));
	heap_walk_free(&walk);
	without = reads;
	CU_ASSERT_TRUE(source.map[0].start > map[0].end);
	memcpy(&map[1], source.map, source.nr_maps * sizeof(*map));
	source.map = map;
	source.nr_maps++;
	reads = 0;
	CU_ASSERT_PTR_NULL_FATAL(mimalloc_walk(&source, &walk));
	CU_ASSERT_EQUAL(reads, without);
	CU_ASSERT_PTR_NULL(live_image_compare(&image, &walk));
	heap_walk_free(&walk);
}

TEST("where the data do not know the segments nothing is found")
{
	struct heap_walk walk;
	struct err *err;

	if (!live_image_is_there(&image))
		return;
	image.source.nr_libcs = 0;
	err = mimalloc_walk(&image.source, &walk);
	CU_ASSERT_TRUE_FATAL(err != NULL);
	CU_ASSERT_EQUAL(err->code, ERR_UNSUPPORTED);
	image.source.nr_libcs = 1;
}

/* All links of free blocks are other words. */
TEST("encoded lists are refused")
{
	struct heap_walk walk;
	struct err *err;
	uint64_t segment, was[1024];

	if (!live_image_is_there(&image))
		return;
	/* 2.0.9: elements of 80 bytes from byte 264 on, with the lists at 16, 32 and 40 */
	segment = first_segment();
	for (unsigned i = 0; i < 512; i++)
		for (unsigned j = 0; j < 2; j++) {
			uint64_t at = segment + 264 + 80 * i + (j ? 32 : 16);

			was[2 * i + j] = live_image_word(&image, at);
			live_image_put(&image, at, was[2 * i + j] ^ 0x5a5a5a5a5a5a5a5a);
		}
	err = mimalloc_walk(&image.source, &walk);
	CU_ASSERT_TRUE_FATAL(err != NULL);
	CU_ASSERT_EQUAL(err->code, ERR_UNSUPPORTED);
	CU_ASSERT_PTR_NOT_NULL(strstr(err->msg, "encoded"));
	for (unsigned i = 0; i < 1024; i++)
		live_image_put(&image, segment + 264 + 80 * (i / 2) + (i % 2 ? 32 : 16), was[i]);
}

/* Words of headers, of the library's data, and at the beginning of blocks. */
static uint64_t pick(const struct live_image *of, uint64_t random)
{
	const struct live_block *block = &of->block[random / 16 % of->nr_blocks];
	const struct heap_map *data = &of->data[random / 16 % of->libc.nr_data];

	switch (random % 8) {
	case 0:
		return data->start + random / 256 % ((data->end - data->start) / 8) * 8;
	case 1:
		return block->address;
	case 2:
		return (block->address & ~(SEGMENT_STEP - 1)) + random / 65536 % 40 * 8;
	default:
		return (block->address & ~(SEGMENT_STEP - 1)) + random / 65536 % 2048 * 8;
	}
}

TEST("survives any damage")
{
	if (live_image_is_there(&image))
		CU_ASSERT_EQUAL(live_image_forge(&image, mimalloc_walk, pick), 0);
}

TEST("damage is named")
{
	struct heap_walk walk;
	uint64_t at, was;

	if (!live_image_is_there(&image))
		return;
	/* how many pages of the segment are in use, and then its cookie */
	for (unsigned word = 26; word < 28; word++) {
		at = first_segment() + 8 * word;
		was = live_image_word(&image, at);
		live_image_put(&image, at, was + 1);
		CU_ASSERT_PTR_NULL_FATAL(mimalloc_walk(&image.source, &walk));
		CU_ASSERT_TRUE(walk.damages >= 1);
		CU_ASSERT_EQUAL(walk.damage.at[0].address, at);
		heap_walk_free(&walk);
		live_image_put(&image, at, was);
	}
}
