/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of a reader (reader.c), for its cursors (cursor.c). */
#pragma once

#include "record/input.h"
#include "record/reader.h"

struct record_summary {
	struct record_segment is;
	ino_t inode;
	int fd;				/* of one that may grow; -1 */
	struct record_input input;	/* of that */
	bool open;
	struct record_moments moments;
	struct record_events events;
	VEC(uint32_t) targets;
	VEC(bool) noted;		/* by target: it is among them */
};

struct record_reader {
	int dir_fd;
	struct record_names names;
	VEC(struct record_summary *) summaries;	/* in order of number */
	uint64_t moments, events;		/* of all */
};
