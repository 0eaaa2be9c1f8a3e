/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replays events (growth_replay.h). */

#include "growth/growth_replay.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "base/compiler.h"
#include "base/page.h"

#define SEGMENTS_MAX	65536u
#define HUGE_PAGE	(2ull << 20)	/* where MAP_HUGETLB names no size */
#define HUGE_SHIFT	26
#define HUGE_MASK	63u
#define HUGE_BITS_MAX	40u
#define LENGTH_MAX	(1ull << 56)	/* no address space is longer */

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

void growth_replay_forget(struct growth_replay *replay)
{
	held_clear(&replay->held);
	vec_free(&replay->gone.vec);
	replay->brk_end = 0;
}

void growth_replay_free(struct growth_replay *replay)
{
	growth_replay_forget(replay);
	map_free(&replay->segments, free);
}

bool growth_replay_event_failed(const struct growth_event *event)
{
	bool pointer = event->call == GROWTH_CALL_MMAP || event->call == GROWTH_CALL_MREMAP ||
		       event->call == GROWTH_CALL_SHMAT;

	return pointer ? event->result == UINT64_MAX : (int32_t)event->result == -1;
}

/* A length in whole pages, within what a process can have. */
static uint64_t pages(uint64_t len)
{
	return ALIGN_UP(MIN(len, LENGTH_MAX), PAGE);
}

static uint64_t mmap_bytes(const struct growth_event *event)
{
	uint64_t flags = event->arg[3], bits = flags >> HUGE_SHIFT & HUGE_MASK;
	uint64_t page = flags & MAP_HUGETLB ? HUGE_PAGE : PAGE;

	if (flags & MAP_HUGETLB && bits && bits < HUGE_BITS_MAX)
		page = 1ull << bits;
	return ALIGN_UP(MIN(event->arg[1], LENGTH_MAX), page);
}

/* Keep the younger half of the pieces that are gone. */
static void forget_gone(struct growth_replay *replay)
{
	size_t half = replay->gone.vec.nr / 2;

	for (size_t i = 0; i < half; i++)
		replay->gone_bytes += replay->gone.vec.at[i].end - replay->gone.vec.at[i].start;
	replay->gone.vec.nr -= half;
	memmove(replay->gone.vec.at, replay->gone.vec.at + half,
		replay->gone.vec.nr * sizeof(replay->gone.vec.at[0]));
}

/* A piece is gone since then, and no event has said so. */
static struct err *set_aside(struct growth_replay *replay, const struct held_piece *piece,
			     uint64_t when)
{
	struct held_piece gone = *piece;

	gone.until = when;
	if (replay->gone.vec.nr >= REPLAY_GONE_MAX)
		forget_gone(replay);
	return vec_push(&replay->gone.vec, gone);
}

/* Take the part in [start, end) out of a piece that is gone, which may leave two. */
static struct err *take_gone_part(struct growth_replay *replay, size_t i, uint64_t start,
				  uint64_t end, struct held_pieces *taken)
{
	struct held_piece part = replay->gone.vec.at[i], rest = part;
	struct err *err;

	part.start = MAX(part.start, start);
	part.end = MIN(part.end, end);
	err = taken ? vec_push(&taken->vec, part) : NULL;
	if (!err && rest.end > part.end && rest.start < part.start) {
		rest.start = part.end;
		err = vec_push(&replay->gone.vec, rest);
		rest.start = replay->gone.vec.at[i].start;
	}
	if (err)
		return err;
	if (rest.start < part.start)
		replay->gone.vec.at[i].end = part.start;
	else
		replay->gone.vec.at[i].start = part.end;
	return NULL;
}

/* What was there when the event was entered, and is gone since. */
static struct err *take_gone(struct growth_replay *replay, const struct growth_event *event,
			     uint64_t start, uint64_t end, struct held_pieces *taken)
{
	struct err *err = NULL;
	size_t nr = 0;

	for (size_t i = 0; !err && i < replay->gone.vec.nr; i++) {
		const struct held_piece *piece = &replay->gone.vec.at[i];

		if (piece->start < end && start < piece->end && piece->since < event->entered &&
		    event->entered < piece->until)
			err = take_gone_part(replay, i, start, end, taken);
	}
	for (size_t i = 0; i < replay->gone.vec.nr; i++)
		if (replay->gone.vec.at[i].start < replay->gone.vec.at[i].end)
			replay->gone.vec.at[nr++] = replay->gone.vec.at[i];
	replay->gone.vec.nr = nr;
	return err;
}

static struct err *clear_place(struct growth_replay *replay, uint64_t start, uint64_t end,
			       uint64_t before, uint64_t when)
{
	struct held_pieces taken = { VEC_INIT };
	struct err *err = held_remove(&replay->held, start, end, before, &taken);

	for (size_t i = 0; !err && i < taken.vec.nr; i++)
		err = set_aside(replay, &taken.vec.at[i], when);
	vec_free(&taken.vec);
	return err;
}

/* The place that an event has got. fixed: it has asked for it, whatever was there. */
static struct err *make_room(struct growth_replay *replay, const struct growth_event *event,
			     uint64_t start, uint64_t end, bool fixed)
{
	return fixed ? held_remove(&replay->held, start, end, event->left, NULL) :
	       clear_place(replay, start, end, event->left, event->left);
}

static bool is_fixed(const struct growth_event *event)
{
	return (event->call == GROWTH_CALL_MMAP && event->arg[3] & MAP_FIXED) ||
	       (event->call == GROWTH_CALL_MREMAP && event->arg[3] & MREMAP_FIXED) ||
	       (event->call == GROWTH_CALL_SHMAT && event->arg[2] & SHM_REMAP);
}

/* A new piece of an event, if its kind is recorded. */
static struct err *add(struct growth_replay *replay, const struct growth_event *event,
		       enum held_kind kind, uint64_t start, uint64_t len)
{
	struct err *err;
	struct held_piece piece = {
		.start = start, .end = start + len, .since = event->left, .base = start,
		.time = event->left, .event = event->number, .thread = event->thread,
		.stack = event->stack, .kind = kind,
	};

	if (!len || piece.end < start)
		return NULL;
	err = make_room(replay, event, start, piece.end, is_fixed(event));
	return err || !(replay->kinds & 1u << kind) ? err : held_insert(&replay->held, &piece);
}

/* A range was taken away at the entry of an event. */
static struct err *take(struct growth_replay *replay, const struct growth_event *event,
			uint64_t start, uint64_t len, struct held_pieces *taken)
{
	uint64_t end = start + len;
	struct err *err;

	if (end < start)
		return NULL;
	err = held_remove(&replay->held, start, end, event->entered, taken);
	return err ? err : take_gone(replay, event, start, end, taken);
}

static struct err *replay_mremap(struct growth_replay *replay, const struct growth_event *event)
{
	uint64_t old = event->arg[0], to = event->result;
	uint64_t old_len = pages(event->arg[1]), new_len = pages(event->arg[2]);
	uint64_t end = to + new_len;
	struct held_pieces moved = { VEC_INIT };
	struct err *err = NULL;

	if (!old_len)			/* a second mapping of shared pages */
		return add(replay, event, HELD_MMAP, to, new_len);
	if (end < to)
		return NULL;
	if (!(event->arg[3] & MREMAP_DONTUNMAP))
		err = take(replay, event, old, old_len, &moved);
	if (!err)
		err = make_room(replay, event, to, end, is_fixed(event));
	for (size_t i = 0; !err && i < moved.vec.nr; i++) {
		struct held_piece piece = moved.vec.at[i];

		piece.start += to - old;
		piece.base += to - old;
		piece.end = MIN(piece.end + (to - old), end);
		piece.since = event->left;
		if (piece.start < piece.end && piece.start >= to)
			err = held_insert(&replay->held, &piece);
	}
	vec_free(&moved.vec);
	if (!err && event->arg[3] & MREMAP_DONTUNMAP)
		return add(replay, event, HELD_MMAP, to, new_len);
	return err || new_len <= old_len ? err :
	       add(replay, event, HELD_MMAP, to + old_len, new_len - old_len);
}

/*
 * The kernel ignores an address below the heap. Where the end before this call is not known, the
 * heap was empty if it is new; after events were lost nothing is said about it.
 */
static struct err *replay_brk(struct growth_replay *replay, const struct growth_event *event,
			      const struct growth_world *world)
{
	uint64_t end = pages(event->arg[0]), was = replay->brk_end;

	if (end < world->heap_start || event->arg[0] > LENGTH_MAX || !event->arg[0])
		return NULL;
	if (!was)
		was = replay->lost ? end : world->heap_start;
	replay->brk_end = end;
	if (!was)
		return NULL;
	return end > was ? add(replay, event, HELD_BRK, was, end - was) :
	       take(replay, event, end, was - end, NULL);
}

static struct err *note_segment(struct growth_replay *replay, uint64_t id, uint64_t size)
{
	uint64_t *copy, key = (uint32_t)id + 1ull;
	struct err *err;

	if (!size || map_get(&replay->segments, key) ||
	    map_count(&replay->segments) >= SEGMENTS_MAX)
		return NULL;		/* of a segment that exists any smaller size may be given */
	copy = malloc(sizeof(*copy));
	if (!copy)
		return err_nomem;
	*copy = size;
	err = map_put(&replay->segments, key, copy);
	if (err)
		free(copy);
	return err;
}

static struct err *replay_shmat(struct growth_replay *replay, const struct growth_event *event,
				const struct growth_world *world)
{
	const uint64_t *known = map_get(&replay->segments, (uint32_t)event->arg[0] + 1ull);
	uint64_t size = world->shm_size(world->ctx, (uint32_t)event->arg[0], event->result);

	if (!size && known)
		size = *known;
	replay->unsized += !size;
	return add(replay, event, HELD_SHM, event->result, pages(size));
}

/* Take away the pieces of one attach that are still where it has put them. */
static struct err *replay_shmdt(struct growth_replay *replay, const struct growth_event *event)
{
	struct held_pieces parts = { VEC_INIT };
	struct err *err = NULL;

	held_each(piece, &replay->held) {
		if (!err && piece->kind == HELD_SHM && piece->base == event->arg[0])
			err = vec_push(&parts.vec, *piece);
	}
	for (size_t i = 0; !err && i < replay->gone.vec.nr; i++)
		if (replay->gone.vec.at[i].kind == HELD_SHM &&
		    replay->gone.vec.at[i].base == event->arg[0])
			err = vec_push(&parts.vec, replay->gone.vec.at[i]);
	for (size_t i = 0; !err && i < parts.vec.nr; i++)
		err = take(replay, event, parts.vec.at[i].start,
			   parts.vec.at[i].end - parts.vec.at[i].start, NULL);
	vec_free(&parts.vec);
	return err;
}

struct err *growth_replay_event(struct growth_replay *replay, const struct growth_event *event,
				const struct growth_world *world)
{
	replay->events++;
	if (growth_replay_event_failed(event)) {
		replay->failed++;
		return NULL;
	}
	switch ((enum growth_call)event->call) {
	case GROWTH_CALL_BRK:
		return replay_brk(replay, event, world);
	case GROWTH_CALL_MMAP:
		return add(replay, event, HELD_MMAP, event->result, mmap_bytes(event));
	case GROWTH_CALL_MUNMAP:
		return take(replay, event, event->arg[0], pages(event->arg[1]), NULL);
	case GROWTH_CALL_MREMAP:
		return replay_mremap(replay, event);
	case GROWTH_CALL_SHMAT:
		return replay_shmat(replay, event, world);
	case GROWTH_CALL_SHMDT:
		return replay_shmdt(replay, event);
	case GROWTH_CALL_SHMGET:
		return note_segment(replay, event->result, event->arg[1]);
	case GROWTH_CALL_SHMCTL:
	case GROWTH_CALLS:
		break;
	}
	return NULL;
}

struct err *growth_replay_compare(struct growth_replay *replay,
				  const struct growth_mapping *mappings, size_t nr, uint64_t now)
{
	uint64_t at = 0;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < nr; i++) {
		if (at < mappings[i].start)
			err = clear_place(replay, at, mappings[i].start, UINT64_MAX, now);
		at = MAX(at, mappings[i].end);
	}
	return err ? err : clear_place(replay, at, UINT64_MAX, UINT64_MAX, now);
}

uint64_t growth_replay_gone(const struct growth_replay *replay)
{
	uint64_t bytes = replay->gone_bytes;

	for (size_t i = 0; i < replay->gone.vec.nr; i++)
		bytes += replay->gone.vec.at[i].end - replay->gone.vec.at[i].start;
	return bytes;
}
