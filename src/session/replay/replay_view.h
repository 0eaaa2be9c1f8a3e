/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The recordings that a session has open, for the files of this folder. */
#pragma once

#include "heap/reach/mark.h"
#include "record/reader.h"
#include "session/replay/replay_stacks.h"
#include "session/replay/replay_timeline.h"

struct replay_source {
	char *folder;
	struct record_reader *reader;
	struct replay_numbers numbers;
};

struct replay {
	VEC(struct replay_source) sources;
	struct replay_timeline timeline;
	struct replay_stacks stacks;
	pid_t only;			/* the targets of the view have this pid; 0: all */
	uint64_t now_ns;
	uint64_t taken_ns;		/* when the figures of the last `memory` were taken */
	char now_text[32];
};

/* Fill in an empty history with what was recorded of the view. */
struct err *replay_view_history(struct replay *replay, struct history *ret) MUST_CHECK;

/* Fill in the marks that were set, with their times; the moments are in the history. */
struct err *replay_view_marks(struct replay *replay, struct marks *ret) MUST_CHECK;

typedef struct err *replay_view_fn(void *ctx, struct replay_source *source,
				   const struct record_sample *sample);

/* Call fn with the sample of a target at a time, if it is known then. tables: 1 << kind, as wanted. */
struct err *replay_view_at(struct replay *replay, const struct replay_target *target,
			   uint64_t time_ns, unsigned tables, replay_view_fn *fn,
			   void *ctx) MUST_CHECK;
/* The same for each target of the view. */
struct err *replay_view_each(struct replay *replay, uint64_t time_ns, unsigned tables,
			     replay_view_fn *fn, void *ctx) MUST_CHECK;
