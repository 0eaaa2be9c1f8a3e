/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which damage of a heap is certain, and which may be a change that a thread is in the middle of. */

#include "fixture.h"
#include "glibc_image.h"

#define TID	4711

static const struct image_spec spec = {
	.have_fastchunks = true, .wide_counts = true, .safe_linking = true, .page_size = true, .heaps = 2,
};

static struct image image;
static uint64_t used[2], cached;	/* a block of each heap, and one in the cache of the first thread */
static uint64_t foot[2];		/* the size at the end of a free chunk */
static uint64_t word[2];
static struct heap_inside inside[2];

static void make(void)
{
	image_init(&image, &spec);
	for (unsigned heap = 0; heap < 2; heap++) {
		for (unsigned i = 0; i < 8; i++) {
			image_chunk(&image, heap, 0x40, CHUNK_USED);
			foot[heap] = image_chunk(&image, heap, 0x90 + 0x40 * i, CHUNK_FREE) - 16 +
				     0x90 + 0x40 * i;
		}
		used[heap] = image_chunk(&image, heap, 0x50, CHUNK_USED);
	}
	cached = image_chunk(&image, 0, 0x30, CHUNK_CACHED);
	image_chunk(&image, 0, 0x60, CHUNK_CACHED);
	image_end(&image);
	inside[0] = (struct heap_inside){ .tid = TID, .word = word, .nr_words = ARRAY_SIZE(word) };
	inside[1] = (struct heap_inside){ .tid = TID + 1, .word = word, .nr_words = 0 };
	image.source.inside = inside;
}

static void lock(unsigned heap)
{
	image_put(&image, image.arena[heap], image_get(&image, image.arena[heap]) | 1);
}

/* Walk, and expect one damage of this heap. */
static void expect(unsigned heap, enum heap_doubt_why why, pid_t thread)
{
	CLEANUP(heap_walk_free) struct heap_walk walk;

	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	CU_ASSERT_EQUAL_FATAL(walk.damage.nr, 1);
	CU_ASSERT_EQUAL(walk.damage.at[0].heap, heap);
	CU_ASSERT_EQUAL(walk.damage.at[0].doubt.why, why);
	if (why)
		CU_ASSERT_EQUAL(walk.damage.at[0].doubt.thread, thread);
	CU_ASSERT_EQUAL(walk.damages, why == HEAP_DOUBT_NONE);
	CU_ASSERT_EQUAL(walk.uncertain, why != HEAP_DOUBT_NONE);
	CU_ASSERT_EQUAL(walk.arenas.at[heap].damaged, why == HEAP_DOUBT_NONE);
	CU_ASSERT_FALSE(walk.arenas.at[heap].whole);
	CU_ASSERT_TRUE(walk.arenas.at[!heap].whole);
	CU_ASSERT_FALSE(walk.arenas.at[!heap].damaged);
}

TEST("believes what nobody changes")
{
	make();
	image_put(&image, foot[1], 0x4141414141414141);
	expect(1, HEAP_DOUBT_NONE, 0);
	/* A thread inside, in another heap, and one that holds no lock. */
	image.source.nr_inside = 2;
	word[0] = image.arena[0];
	lock(0);
	expect(1, HEAP_DOUBT_NONE, 0);
	image_free(&image);
}

TEST("doubts a locked heap")
{
	make();
	image_put(&image, foot[1], 0x4141414141414141);
	lock(1);
	word[0] = 0;
	expect(1, HEAP_DOUBT_LOCKED, 0);
	image.source.nr_inside = 2;
	expect(1, HEAP_DOUBT_LOCKED, 0);
	word[0] = image.arena[1];
	expect(1, HEAP_DOUBT_INSIDE, TID);
	/* One holds it, and one waits for it. */
	inside[1].nr_words = ARRAY_SIZE(word);
	expect(1, HEAP_DOUBT_LOCKED, 0);
	image_free(&image);
}

TEST("doubts where nobody locks")
{
	make();
	image_put(&image, foot[0], 0x4141414141414141);
	image.source.lockless = true;
	expect(0, HEAP_DOUBT_NONE, 0);
	image.source.nr_inside = 1;
	expect(0, HEAP_DOUBT_INSIDE, TID);
	image_free(&image);
}

TEST("believes an abort")
{
	make();
	image_put(&image, foot[1], 0x4141414141414141);
	image.source.nr_inside = 1;
	inside[0].aborts = true;
	image.source.lockless = true;
	expect(1, HEAP_DOUBT_NONE, 0);
	image.source.lockless = false;
	lock(1);
	word[0] = image.arena[1];
	expect(1, HEAP_DOUBT_NONE, 0);
	image_free(&image);
}

/* A list of a cache says that it has one more. */
static void one_more(unsigned list)
{
	uint64_t count = image.cache[0] + 2 * list;

	image_put(&image, count, image_get(&image, count) + 1);
}

/* Only its own thread changes a cache, and without a lock. */
TEST("doubts a cache")
{
	make();
	one_more(1);
	image.source.nr_inside = 1;
	inside[0].tp = image.threads[1];
	expect(0, HEAP_DOUBT_NONE, 0);
	inside[0].tp = image.threads[0];
	expect(0, HEAP_DOUBT_INSIDE, TID);
	/* Nobody is known to have it. */
	image.source.nr_inside = 0;
	image.source.nr_threads = 0;
	expect(0, HEAP_DOUBT_NO_THREAD, 0);
	image_free(&image);
}

/* A cache leads to a block of a heap that another thread is changing. */
TEST("doubts where a cache leads")
{
	struct heap_walk walk;

	make();
	image_put(&image, cached, (used[1] + 0x10) ^ cached >> 12);
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&image.source, &walk));
	CU_ASSERT_EQUAL(walk.uncertain, 0);
	CU_ASSERT_TRUE(walk.damages > 0);
	heap_walk_free(&walk);
	lock(1);
	expect(0, HEAP_DOUBT_LOCKED, 0);
	/* Whose it is is not known: it may be that of a thread inside. */
	image.source.nr_threads = 0;
	image.source.nr_inside = 1;
	expect(0, HEAP_DOUBT_INSIDE, TID);
	image_free(&image);
}

/* A cache that nobody is known to have may be too short, but leads to no wrong place. */
TEST("believes where a lone cache leads")
{
	make();
	image_put(&image, cached, (used[1] + 0x10) ^ cached >> 12);
	image.source.nr_threads = 0;
	expect(0, HEAP_DOUBT_NONE, 0);
	image_free(&image);
}
