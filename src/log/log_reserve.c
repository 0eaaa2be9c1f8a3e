/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Faults in the pages that the writers will touch next.
 *
 * Most parts of the region are filled from their start on. Tables and indexes are filled all over,
 * so they must be faulted in as a whole before they are used. The next table is at least half as
 * large as all tables in use; it is faulted in bit by bit as these fill up, beginning when they are
 * 73 % full. It is added when they are 85 to 93 % full, and by then most of it is there. Beyond
 * that a small part of it is there at all times.
 *
 * The place of an extent (directory.h) is faulted in if the extent before it is dense, as in a heap
 * that grows: then as many places again as were taken since the last call, and half as many more.
 * If a page is there, the target's first look at it maps 16 pages at once, and else it takes a
 * fault for each of them. Of a heap whose blocks are far apart only the pages that become dense are
 * touched, so these are left to the writers.
 *
 * What is faulted in ahead is not counted by the budget before it is used (budget.h), so that mdbg
 * takes what the file really has from it at its next look.
 */

#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "log/budget.h"
#include "log/log_deferred.h"
#include "log/directory.h"
#include "log/free_history.h"
#include "log/growth_ring.h"
#include "log/ref_ring.h"
#include "log/registry.h"
#include "log/stack_table.h"
#include "log/log_unknown_free.h"
#include "log/block_table.h"
#include "log/tags.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define THREADS_AHEAD		512
#define THREAD_INDEX_CALL	(64ull << 10)
#define STACKS_AHEAD		8192
#define GROWTH_AHEAD		8192
#define REFS_AHEAD		8192
#define TABLE_BYTES_CALL	(16ull << 20)
#define PLACES_AHEAD		32u
#define PLACES_CALL		48u
#define WINDOWS_LOOKED_AT	128u

/*
 * Fault in a part up to `bytes` from its start, which is page-aligned, as far as the budget goes;
 * *done says how far that is done already. `bytes` is not more than the part has.
 */
static struct err *advance(struct log *log, void *part, uint64_t *done, uint64_t bytes)
{
	uint8_t *from = (uint8_t *)part + *done;
	uint64_t want = ALIGN_UP(bytes, LOG_PAGE), len;

	if (want <= *done)
		return NULL;
	len = MIN(want - *done, ALIGN_DOWN(log->reserved.left, LOG_PAGE));
	if (!len)
		return NULL;
	log->reserved.left -= len;
	if (madvise(from, len, MADV_POPULATE_WRITE)) {
		if (errno != EINVAL)
			return err_sys("log: fault in %" PRIu64 " bytes", len);
		/*
		 * Before Linux 5.14: write to each page in a way that changes nothing, even if
		 * others write there.
		 */
		for (uint64_t at = 0; at < len; at += LOG_PAGE)
			__atomic_fetch_or((uint64_t *)(from + at), 0, __ATOMIC_RELAXED);
	}
	*done += len;
	return NULL;
}

static struct err *reserve_threads(struct log *log)
{
	uint64_t threads = MIN(threads_count(log) + THREADS_AHEAD, log->nr_threads);
	uint64_t index = 2ull * log->nr_threads * sizeof(*log->thread_index);
	struct err *err = advance(log, log->header, &log->reserved.header,
				  LOG_HEADER_SIZE + LOG_HINTS * sizeof(*log->hint));

	if (!err)
		err = advance(log, log->thread, &log->reserved.threads,
			      threads * sizeof(*log->thread));
	/*
	 * The index is filled by hash, all over. While there are few threads it is not worth the
	 * time of one call.
	 */
	if (!err)
		err = advance(log, log->thread_index, &log->reserved.thread_index,
			      MIN(index, log->reserved.thread_index + THREAD_INDEX_CALL));
	return err;
}

/* The levels of the index that twice as many stacks would fill; at least one. */
static uint64_t index_bytes(const struct log *log, uint32_t stacks)
{
	uint32_t levels = 1;

	while (levels < log->stack_levels &&
	       stack_level_start(levels) * STACK_BUCKET <
	       2ull * stacks + STACK_BUCKETS * STACK_BUCKET / 2)
		levels++;
	return stack_level_start(levels) * STACK_BUCKET * sizeof(*log->stack_index);
}

static struct err *reserve_stacks(struct log *log, uint64_t bytes)
{
	uint32_t stacks = reader_stacks(log);
	uint64_t units = (uint32_t)__atomic_load_n(&log->header->stacks, __ATOMIC_RELAXED);
	uint64_t arena = MIN(units * STACK_UNIT, log->arena_size);
	uint64_t ids = MIN((uint64_t)stacks + STACKS_AHEAD, log->nr_stacks);
	struct err *err = advance(log, log->stack_index, &log->reserved.stack_index,
				  index_bytes(log, stacks));

	if (!err)
		err = advance(log, log->stack_directory, &log->reserved.stack_directory,
			      (ids + 1) * sizeof(*log->stack_directory));
	if (!err)
		err = advance(log, log->arena, &log->reserved.arena,
			      arena + MIN(bytes, log->arena_size - arena));
	return err;
}

/*
 * The live records of the tables in use, which lie side by side: an estimate from the tags of some
 * windows, since the accounts count the directory's records, too.
 */
static uint64_t tables_live(const struct log *log, uint64_t used)
{
	uint64_t windows = used / sizeof(struct log_window), live = 0;
	uint64_t looks = MIN(windows, (uint64_t)WINDOWS_LOOKED_AT);

	for (uint64_t i = 0; i < looks; i++) {
		uint64_t tags[4];

		tags_load(&log->table[0].window[windows * (2 * i + 1) / (2 * looks)], tags);
		live += WINDOW_SLOTS - (unsigned)__builtin_popcountll(tags_free(tags));
	}
	return live * windows / looks;
}

/*
 * Bytes of the next table: all of them when 13/16 of the units of those in use are filled, which is
 * 87 % of the slots, and none at 11/16.
 */
static uint64_t next_wanted(const struct log *log, uint32_t nr, uint64_t used)
{
	uint64_t slots = used / sizeof(struct log_slot), live, next;

	if (nr >= log->nr_tables || log->reserved.tables < used)
		return 0;
	live = MIN(tables_live(log, used), slots);
	if (live <= slots / 16 * 11)
		return 0;
	next = tables_bytes(log, nr + 1) - used;
	if (next > share_left(log, nr) || !log_may_take(log, next))
		return 0;
	return MIN(next, next * (live - slots / 16 * 11) / (slots / 8));
}

/* The tables in use, what will follow them soon, and what is asked for beyond. */
static struct err *reserve_tables(struct log *log, uint64_t bytes)
{
	uint32_t nr = block_table_count(log);
	uint64_t used = tables_bytes(log, nr), all = tables_bytes(log, log->nr_tables);
	uint64_t done = log->reserved.tables, want;

	if (done == all)
		return NULL;
	want = used + next_wanted(log, nr, used);
	want += MIN(bytes, all - want);
	if (want <= done)
		return NULL;
	return advance(log, log->table[0].window, &log->reserved.tables,
		       done + MIN(want - done, MAX(bytes, TABLE_BYTES_CALL)));
}

/* Does the heap fill this place? Then its next pages will be in the next one. */
static bool is_growing(const struct log *log, uint64_t place)
{
	return directory_place_pages(log, place) >= DIRECTORY_PAGES / 2;
}

/*
 * How many places that are not taken yet are worth to be faulted in: in a heap that grows, as many
 * as were taken since the last call, and half as many more.
 */
static uint64_t places_ahead(struct log *log, uint64_t places)
{
	uint64_t *seen = &log->reserved.places_seen, grown = places - MIN(*seen, places);

	*seen = places;
	if (!grown || places < 2 || !(is_growing(log, places - 1) || is_growing(log, places - 2)))
		return 1;
	grown = MIN(grown + grown / 2, places / 2);
	return 1 + MIN(grown, (uint64_t)PLACES_AHEAD);
}

/*
 * Will the heap that has filled the place before fill this one, too? *wait: that cannot be said
 * yet.
 */
static bool place_follows(const struct log *log, uint64_t place, uint64_t places, bool *wait)
{
	*wait = false;
	if (!place)
		return false;
	/* The last place that is taken may have just been begun, so that it does not say much. */
	if (place >= places && places > 1 && is_growing(log, places - 2))
		return true;
	if (is_growing(log, MIN(place, places) - 1))
		return place >= places || !is_growing(log, place);
	*wait = place + 1 >= places;
	return false;
}

static struct err *reserve_directory(struct log *log)
{
	uint64_t places = directory_places(log), *place = &log->reserved.places, done = 0;
	uint64_t extents = MIN(places + places_ahead(log, places), log->nr_extents);
	struct err *err = advance(log, log->extent, &log->reserved.extents,
				  extents * sizeof(*log->extent));

	for (; !err && *place < extents && done < PLACES_CALL &&
	       share_left(log, block_table_count(log)) >= DIRECTORY_BYTES; ++*place) {
		uint64_t none = 0;
		bool wait;

		if (!place_follows(log, *place, places, &wait)) {
			if (wait)
				break;		/* the one before it may become dense yet */
			continue;
		}
		err = advance(log, &log->directory[*place * DIRECTORY_LINES], &none, DIRECTORY_BYTES);
		done++;
	}
	return err;
}

/* Fault in all of them: a program may load a hundred libraries at once. */
static struct err *reserve_deferred(struct log *log)
{
	uint64_t all = DEFERRED_TABLE_BYTES + log->nr_deferred * (uint64_t)DEFERRED_BYTES;
	struct err *err = advance(log, log->deferred, &log->reserved.deferred, all);

	if (!err && log->reserved.deferred >= all)
		__atomic_store_n(&log->deferred->ready, log->nr_deferred, __ATOMIC_RELEASE);
	return err;
}

/* The slots that are in use, and the next ones; once the ring is full, all of them. */
static struct err *reserve_growth(struct log *log)
{
	uint64_t used = MIN(growth_ring_next(log), log->nr_growth);

	if (!growth_ring_run(log).kinds)
		return NULL;
	return advance(log, log->growth, &log->reserved.growth,
		       MIN(used + GROWTH_AHEAD, log->nr_growth) * sizeof(*log->growth));
}

/* The same, once somebody has put in one. */
static struct err *reserve_refs(struct log *log)
{
	uint64_t used = MIN(ref_ring_next(log), log->nr_refs);

	if (!used)
		return NULL;
	return advance(log, log->ref, &log->refs_reserved,
		       MIN(used + REFS_AHEAD, log->nr_refs) * sizeof(*log->ref));
}

struct err *log_reserve(struct log *log, uint64_t bytes)
{
	uint64_t stacks = bytes / 8;
	struct err *err;

	log->reserved.left = log_left(log);
	err = reserve_threads(log);
	if (!err)
		err = reserve_stacks(log, stacks);
	/* Fault in all rings: they lie side by side, and are small. */
	if (!err)
		err = advance(log, log->unknown[0], &log->reserved.unknown_frees,
			      LOG_UNKNOWN_FREE_KINDS * LOG_UNKNOWN_FREES *
				      sizeof(struct log_unknown_free_slot));
	if (!err && log->header->sample)
		err =
			advance(log, log->counting_filter, &log->reserved.counting_filter,
				LOG_COUNTING_FILTER);
	if (!err)
		err = advance(log, log->freed, &log->reserved.freed,
			      free_history_kept(log) * sizeof(*log->freed));
	if (!err)
		err = reserve_deferred(log);
	if (!err)
		err = reserve_growth(log);
	if (!err)
		err = reserve_refs(log);
	if (!err && !log->header->sample)
		err = reserve_directory(log);
	if (!err)
		err = reserve_tables(log, bytes - stacks);
	return err;
}
