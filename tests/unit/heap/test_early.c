/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums of the blocks of a walk that are in no record. */

#include "heap/early.h"

#include "heap/heap_walk.h"
#include "unit.h"

static struct heap_walk walk = HEAP_WALK_INIT;
static const pid_t pids[LOG_PROCESSES] = { 7 };

/* Chunks of 32, 64 and 128 bytes, the first with a record and the others without. */
static int make(void)
{
	static const struct heap_chunk chunks[] = {
		{ .address = 0x1010, .size = 32, .kind = CHUNK_USED, .note = NOTE_RECORDED },
		{ .address = 0x1030, .size = 64, .kind = CHUNK_USED, .note = NOTE_EARLY },
		{ .address = 0x1070, .size = 128, .kind = CHUNK_USED, .note = NOTE_EARLY },
		{ .address = 0x10f0, .size = 48, .kind = CHUNK_FREE, .note = NOTE_NONE },
	};
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk;
	bool is_new;

	for (size_t i = 0; i < ARRAY_SIZE(chunks); i++)
		if (heap_chunks_add(&walk.chunks, &chunks[i], &is_new))
			return 1;
	for (size_t i = 0; heap_chunks_next(&walk.chunks, &at, &chunk); i++)
		heap_chunks_set_note(&walk.chunks, &at, chunks[i].note);
	return 0;
}

static int drop(void)
{
	heap_walk_free(&walk);
	return 0;
}

FIXTURE(make, drop);

static struct early sum(bool complete, int argc, const char *const *argv)
{
	const struct filter_env env = { .pids = pids };
	CLEANUP(filter_free) struct filter filter = { VEC_INIT };
	struct early early;

	if (argc)
		CU_ASSERT_PTR_NULL_FATAL(filter_parse(argc, argv, FILTER_ALL, &filter, NULL, NULL));
	early = early_sum(&walk, 0, complete, &filter, &env);
	return early;
}

TEST("adds up")
{
	struct early early = sum(true, 0, NULL);

	CU_ASSERT(early.count == 2 && early.bytes == 56 + 120 && !early.unrecorded);
	early = sum(false, 0, NULL);
	CU_ASSERT(early.count == 2 && early.unrecorded);
}

TEST("filters")
{
	const char *large[] = { "size", ">", "100" }, *young[] = { "age", "<", "1d" };
	const char *pid[] = { "pid", "==", "7", "and", "address", "<", "0x1070" };
	struct early early = sum(true, 3, large);

	CU_ASSERT(early.count == 1 && early.bytes == 120);
	early = sum(true, 7, pid);
	CU_ASSERT(early.count == 1 && early.bytes == 56);
	/* They have no age. */
	early = sum(true, 3, young);
	CU_ASSERT(!early.count && !early.bytes);
}
