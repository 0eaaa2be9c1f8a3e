/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of each target of a segment, as its last sample has them, for who reads or writes it. */
#pragma once

#include "record/table.h"

struct record_state {
	bool valid;		/* of who reads: its tables are what they were at the last sample */
	/* Of who writes: samples since the last whole one, and the bytes of that, and since then. */
	unsigned samples;
	uint64_t whole_bytes, bytes;
	struct record_table table[RECORD_TABLES];
	struct record_table changes;	/* at work */
};

struct record_states {
	VEC(struct record_state *) vec;		/* by target; NULL: nothing is known of it */
};

/* Get the state of a target: where there is none yet it has empty tables. */
struct err *record_states_of(struct record_states *states, uint32_t target,
			     struct record_state **ret) MUST_CHECK;
/* Something is missing in the file: no table is what it was at the last sample. */
void record_states_lost(struct record_states *states);
void record_states_free(struct record_states *states);
