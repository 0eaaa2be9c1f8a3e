/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that insert, remove, replace, restore, look up and intern all at once, with an oracle:
 * every result is compared with what must come out, and readers check that each record that they
 * see is one that was put in, and that the blocks that nobody touches are there exactly once in
 * each scan. Used by the unit test and, built with ThreadSanitizer, by tests/torture/log_tsan.
 */
#pragma once

struct hammer_spec {
	unsigned writers, readers;
	unsigned long operations;	/* of each writer */
	unsigned long addresses;	/* that the writers share; too many for the region is fine */
	unsigned allocate;		/* of 100 operations; 82 less this many are frees */
	int fills;			/* the table is expected to become full */
	int directory;			/* most records fit there */
	int halves;			/* and share their granules, two in each */
	int samples;			/* the log is one that samples: it has a counting filter */
};

/* The number of failures, each with a line on standard output. */
unsigned long hammer(const struct hammer_spec *spec);
