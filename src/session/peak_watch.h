/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The peak: the most that recorded blocks have held at one time since recording began, and whose
 * they were then. A burst of some milliseconds is over before the next sample of the history is due,
 * and it is what the process is killed for.
 *
 * Theory of operation
 *
 * The agent counts, for each thread, the bytes that it has allocated and freed. A thread of mdbg's
 * own adds these up every 4 ms, whatever mdbg does meanwhile; that is two words for each thread of
 * the target. The target does nothing for it, so a pair of malloc and free costs what it did. A
 * higher sum is the highest so far; while it is above what the last taken moment has, and rises,
 * the next look is half a millisecond later. If it is well above, the thread takes another moment:
 * it scans the log for the live bytes of each stack, as a sample of the history does.
 *
 *	rising		a moment is taken if the sum has grown by a twentieth since the last taken one
 *			(a tenth, if a scan takes more than 2 ms)
 *	at rest		if it has grown by a hundredth, and does not rise any more
 *
 * So a peak that rises and falls within 20 ms is caught with nine tenths of its bytes, if mdbg gets
 * a processor, and one that stays at its height with all but a hundredth. The thread may go before
 * others for its looks and for short scans (its nice value is lower by 10, where it may be), but not
 * for long ones: a target must not wait for them.
 *
 * From one byte to a terabyte there are 570 steps of a twentieth, so the scans are few. In the long
 * run they take a fiftieth of a processor at most: a fifth of a second of scans is on credit, and
 * comes back at a fiftieth of the time that passes. What comes and goes while there is no credit, as
 * where a process with millions of blocks grows, or between two readings, has a sum at best and no
 * sites: the answer says what the highest sum was and what of it the sites are.
 *
 * The sum may be below the truth by what is allocated while it is read, and is never above it:
 * allocations are read before frees. If many threads make the reading long, readings are rarer, so
 * that they take a hundredth of a processor at most. While a process is recorded to a folder, looks come
 * every 16 ms, and scans take a five hundredth (session_history_spare).
 *
 * The thread reads the log only, by functions that need no lock. It lives from when recording begins
 * to before the log is reset or unmapped (peak_watch_stop); its results live as long as the
 * session has that log.
 *
 * Rejected: a check in the agent where a thread has counted some 64 KB more (a compare in each
 * pair, and a wake-up of mdbg by a target that must not block); hardware watchpoints on the counts.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "heap/moment.h"

struct region;
struct session;

/* In struct session. */
struct peak_watch {
	pthread_t thread;
	bool runs;			/* main thread */
	bool sparing;			/* since its start (session/history.h) */
	bool end;			/* atomic: the thread is to end */
	const struct region *region;	/* while it runs, with its log */
	uint64_t log_start;		/* of what was found; 0: nothing */
	pthread_mutex_t lock;		/* for all below, and to wait */
	pthread_cond_t wake;
	uint64_t high_bytes, high_stamp;	/* the highest sum, and when */
	uint64_t taken_bytes, taken_stamp;	/* of the last moment that was taken */
	struct packed_moment taken;
	/* The thread's own. */
	int nice;				/* as the thread was begun with */
	uint64_t last_sum, scan_ns;	/* the last sum; how long the last scan took */
	uint64_t debt_ns, debt_at;	/* time of scans that was taken on credit; as of when */
};

/* What is known of the peak. Times are ns since the epoch. */
struct peak {
	uint64_t high_bytes, high_ns;	/* the highest sum that was seen */
	uint64_t bytes, time_ns;	/* of the moment whose sites are known */
	uint64_t every_ns;		/* between two looks */
};

/* For the main thread. False: nothing is known. */
bool peak_watch_found(struct session *session, struct peak *ret);
/* The same, with the sums of the moment. ERR_NOTFOUND: nothing is known. */
struct err *peak_watch_moment(struct session *session, struct moment *ret) MUST_CHECK;

/* For the session only. */
void peak_watch_init(struct session *session);
/* Begin to watch the session's log, if there is one and the probes are in. */
void peak_watch_start(struct session *session);
/* This must be called before the log is reset or unmapped. */
void peak_watch_stop(struct session *session);
void peak_watch_free(struct session *session);
