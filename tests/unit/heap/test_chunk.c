/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of a heap's chunks, against an array. */

#include "heap/heap_chunk.h"
#include "unit.h"

#define NR	5000u

static struct heap_chunk truth[NR];
static struct heap_chunks chunks;

/* Sizes of all lengths of code, gaps, several heaps, runs of all lengths, with and without headers. */
static int setup(void)
{
	static const uint64_t sizes[] = { 32, 48, 0x3fe0, 0x3ff0, 0x3ff8, 0x123456789a0, 40, 1040 };
	uint64_t address = 0x10010;
	uint32_t dice = 1;
	bool new_run;

	for (unsigned i = 0; i < NR; i++) {
		dice = dice * 1664525 + 1013904223;
		if (dice >> 26 == 0 || i % 300 == 0)
			address += 16 * (1 + (dice >> 10 & 7));
		truth[i] = (struct heap_chunk){
			.address = address,
			.size = sizes[dice >> 20 & 31 ? dice >> 27 & 1 : dice >> 27 & 7],
			.heap = (uint16_t)(i / 700),
			.kind = dice >> 12 & 3,
			.bare = i / 300 % 2,
		};
		address += truth[i].size;
		if (heap_chunks_add(&chunks, &truth[i], &new_run))
			return 1;
	}
	return 0;
}

static int teardown(void)
{
	heap_chunks_free(&chunks);
	return 0;
}

FIXTURE(setup, teardown);

static bool same(const struct heap_chunk *a, const struct heap_chunk *b)
{
	return a->address == b->address && a->size == b->size && a->heap == b->heap &&
	       a->kind == b->kind && a->note == b->note && a->bare == b->bare;
}

static void check_all(void)
{
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk = { .size = 0 };

	CU_ASSERT_EQUAL(chunks.nr, NR);
	for (unsigned i = 0; i < NR; i++) {
		CU_ASSERT_TRUE_FATAL(heap_chunks_next(&chunks, &at, &chunk));
		CU_ASSERT_TRUE_FATAL(same(&chunk, &truth[i]));
	}
	CU_ASSERT_FALSE(heap_chunks_next(&chunks, &at, &chunk));
}

TEST("gives all in order")
{
	check_all();
	/* Two bytes a chunk and half a byte of index, but for the few that are long or begin a run. */
	CU_ASSERT_TRUE(chunks.code.nr * 2 + chunks.run.nr * sizeof(struct heap_run) < 4 * NR);
}

TEST("finds by address")
{
	struct heap_chunk chunk = { .size = 0 };
	struct chunk_at at;

	for (unsigned i = 0; i < NR; i++) {
		unsigned header = truth[i].bare ? 0 : 8;

		CU_ASSERT_TRUE_FATAL(heap_chunk_at(&chunks, truth[i].address, &chunk, &at));
		CU_ASSERT_TRUE_FATAL(same(&chunk, &truth[i]));
		CU_ASSERT_FALSE_FATAL(heap_chunk_at(&chunks, truth[i].address + 8, &chunk, NULL));
		CU_ASSERT_TRUE_FATAL(heap_chunk_around(&chunks, truth[i].address - header, &chunk));
		CU_ASSERT_TRUE_FATAL(same(&chunk, &truth[i]));
		CU_ASSERT_TRUE_FATAL(heap_chunk_around(&chunks, truth[i].address + truth[i].size -
						       header - 1, &chunk));
		CU_ASSERT_TRUE_FATAL(same(&chunk, &truth[i]));
	}
	CU_ASSERT_FALSE(heap_chunk_at(&chunks, 0, &chunk, NULL));
	CU_ASSERT_FALSE(heap_chunk_around(&chunks, truth[0].address - 9, &chunk));
	CU_ASSERT_FALSE(heap_chunk_around(&chunks,
					  chunks.end - (truth[NR - 1].bare ? 0 : 8), &chunk));
	/* What lies before a bare run is not in it. */
	CU_ASSERT_TRUE(truth[300].bare);
	CU_ASSERT_FALSE(heap_chunk_around(&chunks, truth[300].address - 8, &chunk));
}

/* From anywhere to anywhere. */
TEST("seeks")
{
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk = { .size = 0 };
	uint32_t dice = 7;

	for (unsigned n = 0; n < 20000; n++) {
		unsigned i;

		dice = dice * 1664525 + 1013904223;
		/* Mostly near to the last, ahead or behind. */
		i = n % 4 ? (unsigned)(dice >> 16) % NR : MIN(n / 4, NR - 1);
		heap_chunks_seek(&chunks, &at, truth[i].address - (dice >> 8 & 1 ? 15 : 0));
		CU_ASSERT_TRUE_FATAL(heap_chunks_next(&chunks, &at, &chunk));
		CU_ASSERT_EQUAL_FATAL(chunk.address, truth[i].address);
	}
	heap_chunks_seek(&chunks, &at, chunks.end);
	CU_ASSERT_FALSE(heap_chunks_next(&chunks, &at, &chunk));
	heap_chunks_seek(&chunks, &at, 0);
	CU_ASSERT_TRUE(heap_chunks_next(&chunks, &at, &chunk) && same(&chunk, &truth[0]));
}

TEST("keeps what is noted")
{
	struct heap_chunk chunk = { .size = 0 };
	struct chunk_at at;

	for (unsigned i = 0; i < NR; i += 3) {
		CU_ASSERT_TRUE_FATAL(heap_chunk_at(&chunks, truth[i].address, &chunk, &at));
		truth[i].note = i % 2 ? NOTE_EARLY : NOTE_LINKED;
		truth[i].kind = CHUNK_TOP;
		heap_chunks_set_note(&chunks, &at, truth[i].note);
		heap_chunks_set_kind(&chunks, &at, truth[i].kind);
	}
	check_all();
	for (unsigned i = 1; i < NR; i++) {
		unsigned nr = 0, j = i;
		struct chunk_at before;

		CU_ASSERT_TRUE_FATAL(heap_chunk_at(&chunks, truth[i].address, &chunk, &at));
		CU_ASSERT_TRUE_FATAL(heap_chunk_at(&chunks, truth[j - 1].address, &chunk, &before));
		while (j && before.run == at.run) {
			nr += truth[--j].note == NOTE_EARLY;
			if (j)
				heap_chunk_at(&chunks, truth[j - 1].address, &chunk, &before);
		}
		CU_ASSERT_EQUAL_FATAL(heap_chunks_noted(&chunks, &at, NOTE_EARLY), nr);
	}
}

/* Every second piece of the list is put into another one, and comes back. */
TEST("joins")
{
	struct heap_chunks half[2] = { { .nr = 0 }, { .nr = 0 } }, all = chunks;
	bool new_run;

	for (unsigned i = 0; i < NR; i++) {
		struct err *err = heap_chunks_add(&half[i / 300 % 2], &truth[i], &new_run);

		CU_ASSERT_TRUE_FATAL(!err);
	}
	CU_ASSERT_TRUE(!heap_chunks_join(&half[1], &half[0]));
	chunks = half[1];
	check_all();
	chunks = all;
	heap_chunks_free(&half[0]);
	heap_chunks_free(&half[1]);
}

TEST("is empty")
{
	struct heap_chunks none = { .nr = 0 };
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk = { .size = 0 };

	CU_ASSERT_FALSE(heap_chunks_next(&none, &at, &chunk));
	heap_chunks_seek(&none, &at, 0x1000);
	CU_ASSERT_FALSE(heap_chunks_next(&none, &at, &chunk));
	CU_ASSERT_FALSE(heap_chunk_around(&none, 0x1000, &chunk));
}
