/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The history (heap/history.h) and the marks (heap/reach/mark.h) of a session's log: when samples are
 * taken, and what happens to history and marks when the log changes. All functions are for the main
 * thread.
 *
 * To take a sample, mdbg scans the log. The target does nothing for it and is not stopped. The time
 * of a scan grows with the number of records. So the next sample is due after the interval that the
 * user has set (`set history-seconds`), or after 120 times the processor time of the last sample,
 * whichever is longer. Then samples take less than one percent of a processor, however many records
 * there are. If an answer has scanned the log, its sums are added as a sample, too.
 *
 *	new log		(attach, `malloc reset`) A new history begins. Its first sample is the
 *			origin, unless the log is older. Marks from before a reset become stale.
 *	`malloc off`	There is a gap until `malloc on`. Blocks that are freed meanwhile stay in
 *			the log.
 *	detach -keep	There is a gap until this mdbg attaches again and continues the same log.
 *	detach, end	There are no more samples. History and marks stay as long as the log does.
 *
 * The log that history and marks belong to is identified by the time stamp of its start, which
 * log_reset sets anew; no two logs have the same.
 */
#pragma once

#include "heap/history.h"
#include "heap/reach/mark.h"

struct session;

/* In struct session. */
struct log_history {
	struct history history;
	struct marks marks;
	uint64_t log_start;		/* identifies their log; 0: there was none yet */
	uint64_t sampled_ns;		/* time of the last sample, by the monotonic clock */
	/* The processor time of the last sample that was not an answer's; 0: there was none yet. */
	uint64_t cost_ns;
};

#define LOG_HISTORY_INIT	{ .history = HISTORY_INIT, .marks = MARKS_INIT }

/*
 * Returns the time now, in ns since the epoch, by the clock of the log, which must exist; of a
 * recording it is where the cursor is.
 */
uint64_t session_history_now(struct session *session);
/* Returns the history and the marks of the session's log; NULL: nothing is recorded. */
const struct log_history *session_history(struct session *session);
/* Returns the nanoseconds between two samples; 0: no samples are taken but those of answers. */
uint64_t session_history_interval(const struct session *session);
/*
 * Take a sample if one is due. Returns after how many nanoseconds the caller must call this again.
 * Without memory no sample is taken.
 */
uint64_t session_history_poll(struct session *session);
/*
 * A recording keeps what was, so mdbg itself may cost less. While it is sparing, the history takes a
 * thousandth of a processor and 4 MB, the peak is looked for every 16 ms, and its scans take a five
 * hundredth, and the pages of the log do not stay in mdbg's own resident memory after a scan.
 */
void session_history_spare(struct session *session, bool sparing);
/*
 * Scan the log, which must exist, for the moment of now; of a recording that is read. It is exact if the target is stopped. If
 * the probes are in, the moment is also added as a sample.
 */
struct err *session_history_moment(struct session *session, struct moment *ret) MUST_CHECK;
/* The moment of a sample of the history. */
struct err *session_history_unpack(struct session *session, const struct history_sample *sample,
				   struct moment *ret) MUST_CHECK;
/* Add the moment of an answer as a sample, if the probes are in. */
struct err *session_history_add(struct session *session, const struct moment *moment) MUST_CHECK;
/*
 * Returns the sample with which growth is computed if no moment is given (history_growth). NULL:
 * growth is not known; so it is while the probes are out.
 */
const struct history_sample *session_history_growth(struct session *session, uint64_t now_ns);
/*
 * Set a mark. If name is NULL, a name is made. *ret is valid until the next mark is set. ERR_USAGE,
 * ERR_STATE: see marks_check.
 */
struct err *session_history_mark(struct session *session, const char *name,
				 const struct mark **ret) MUST_CHECK;
/* Forget a mark (marks_remove). There must be a log. */
struct err *session_history_unmark(struct session *session, const char *name) MUST_CHECK;
/*
 * What each stack of the log, which must exist, has had in all, as a moment of now. A moment that is
 * taken later holds nothing that this does not have.
 */
struct err *session_history_totals(struct session *session, struct moment *ret) MUST_CHECK;

/*
 * What mdbg has mapped in the session's process: its log and its agent. It grows with the process'
 * blocks, and is no part of the process' figures. Main thread.
 */
struct session_own {
	uint64_t mapped, resident;	/* bytes; 0: none, or not known */
};

struct session_own session_history_own(const struct session *session);

/* The functions below are called by the session only. */

/* A gap begins (struct history_gap); the gap ends. */
void session_history_pause(struct session *session, bool recorded);
void session_history_resume(struct session *session);
/* The log was reset: begin a new history, and make all marks stale. */
void session_history_reset(struct session *session);
void session_history_free(struct session *session);
