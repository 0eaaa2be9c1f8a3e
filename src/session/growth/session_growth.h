/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Growth: what brk, mmap and shared memory hold, by the calls that made it.
 *
 * The calls are recorded in the target by probes of their own (probe/growth_functions.h), in a ring
 * of the region (log/growth_ring.h). The tracer thread reads the ring at each of its polls
 * (session/untraced.c) and when somebody asks, and replays the events (growth/growth_replay.h); the
 * replay lives as long as the run that it belongs to. After `detach -keep`, or if this mdbg is
 * killed, the next one reads the ring from the beginning of the run, or as far back as the ring
 * goes: then, and whenever the ring has gone round before it was read, events are lost. What was
 * held before a gap may have been given away in it and taken by others, so all of it is forgotten:
 * it counts as not seen, and the events are counted.
 *
 * An answer is made in a stop: the ring is read, then /proc/PID/maps, and what is not mapped any
 * more is dropped. So what is held, and what is not seen, are together what is mapped, to the byte.
 *
 * A program without a C library and without a loader (pure Go) has no function that could be
 * watched, and no allocator for which there would be probes and a log: it is attached to with
 * --no-arm. All of its memory is not seen then, and the answer says how much that is.
 *
 * Page faults and the kernel's memory have files of their own; cmd/growth.h has the table of all.
 */
#pragma once

#include "base/err.h"
#include "growth/growth_replay.h"
#include "growth/mapped_files.h"
#include "inspect/ended.h"

struct session;

/* The bits of the kinds, 1 << enum held_kind. */
#define SESSION_GROWTH_ALL	((1u << HELD_KINDS) - 1)

/* The state of a run. Tracer thread. */
struct session_growth {
	struct growth_replay replay;
	struct mapped_files files;
	uint64_t run;		/* struct growth_run.start of the run that this is of; 0: none */
	uint64_t next;		/* number of the event that is read next */
	unsigned mended;	/* how often probes that had no place were tried again */
	unsigned bare;		/* kinds of a program without functions to watch; set in a job */
	uint64_t waiting;	/* since when, in time stamps, for a writer to finish; 0: not */
};

/* An answer. */
struct session_growth_view {
	struct held_pieces pieces;
	uint64_t held[HELD_KINDS];	/* bytes */
	uint64_t mapped;		/* bytes of /proc/PID/maps, without [vsyscall] */
	uint64_t own;			/* of those: mdbg's own */
	uint64_t gone;			/* bytes that went without an event */
	uint64_t events, lost, unsized;	/* of the run, as in struct growth_replay */
	struct ended_threads ended;
};

/* A function that is not watched. */
struct session_growth_lack {
	char function[32], module[64], why[192];
};

struct session_growth_lacks {
	VEC(struct session_growth_lack) vec;
};

/* These run on the main thread. */

/* The kinds that are recorded. */
unsigned session_growth_kinds(const struct session *session);
/*
 * Record these kinds, too. *lacks_ret has the functions that cannot be watched. ERR_STATE: no
 * probes are in; ERR_UNSUPPORTED: a followed child, or there can be no jumps; ERR_NOTFOUND: no C
 * library.
 */
struct err *session_growth_start(struct session *session, unsigned kinds,
				 struct session_growth_lacks *lacks_ret) MUST_CHECK;
struct err *session_growth_stop(struct session *session) MUST_CHECK;
/* The caller frees the view, also after an error. */
struct err *session_growth_view(struct session *session,
				struct session_growth_view *ret) MUST_CHECK;
static inline void session_growth_view_free(struct session_growth_view *view)
{
	vec_free(&view->pieces.vec);
	vec_free(&view->ended.vec);
}
/*
 * The names of the files that the calls of the present or last run have mapped, as far as they are
 * known. The caller frees *ret, also after an error.
 */
struct err *session_growth_files(struct session *session,
				 struct mapped_file_list *ret) MUST_CHECK;
/* The size of a segment that is attached at an address now; 0: not known. */
uint64_t session_growth_segment(const struct session *session, uint64_t id, uint64_t address);

/* These run on the tracer thread. */

/* Read the ring. */
void session_growth_poll(struct session *session);
/* The probes of all kinds are about to be taken out: the run ends. */
void session_growth_end(struct session *session);
/* The kinds that the probes of a continued log must have. */
unsigned session_growth_kept(const struct session *session);
void session_growth_free(struct session_growth *growth);
