/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The segments of a recording that have ended: which are packed, and which are removed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

/* Of a recording. */
struct record_limits {
	uint64_t keep_ns;	/* older segments are removed; 0: none */
	uint64_t size;		/* bytes of all segments; 0: any */
};

struct record_shelf_segment {
	uint64_t number, last, from_ns, to_ns, bytes;
	uint64_t every;			/* seconds of which one sample was kept; 0: plain */
	bool full;			/* no other is packed with it: both would have too many names */
	bool unreadable;		/* it is only counted, and removed in its turn */
};

struct record_packing;

struct record_shelf {
	int dir_fd;			/* the caller's */
	VEC(struct record_shelf_segment) vec;
	uint64_t next;			/* number */
	struct record_packing *packing;	/* under way, in a thread of its own; NULL: nothing is */
	size_t packs, packs_nr;		/* which segments: the index of the first, and how many */
	uint64_t packs_every;
	uint64_t again_ns;		/* time of day: after an error nothing is packed before */
};

/*
 * Find the segments of a folder that nobody else writes to; those that a packed one has in it are
 * removed. ERR_UNSUPPORTED: another main version.
 */
struct err *record_shelf_open(struct record_shelf *shelf, int dir_fd) MUST_CHECK;
void record_shelf_close(struct record_shelf *shelf);
uint64_t record_shelf_next(const struct record_shelf *shelf);
/* A segment has ended. */
void record_shelf_add(struct record_shelf *shelf, const struct record_shelf_segment *segment);
/*
 * Begin to pack what is old enough, and remove what is too old or too much. It is to be called again and
 * again: what was packed meanwhile takes its place then. What fails is left as it is for an hour.
 */
void record_shelf_tidy(struct record_shelf *shelf, const struct record_limits *limits,
		       uint64_t now_ns);
/* The same, until all of it is done. */
void record_shelf_settle(struct record_shelf *shelf, const struct record_limits *limits,
			 uint64_t now_ns);
void record_shelf_sums(const struct record_shelf *shelf, uint64_t *bytes_ret,
		       uint64_t *segments_ret, uint64_t *from_ret);
