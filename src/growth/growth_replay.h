/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replays the events of the growth ring (log/growth_ring.h): what is held after them.
 *
 *	mmap		a piece, at its return; what was there (MAP_FIXED) gives way to it
 *	munmap		takes its range away, from its entry on
 *	mremap		the pieces of the old range move with their calls, and are cut where it
 *			shrinks; what it adds is its own. What was not seen being made stays not
 *			seen when it moves
 *	brk		what it adds to the end of the heap before it, or takes away. sbrk is a
 *			call of brk
 *	shmat		a piece as large as its segment; shmdt takes away all pieces of one attach
 *	a failed call	changes nothing
 *
 * A process may map behind the events' back, by a bare system call. growth_replay_compare drops
 * what is no longer mapped; what is mapped and in no piece is what the caller prints as `not seen`.
 *
 * Gone. A piece whose place is given to another call, without MAP_FIXED, was unmapped before that.
 * Mostly the event of that is only late: its thread was held on its way back from the kernel. If it
 * was a mremap, the piece is not lost but has moved. So such a piece, and one that is not mapped
 * any more, is set aside with the time of that (`until`). Several pieces of one place may be gone:
 * an event is for the one that was there when it was entered, which is true of one of them only.
 * What no event comes for, a bare system call has taken.
 *
 * The events come from the target and are not to be believed: whatever they are, pieces stay in the
 * order and the number that held.h promises.
 */
#pragma once

#include "base/map.h"
#include "growth/held.h"
#include "log/growth_ring.h"

#define REPLAY_GONE_MAX	4096u

/* A range of addresses that is mapped. */
struct growth_mapping {
	uint64_t start, end;
};

/* What a replay must know of the process, besides the events. */
struct growth_world {
	/* The heap as it was when the run began, or is now; 0, 0: it has none. */
	uint64_t heap_start, heap_end;
	/* The size of a segment of shared memory that is attached at `address`; 0: not known. */
	uint64_t (*shm_size)(void *ctx, uint64_t id, uint64_t address);
	void *ctx;
};

struct growth_replay {
	unsigned kinds;		/* 1 << enum held_kind of those that are kept */
	struct held held;
	struct held_pieces gone;	/* oldest first, at most REPLAY_GONE_MAX */
	uint64_t gone_bytes;	/* of those that are not kept any more */
	uint64_t brk_end;	/* 0: not known */
	uint64_t events, failed;
	uint64_t lost;		/* events that were not read */
	uint64_t unsized;	/* attached segments whose size is not known */
	struct map segments;	/* shared memory: id + 1 → size */
};

/* Forget all: after events were lost, or for a new run. The counts stay. */
void growth_replay_forget(struct growth_replay *replay);
void growth_replay_free(struct growth_replay *replay);
/* Did the call fail? Then it has changed nothing. */
bool growth_replay_event_failed(const struct growth_event *event);
/* ERR_NOMEM, ERR_RANGE: something is missing; growth_replay_forget makes that honest. */
struct err *growth_replay_event(struct growth_replay *replay, const struct growth_event *event,
				const struct growth_world *world) MUST_CHECK;
/*
 * Drop what is not mapped. The mappings are in order, and were read at the time stamp `now`, after
 * all events that are published by then were replayed. A call that was in the kernel then may have
 * taken away what is missed: its event takes the bytes back out of the count when it comes.
 */
struct err *growth_replay_compare(struct growth_replay *replay,
				  const struct growth_mapping *mappings, size_t nr,
				  uint64_t now) MUST_CHECK;
/* Bytes that were gone without an event, up to the last comparison. */
uint64_t growth_replay_gone(const struct growth_replay *replay);
