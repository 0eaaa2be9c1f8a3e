/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the events and samples of one segment, one after the other, and numbers their names as the
 * whole recording has them. The file may still be written to: at its end it may be asked again.
 *
 * Where frames were lost, samples that are based on them are left out. A name that was lost is
 * "(lost)" with its number, so that the figures of what it names stay. Targets that the names have no
 * room for are left out, with their samples and events; the names have them in left_out.
 */
#pragma once

#include "record/frame.h"
#include "record/names.h"
#include "record/reader.h"
#include "record/states.h"

struct record_input {
	struct record_names *names;	/* the caller's */
	struct record_frames frames;
	/* The tables that are read, 1 << kind, of this target (0: of all); samples have no others. */
	unsigned tables;
	uint32_t target;
	VEC(uint32_t) global[RECORD_NAME_KINDS];	/* by number in the segment */
	struct record_states states;
	uint64_t state_bytes;		/* of their tables */
	uint64_t number, last, every, begun_ns;	/* of its head */
	bool newer, ended;
	uint64_t lost_samples;
};

enum record_item { RECORD_ITEM_NONE, RECORD_ITEM_EVENT, RECORD_ITEM_SAMPLE };

/*
 * Read the head of a segment; fd stays the caller's. ERR_FORMAT: it is none, or not yet;
 * ERR_UNSUPPORTED: it is of another main version. The caller calls record_input_free, also then.
 */
struct err *record_input_begin(struct record_input *input, struct record_names *names, int fd,
			       unsigned tables) MUST_CHECK;
/*
 * RECORD_ITEM_NONE: there is nothing more now. A sample lives until the next call, and its tables
 * belong to the input.
 */
struct err *record_input_next(struct record_input *input, enum record_item *item_ret,
			      struct record_event *event_ret,
			      struct record_sample *sample_ret) MUST_CHECK;
void record_input_free(struct record_input *input);
