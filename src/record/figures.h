/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of the figures of RECORD_MACHINE, and where they are in struct machine. */
#pragma once

#include <stddef.h>

#include "os/machine/machine.h"

/* RECORD_TOTALS has: */
#define RECORD_TOTAL_BYTES	"bytes"		/* live, and blocks: the sums of all sites */
#define RECORD_TOTAL_COUNT	"count"
#define RECORD_TOTAL_ALLOCATED	"allocated"	/* bytes of all time, and blocks */
#define RECORD_TOTAL_CALLS	"calls"
#define RECORD_TOTAL_RSS	"rss"		/* of the process, without mdbg's */
#define RECORD_TOTAL_SAMPLE	"sample"	/* one in so many bytes is recorded; 0: all */
#define RECORD_TOTAL_OLDER	"older"		/* bytes freed so far of blocks from before the log */
#define RECORD_TOTAL_LACKING	"unrecorded"	/* events that the log had no room for */
#define RECORD_TOTAL_SINCE	"since"		/* when the log began: ns since the epoch */
#define RECORD_TOTAL_THREADS	"threads"
/* What recording costs the process, and the bound: hundredths of a percent of its time. */
#define RECORD_TOTAL_COST	"cost"
#define RECORD_TOTAL_COST_MOST	"costlimit"

struct record_figure {
	const char *name;
	size_t offset;		/* of a uint64_t in struct machine */
};

extern const struct record_figure record_figures[];
extern const size_t record_figures_nr;
