/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The difference of two lists of sites: which have grown or shrunk, and which are in one of them.
 *
 * Sites are the same if their keys are. A key is a number that the caller makes:
 *
 *	two moments of one log	the id of the stack (difference_of_moments)
 *	exports			a number for the stack's frames, as ids of one process mean
 *				nothing in another (export/compare.h)
 *
 * Sites of one list that have the same key count as one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "heap/block.h"

struct log;
struct moment;

struct difference_site {
	uint32_t key;
	uint32_t index;		/* in its list */
	bool to;		/* it is in the second list */
	/* the key has a frame that is compared by its name; all sites with one key agree in this */
	bool by_names;
	uint64_t bytes, count;
};

struct difference_sites {
	VEC(struct difference_site) vec;
};

#define DIFFERENCE_NONE	UINT32_MAX

enum difference_by { DIFFERENCE_EXACT, DIFFERENCE_NAMES, DIFFERENCE_ONLY };

struct change {
	/* The site in each list, of several the largest; DIFFERENCE_NONE: it is not there. */
	uint32_t from, to;
	enum difference_by by;	/* DIFFERENCE_ONLY: it is in one of the lists only */
	int64_t bytes, count;	/* second list less first; at least one is not 0 */
	uint64_t from_bytes;	/* of the first list */
};

struct difference {
	/* The largest change of bytes first, up or down; ties by count, then by `to` and `from`. */
	VEC(struct change) vec;
	size_t unlisted;	/* how many a limit has left out of vec */
	/* The sums of all increases and of all decreases. */
	uint64_t grown, shrunk;
	struct sample_share from, to;	/* the totals of the two lists */
	size_t sites[DIFFERENCE_ONLY + 1];	/* how many there are of each, unchanged ones too */
	/*
	 * What was freed of older blocks from one moment of a log to another (struct log_older); of
	 * an earlier one it is less than 0. Not known of files.
	 */
	struct difference_older {
		bool known;
		int64_t bytes, frees, unsized;
	} older;
};

#define DIFFERENCE_INIT	{ .vec = VEC_INIT }

/* Compute the changes from one list to the other. sites has both; this sorts it. */
struct err *difference_build(struct difference_sites *sites, struct difference *ret) MUST_CHECK;
/*
 * Compute the changes from one moment of a log to another; either may be the earlier one. `from`
 * and `to` of a change are both the stack, also where it holds nothing. A deferred stack that is
 * complete now counts as the complete one (log/log_deferred.h).
 */
struct err *difference_of_moments(const struct log *log, const struct moment *from,
				  const struct moment *to, struct difference *ret) MUST_CHECK;
/* All changes together, with what was freed of older blocks as far as its size is known. */
int64_t difference_net(const struct difference *difference);
void difference_free(struct difference *difference);
