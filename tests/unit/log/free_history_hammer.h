/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that remember frees in a short ring, and look for those of others, while its length is changed
 * again and again: what is found must be what was put in for that very block. Used by the unit test and,
 * built with ThreadSanitizer, by tests/torture/log_tsan.
 */
#pragma once

struct free_history_spec {
	unsigned writers, readers;
	unsigned long operations;	/* of each writer */
	unsigned history;		/* length of the ring; it is made twice and half as long */
};

/* The number of failures, each with a line on standard output. */
unsigned long free_history_hammer(const struct free_history_spec *spec);
