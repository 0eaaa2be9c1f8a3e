/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a report says first, in three paragraphs: what is in memory, and what holds most; whether
 * it grows, and whether blocks are lost; what to do next, which is the largest of what is lost,
 * what grows, and what the judge of `memory` says could go. Each says no more than the figures do.
 * What is not known is said to be not known, never taken for "no".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define VERDICT_SENTENCES	3

/* A part of the resident memory, in words: "free, at the ends of other arenas". */
struct verdict_part {
	const char *what;
	uint64_t bytes;
};

#define VERDICT_PARTS	3

struct verdict_facts {
	/* Resident, without mdbg's own; 0: not known. The largest parts of it; their bytes may be 0. */
	uint64_t resident;
	struct verdict_part part[VERDICT_PARTS];
	/* What the judge of `memory` names, with its command; NULL: nothing that could go. */
	const char *judged, *ask;
	uint64_t judged_bytes;
	uint64_t judged_ns;		/* between the two looks that it is from; 0: it is from one */
	uint64_t bytes, count;		/* held, of all sites */
	bool sampled;			/* these are estimates */
	bool ended;			/* the process: they are those of its end */
	const char *top;		/* the function that holds most; NULL: none has a name */
	uint64_t top_bytes;
	uint64_t early_bytes;		/* of bytes: from before the attach */

	/*
	 * Recorded bytes and resident memory at the beginning of the history, and now. over_ns is 0
	 * if there is none; a resident memory of 0 is not known.
	 */
	uint64_t over_ns;
	uint64_t then_bytes, now_bytes, then_rss, now_rss;
	uint64_t older_bytes;		/* of blocks from before the attach that were freed in it */
	bool older_unknown;		/* more of these were, or may have been */
	/* The function that grew most in the time that growth is over; NULL: none grew. */
	const char *grower;
	uint64_t grower_bytes, grower_ns;

	const char *no_leaks;		/* why no leaks were looked for; NULL: they were */
	uint64_t lost_bytes, lost_blocks;	/* definitely, and by these alone (indirectly) */
	const char *loser;		/* that has allocated most of them; NULL: not known */
};

/* Plain text, which has names of the target in it. */
struct err *verdict_write(const struct verdict_facts *facts,
			  struct str sentences[VERDICT_SENTENCES]) MUST_CHECK;
/* "12.3 MiB", "640 bytes". */
struct err *verdict_size(struct str *to, uint64_t bytes) MUST_CHECK;
