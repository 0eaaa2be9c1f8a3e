/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The targets of a view (session_replay.h), and its history: the sums of what they held at the time
 * of each sample, and the times at which nothing was recorded.
 *
 * All samples and ends of all recordings are put in order of time. The totals of a target are those
 * of its last sample until the next one, or its end. After each of them the sum of all is a sample of
 * the history.
 */
#pragma once

#include <sys/types.h>

#include "base/map.h"
#include "base/vec.h"
#include "heap/history.h"
#include "record/reader.h"

struct replay_target {
	size_t source;			/* index of its recording */
	uint32_t number;		/* in that */
	pid_t pid;
	uint64_t from_ns, to_ns;	/* of its first and last sample */
	uint64_t end_ns;		/* nothing is known of it from then on; UINT64_MAX: it is */
	bool exited;			/* ... because it has ended */
	uint32_t why;			/* a string of the recording: the reason; 0: not known */
	uint64_t samples;
};

struct replay_timeline {
	VEC(struct replay_target) targets;	/* of each recording in order of their first samples */
	struct map numbers;			/* source and number -> 1 + index */
	uint64_t sample;	/* the most bytes of which one was recorded; 0: all were */
	uint64_t cost;		/* the highest bound by which the rate changed; 0: there was none */
};


/* Add the targets of a recording that are not there yet. */
struct err *replay_timeline_add(struct replay_timeline *timeline, struct record_reader *reader,
				size_t source) MUST_CHECK;
/*
 * Fill in an empty history with what was recorded of all targets, or of those with one pid (0: all).
 * readers are the recordings by their index. Then all targets have their times.
 */
struct err *replay_timeline_history(struct replay_timeline *timeline,
				    struct record_reader *const *readers, size_t nr, pid_t only,
				    struct history *ret) MUST_CHECK;
static inline bool replay_timeline_shows(const struct replay_target *target, pid_t only)
{
	return !only || target->pid == only;
}

void replay_timeline_free(struct replay_timeline *timeline);
