/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Facts that a later mdbg must know to continue a log, at the end of the region's file (share.h):
 * which modules lie where since which generation, what is in use of the room for maps and rows,
 * how the agent lays out its threads; and marks of the log itself (SHARE_WHOLE ...).
 *
 * It is written before the map that it describes is published, by an mdbg that may be killed in the
 * middle, into a file that others may open (/proc/PID/map_files). So it has a checksum, and a
 * reader believes it only as far as its numbers make sense.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct modules;

/* Bytes of the file. */
#define PROVENANCE_SIZE	(256ull << 10)

/* A module that is mapped. */
struct provenance_module {
	uint64_t start, end, inode;
	uint32_t dev_major, dev_minor;
	uint32_t born, pad;
};

#define PROVENANCE_SUM	0x6d64626768697374ull	/* what its sum goes on from (base/sum.h) */

struct provenance {
	uint64_t sum;			/* of all that follows, up to the last module */
	uint64_t layout;
	uint64_t arena_low, arena_high;	/* what is in use */
	uint32_t generation, nr;
	struct provenance_module module[];
};

/* The modules as they are mapped now, at this offset of the file. */
struct err *provenance_write(int fd, uint64_t at, const struct modules *modules, uint64_t arena_low,
			     uint64_t arena_high) MUST_CHECK;
/*
 * *ret is the caller's to free. arena_size: what arena_high may be at most. ERR_FORMAT: it has
 * another layout, or is damaged.
 */
struct err *provenance_read(int fd, uint64_t at, uint64_t arena_size, uint64_t *marks_ret,
			    struct provenance **ret) MUST_CHECK;
/* Modules that were there before keep their age; the map gets the next generation. */
void provenance_continue(const struct provenance *history, struct modules *modules);
struct err *provenance_set_marks(int fd, uint64_t at, uint64_t marks) MUST_CHECK;
