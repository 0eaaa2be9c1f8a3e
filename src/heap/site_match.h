/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The difference of two lists of sites that have no stack ids in common: the lists are of two
 * processes, runs or days.
 *
 * Two sites are the same if their stacks are. Frames are compared in one of two ways:
 *
 *	by build	If both lists have frames in files of the frame's build-id, the frames are the
 *			same if build-id and offset are. Inlined functions follow from these, so they
 *			are not compared.
 *	by name		Otherwise the program or library has been built anew, or it has no build-id.
 *			Then the frames are the same if the names of their functions are, of inlined
 *			ones too. A frame without a name in a file with a build-id is the same as none
 *			of another file, whatever its offset.
 *
 * So two calls of a function in one build stay two sites even if their names are the same. Where a
 * name is all that is known, all sites of a list whose stacks are the same count as one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "heap/block.h"

struct match_frame {
	uint32_t build;		/* the number of its file's build-id; 0: none */
	uint32_t name;		/* the number of its function's name; 0: none */
	uint64_t offset;	/* in its file, if that has a build-id */
	bool inlined;		/* into the next frame, which has the same build and offset */
};

struct match_site {
	uint32_t first, nr;	/* its frames, innermost first */
	uint64_t bytes, count;
};

/* A list of sites. Both lists have the same numbers for the same build-ids and names. */
struct match_side {
	VEC(struct match_frame) frames;
	VEC(struct match_site) sites;
};

#define MATCH_SIDE_INIT	{ VEC_INIT, VEC_INIT }
#define MATCH_NONE	UINT32_MAX

enum match_by {
	MATCH_BUILD,		/* all frames by build */
	MATCH_NAMES,		/* at least one frame by name */
	MATCH_ONLY,		/* the site is in one of the lists only */
};

struct match_change {
	uint32_t from, to;	/* the site in each list, of several the largest; MATCH_NONE */
	enum match_by by;
	int64_t bytes, count;	/* second list less first; at least one is not 0 */
};

struct match {
	/* The largest change of bytes first, up or down; ties by count, then by `to` and `from`. */
	VEC(struct match_change) vec;
	/* The sums of all increases and of all decreases. */
	uint64_t grown, shrunk;
	struct sample_share from, to;	/* the totals of the two lists */
	size_t sites[MATCH_ONLY + 1];	/* how many there are of each, unchanged ones too */
};

#define MATCH_INIT	{ .vec = VEC_INIT }

/* Compute the changes from one list to the other. */
struct err *match_build(const struct match_side *from, const struct match_side *to,
			struct match *ret) MUST_CHECK;
void match_free(struct match *match);
void match_side_free(struct match_side *side);
