/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The hammer of deferred stacks: writers defer stacks of few kinds, each with all of its words made from its
 * number, and some die in the middle; mdbg's half takes the copies, and finds each to be of one kind and as it
 * was. In the end each stack is whole, and each count is in its place.
 */
#pragma once

struct deferred_spec {
	unsigned writers;
	unsigned kinds;			/* of stacks */
	unsigned long operations;	/* of each writer */
};

/* Returns the number of failures, which it has printed. */
unsigned long deferred_hammer(const struct deferred_spec *spec);
