/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Looks at a heap, one after the other: what is confirmed, and what may be from before the attach. And a
 * walk minus the log: which blocks are from before the attach.
 */

#include "fixture.h"
#include "glibc_versions.h"
#include "heap/heap_walk.h"
#include "heap/packed.h"
#include "heap/reconcile.h"

/* One look: chunks of 32 bytes, a letter each: e (early), r (recorded), l (left out), - (free). */
struct look {
	struct heap_walk walk;
	struct word_list left_out;
};

static uint64_t at(size_t chunk)
{
	return 0x1010 + 32 * chunk;
}

static void look_open(struct look *look, const char *chunks)
{
	*look = (struct look){ .walk = HEAP_WALK_INIT };
	for (size_t i = 0; chunks[i]; i++) {
		struct heap_chunk chunk = {
			.address = at(i), .size = 32,
			.kind = chunks[i] == '-' ? CHUNK_FREE : CHUNK_USED,
			.note = chunks[i] == 'e' ? NOTE_EARLY :
				chunks[i] == 'r' ? NOTE_RECORDED : NOTE_NONE,
		};
		bool is_new;

		if (heap_chunks_add(&look->walk.chunks, &chunk, &is_new) ||
		    (chunks[i] == 'l' && vec_push(&look->left_out.vec, at(i))))
			abort();
	}
}

static void look_close(struct look *look)
{
	heap_walk_free(&look->walk);
	vec_free(&look->left_out.vec);
}

/* How many of those that are left out may be from before the attach; the look is kept. */
static uint64_t look_at(struct reconcile_history *history, const char *chunks, uint64_t damages)
{
	CLEANUP(look_close) struct look look;
	uint64_t nr;

	look_open(&look, chunks);
	look.walk.damages = damages;
	nr = reconcile_unsure(history, &look.left_out);
	CU_ASSERT_PTR_NULL(reconcile_keep(history, &look.walk, &look.left_out));
	return nr;
}

TEST("seen at each")
{
	CLEANUP(reconcile_free) struct reconcile_history history = { .any = false };

	/* At first all that are left out may be. */
	CU_ASSERT_EQUAL(look_at(&history, "lel-r", 0), 2);
	/* The fourth was given out since. */
	CU_ASSERT_EQUAL(look_at(&history, "eell-", 0), 1);
	/* The third is gone, so that what comes to be in its place later is another. */
	CU_ASSERT_EQUAL(look_at(&history, "ee-l-", 0), 0);
	CU_ASSERT_EQUAL(look_at(&history, "lll--", 0), 2);
}

/* A look at a heap that was torn overlooks some. */
TEST("at a torn heap")
{
	CLEANUP(reconcile_free) struct reconcile_history history = { .any = false };

	CU_ASSERT_EQUAL(look_at(&history, "l----", 1), 1);
	CU_ASSERT_FALSE(history.any);
	CU_ASSERT_EQUAL(look_at(&history, "llrr-", 0), 2);
	CU_ASSERT_EQUAL(look_at(&history, "l----", 1), 1);
	CU_ASSERT_EQUAL(look_at(&history, "lll--", 0), 2);
}

TEST("listed at any")
{
	CLEANUP(reconcile_free) struct reconcile_history history = { .any = false };
	CLEANUP(fixture_close) struct log log;

	look_at(&history, "e-e-l", 0);
	look_at(&history, "-e-re", 1);
	CU_ASSERT_EQUAL_FATAL(history.confirmed.vec.nr, 4);
	for (size_t i = 0; i < 4; i++)
		CU_ASSERT_TRUE(word_list_has(&history.confirmed, 4, at((size_t[]){ 0, 1, 2, 4 }[i])));
	CU_ASSERT_FALSE(word_list_has(&history.confirmed, 4, at(3)));
	reconcile_drop_freed(&history, NULL, true);
	CU_ASSERT_EQUAL(history.confirmed.vec.nr, 4);
	/* One of them may have been freed. */
	fixture_open(&log);
	reconcile_drop_freed(&history, &log, true);
	CU_ASSERT_EQUAL(history.confirmed.vec.nr, 4);
	registry_count(&log, 0, LOG_ACCOUNT(unknown_frees), 1);
	reconcile_drop_freed(&history, &log, true);
	CU_ASSERT_EQUAL(history.confirmed.vec.nr, 0);
	look_at(&history, "e", 0);
	reconcile_drop_freed(&history, &log, true);
	CU_ASSERT_EQUAL(history.confirmed.vec.nr, 1);
	reconcile_drop_freed(&history, &log, false);
	CU_ASSERT_EQUAL(history.confirmed.vec.nr, 0);
}

/*
 * A heap and a log that has three of its blocks: one with its record, one that a thread is at work
 * on, and one whose record was removed.
 */
struct merging {
	struct image image;
	struct heap_walk walk;
	struct log log;
	uint64_t recorded, under_way, removed, in_flight_word;
	struct packed_list list;
	struct word_list left_out;
};

static const struct image_spec *const merged = &image_versions[7];

static void merging_open(struct merging *is)
{
	is->list = (struct packed_list)PACKED_INIT;
	is->left_out = (struct word_list){ VEC_INIT };
	image_fill(&is->image, merged);
	fixture_open(&is->log);
	CU_ASSERT_PTR_NULL_FATAL(glibc_walk(&is->image.source, &is->walk));
	is->recorded = image_nth(&is->image, CHUNK_USED, 1)->block;
	is->under_way = image_nth(&is->image, CHUNK_USED, 2)->block;
	is->removed = image_nth(&is->image, CHUNK_USED, 3)->block;
	is->in_flight_word = is->under_way - 16;
	for (unsigned i = 0; i < 2; i++)
		CU_ASSERT_TRUE(log_record_insert(&is->log, &(struct log_record){
			.address = i ? is->removed : is->recorded, .size = 7, .time = 1 + i,
			.heap = LOG_HEAP_UNKNOWN }, NULL));
	CU_ASSERT_TRUE(log_record_remove(&is->log, is->removed, 0, NULL));
}

static void merging_close(struct merging *is)
{
	vec_free(&is->left_out.vec);
	packed_free(&is->list);
	heap_walk_free(&is->walk);
	image_free(&is->image);
	fixture_close(&is->log);
}

/* The log is read by the merge, or has been. */
static void merge(bool read)
{
	CLEANUP(merging_close) struct merging is;
	const struct packed_source source = { .log = &is.log, .until = UINT64_MAX };
	unsigned early = 0;

	merging_open(&is);
	CU_ASSERT_PTR_NULL_FATAL(packed_from_log(&source, &is.list));
	CU_ASSERT_PTR_NULL_FATAL(reconcile_merge(&is.walk, &(struct walk_merge){
		.log = &is.log, .held = read ? &is.list : NULL, .complete = true,
		.in_flight_word = &is.in_flight_word, .nr_in_flight = 1 }, &is.left_out));
	CU_ASSERT_PTR_NULL_FATAL(packed_merge_walk(&is.list, &is.walk, true));
	CU_ASSERT_EQUAL_FATAL(is.left_out.vec.nr, 1);
	CU_ASSERT_EQUAL(is.left_out.vec.at[0], is.under_way);
	for (size_t i = 0; i < is.list.nr; i++) {
		struct block block = packed_block(&is.list, i);

		CU_ASSERT_TRUE(!i || packed_at(&is.list, i - 1)->address < block.address);
		CU_ASSERT_NOT_EQUAL(block.address, is.under_way);
		CU_ASSERT_NOT_EQUAL(block.address, is.removed);
		CU_ASSERT_EQUAL(block.preattach, block.address != is.recorded);
		CU_ASSERT_FALSE(block.unrecorded);
		early += block.preattach;
		if (block.address == is.recorded)
			CU_ASSERT_TRUE(block.size == 7 && block.heap == 0);
	}
	CU_ASSERT_EQUAL(early, 21 * (merged->heaps + 1) + merged->mapped - 3);
}

TEST("walk minus log")
{
	merge(false);
	merge(true);
}

/* What was confirmed before is, whatever is near it; and if the log is not complete nothing is early. */
TEST("what was confirmed stays")
{
	CLEANUP(merging_close) struct merging is;

	merging_open(&is);
	CU_ASSERT_PTR_NULL_FATAL(reconcile_merge(&is.walk, &(struct walk_merge){
		.log = &is.log, .in_flight_word = &is.in_flight_word, .nr_in_flight = 1,
		.confirmed = &is.under_way, .nr_confirmed = 1 }, &is.left_out));
	CU_ASSERT_PTR_NULL_FATAL(packed_merge_walk(&is.list, &is.walk, false));
	CU_ASSERT_EQUAL(is.left_out.vec.nr, 0);
	CU_ASSERT_TRUE(is.list.nr && packed_at(&is.list, 0)->preattach &&
		       packed_at(&is.list, 0)->unrecorded);
}

/* The log has gone on since the walk: what was freed meanwhile was a block. */
TEST("walk minus a later log")
{
	CLEANUP(merging_close) struct merging is;
	unsigned seen = 0;

	merging_open(&is);
	CU_ASSERT_PTR_NULL_FATAL(packed_merge_past(&is.list, &is.walk, &(struct walk_merge){
		.log = &is.log, .complete = true, .until = 1 }, &is.left_out));
	for (size_t i = 0; i < is.list.nr; i++) {
		struct block block = packed_block(&is.list, i);
		bool freed = block.address == is.recorded;
		bool since = block.address == is.removed;

		CU_ASSERT_EQUAL(block.freed, freed || since);
		CU_ASSERT_EQUAL(block.preattach, !freed);
		CU_ASSERT_EQUAL(block.unrecorded, since);
		seen += freed || since;
	}
	CU_ASSERT_EQUAL(seen, 2);
}

/*
 * The same without a list: what has its record, or had it then, is noted as recorded; what was freed
 * since is summed up.
 */
TEST("notes of a walk and a later log")
{
	CLEANUP(merging_close) struct merging is;
	struct walk_gone gone;
	uint64_t records;
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk;
	unsigned early = 0, recorded = 0;

	merging_open(&is);
	CU_ASSERT_TRUE(log_record_insert(&is.log, &(struct log_record){
		.address = is.under_way, .size = 9, .time = 1, .heap = LOG_HEAP_UNKNOWN }, NULL));
	CU_ASSERT_TRUE(log_record_remove(&is.log, is.under_way, 0, NULL));
	CU_ASSERT_PTR_NULL_FATAL(reconcile_merge_past(&is.walk, &(struct walk_merge){
		.log = &is.log, .complete = true, .until = 1 }, &is.left_out, &gone, &records));
	while (heap_chunks_next(&is.walk.chunks, &at, &chunk)) {
		bool was = chunk.address == is.recorded || chunk.address == is.under_way ||
			   chunk.address == is.removed;

		CU_ASSERT_EQUAL(chunk.note == NOTE_RECORDED, was);
		recorded += chunk.note == NOTE_RECORDED;
		early += chunk.note == NOTE_EARLY;
	}
	CU_ASSERT_EQUAL(recorded, 3);
	CU_ASSERT_EQUAL(early, 21 * (merged->heaps + 1) + merged->mapped - 3);
	/* The one whose record is younger may have been any block. */
	CU_ASSERT_EQUAL(gone.blocks, 2);
	CU_ASSERT_EQUAL(gone.records, 1);
	CU_ASSERT_EQUAL(gone.record_bytes, 9);
	CU_ASSERT_EQUAL(gone.bytes, 9 + image_nth(&is.image, CHUNK_USED, 3)->size - 8);
	CU_ASSERT_EQUAL(records, 2);
	CU_ASSERT_EQUAL(is.left_out.vec.nr, 0);
}
