/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes the frames of one segment of events and samples: it numbers names anew, and writes what has
 * changed. It knows no file: the frames are in `out`, whose reader takes them away.
 *
 * After an error the segment is of no use: what `out` has, and what later frames would refer to,
 * may not fit.
 */
#pragma once

#include "base/str.h"
#include "record/names.h"
#include "record/reader.h"
#include "record/states.h"

struct record_output {
	struct record_names *names;	/* the caller's */
	VEC(uint32_t) local[RECORD_NAME_KINDS];		/* by number: the one in this segment, or 0 */
	uint32_t nr[RECORD_NAME_KINDS];
	struct { struct str bytes; uint32_t first; } pending[RECORD_NAME_KINDS];
	struct record_states states;	/* of targets */
	struct str out;
	bool packed;		/* frames go into blocks: they are not compressed one by one */
};

#define RECORD_OUTPUT_FRAMES	(1u << 20)	/* bytes of names in a frame, about */

struct record_output_head {
	uint64_t number, last, time_ns;
	uint64_t every;		/* seconds of which one sample was kept; 0: it is plain */
};

struct err *record_output_begin(struct record_output *output, struct record_names *names,
				const struct record_output_head *head) MUST_CHECK;
struct err *record_output_event(struct record_output *output,
				const struct record_event *event) MUST_CHECK;
/* Tables that were taken at the same time as those of the sample before are not looked at. */
struct err *record_output_sample(struct record_output *output,
				 const struct record_sample *sample) MUST_CHECK;
struct err *record_output_end(struct record_output *output) MUST_CHECK;
void record_output_free(struct record_output *output);
