/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two walks that become one. */

#include "heap/bare_walk.h"
#include "log/log.h"
#include "unit.h"

static void add(struct heap_walk *walk, uint64_t start, uint16_t heap, bool bare)
{
	struct heap_chunk chunk = { .address = start + 16, .size = 4096, .heap = heap, .bare = bare };
	struct heap_span span = { start, start + 4096, heap };
	struct heap_damage damage = { .address = start, .heap = heap };
	bool new_run;

	if (heap_chunks_add(&walk->chunks, &chunk, &new_run) || vec_push(&walk->spans, span) ||
	    vec_push(&walk->damage, damage))
		abort();
	walk->damages++;
}

/* A walk with two arenas and memory at `at`, `at` + 0x2000 and, mapped, at `at` + 0x4000. */
static struct heap_walk walk_at(uint64_t at, bool bare)
{
	struct heap_walk walk = HEAP_WALK_INIT;

	for (unsigned i = 0; i < 2; i++)
		if (vec_push(&walk.arenas, ((struct heap_arena){ .address = at + i, .bare = bare })))
			abort();
	add(&walk, at, 0, bare);
	add(&walk, at + 0x2000, 1, bare);
	add(&walk, at + 0x4000, LOG_HEAP_MMAP, bare);
	walk.mmapped_certain = walk.caches_known = true;
	return walk;
}

TEST("arenas of the second follow those of the first")
{
	static const uint16_t heaps[] = { 0, 2, 1, 3, LOG_HEAP_MMAP, LOG_HEAP_MMAP };
	struct heap_walk walk = walk_at(0x10000, false), other = walk_at(0x11000, true);
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk = { .size = 0 };

	other.caches_known = false;
	CU_ASSERT_TRUE_FATAL(!heap_walk_join(&walk, &other));
	CU_ASSERT_EQUAL(walk.arenas.nr, 4);
	CU_ASSERT_TRUE(!walk.arenas.at[1].bare && walk.arenas.at[2].bare);
	CU_ASSERT_EQUAL_FATAL(walk.spans.nr, ARRAY_SIZE(heaps));
	for (unsigned i = 0; i < ARRAY_SIZE(heaps); i++) {
		CU_ASSERT_TRUE_FATAL(heap_chunks_next(&walk.chunks, &at, &chunk));
		CU_ASSERT_EQUAL(chunk.address, 0x10010 + 0x1000 * i);
		CU_ASSERT_EQUAL(chunk.heap, heaps[i]);
		CU_ASSERT_EQUAL(walk.spans.at[i].start, 0x10000 + 0x1000 * i);
		CU_ASSERT_EQUAL(walk.spans.at[i].heap, heaps[i]);
	}
	CU_ASSERT_EQUAL(walk.damages, 6);
	CU_ASSERT_EQUAL(walk.damage.at[4].heap, 3);
	CU_ASSERT_TRUE(walk.mmapped_certain && !walk.caches_known);
	CU_ASSERT_EQUAL(other.chunks.nr, 0);
	heap_walk_free(&walk);
}

TEST("memory belongs to one of them")
{
	struct heap_walk walk = walk_at(0x10000, false), other = walk_at(0x12800, true);
	struct err *err = heap_walk_join(&walk, &other);

	CU_ASSERT_TRUE(err && err->code == ERR_FORMAT);
	CU_ASSERT_TRUE(!other.spans.at);
	heap_walk_free(&walk);
}

TEST("a span of bare chunks stays one of its own, and so do the free chunks in it")
{
	const struct heap_source source = { .memory = NULL };
	struct heap_walk walk = HEAP_WALK_INIT;
	struct bare_walk bare = BARE_WALK_INIT(&source, &walk);

	CU_ASSERT_PTR_NULL(bare_walk_arena(&bare, 0));
	for (uint64_t at = 0x10000; at < 0x12000; at += 0x1000) {
		CU_ASSERT_PTR_NULL(bare_walk_span(&bare, at, at + 0x1000, 0));
		CU_ASSERT_PTR_NULL(bare_walk_add(&bare, at, 0x800, CHUNK_FREE, 0));
		CU_ASSERT_PTR_NULL(bare_walk_add(&bare, at + 0x800, 0x800, CHUNK_FREE, 0));
	}
	CU_ASSERT_PTR_NULL(bare_walk_end(&bare));
	CU_ASSERT_EQUAL(walk.spans.nr, 2);
	CU_ASSERT_EQUAL(walk.chunks.nr, 2);
	CU_ASSERT_EQUAL(walk.arenas.at[0].system_mem, 0x2000);
	bare_walk_free(&bare);
	heap_walk_free(&walk);
}
