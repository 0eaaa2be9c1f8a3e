/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The growth ring: calls of brk, mmap, munmap, mremap and the functions of shared memory, one event
 * each, as the agent has seen them (agent/agent_growth.c). growth/growth_replay.h adds them up.
 *
 * It is empty, and takes no memory, until `growth start` has put the probes in. The newest events
 * are kept, as many as there is room for: a reader that comes in time has all, and one that comes
 * after `detach -keep` has all or the newest. Numbers go up by one for each event, so that what was
 * overwritten is counted by the reader.
 *
 * An event is put in when its call has returned, and has two moments: `entered`, from which on its
 * range may be given to somebody else (munmap), and `left`, before which nobody else can know what
 * it gave out. So whatever order the events have in the ring, an event that takes away what another
 * one has given out has entered after that one has left (growth/growth_replay.h).
 *
 * Protocol of slots: ring.h. An event whose slot another writer is still filling (a whole ring
 * behind) is lost, and its number stays missing.
 *
 * Freestanding.
 */
#pragma once

#include "log/log.h"

enum growth_call {
	GROWTH_CALL_BRK,
	GROWTH_CALL_MMAP,
	GROWTH_CALL_MUNMAP,
	GROWTH_CALL_MREMAP,
	GROWTH_CALL_SHMAT,
	GROWTH_CALL_SHMDT,
	GROWTH_CALL_SHMGET,
	GROWTH_CALL_SHMCTL,
	GROWTH_CALLS,
};

#define GROWTH_ARGS	6

struct growth_event {
	uint64_t number;		/* set by growth_ring_get */
	uint64_t entered, left;		/* time stamps */
	uint32_t thread, stack;
	uint32_t call;			/* enum growth_call; a reader must bound it */
	uint64_t arg[GROWTH_ARGS];
	uint64_t result;		/* of the C function */
};

struct log_growth_slot {
	uint64_t ticket;
	uint64_t entered, left;
	uint64_t who;			/* thread << 32 | stack */
	uint64_t call;
	uint64_t arg[GROWTH_ARGS];
	uint64_t result;
};

void growth_ring_put(struct log *log, const struct growth_event *event);

/*
 *	GROWTH_READ	*ret is the event of this number
 *	GROWTH_NOT_YET	its writer has not finished, or has given up
 *	GROWTH_GONE	a newer one has its slot
 */
enum growth_read { GROWTH_READ, GROWTH_NOT_YET, GROWTH_GONE };
enum growth_read growth_ring_get(const struct log *log, uint64_t number, struct growth_event *ret);
/* The number of the next event; as many events as there is room for may be read before it. */
uint64_t growth_ring_next(const struct log *log);

/*
 * The present or last run, for a later mdbg: its kinds (0: it has ended), first event, and time.
 */
#define LOG_GROWTH_BRK	1u	/* of the kinds */

struct growth_run {
	uint64_t kinds, first, start;
	uint64_t brk;		/* the end of the heap when brk was first recorded; 0: none */
};
struct growth_run growth_ring_run(const struct log *log);
/*
 * These kinds are recorded from now on. If none was before, a run begins, with the next event; if
 * none is from now on, it has ended. brk, the end of the heap, counts if LOG_GROWTH_BRK is among
 * the kinds and was not before: what has happened to the heap until now was not seen.
 */
void growth_ring_begin(struct log *log, uint64_t kinds, uint64_t brk);
