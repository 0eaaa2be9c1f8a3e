/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pools that mdbg knows: allocators of libraries and programs that cut many objects out of one
 * block of malloc's. How each is recognised, and what is said of it. Its functions are in a Tcl
 * file, scripts/pools/NAME.tcl, which `probe pool NAME` runs. The texts are only printed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct modules;

struct pool {
	const char *name;
	const char *what;	/* "GLib's slices" */
	const char *function;	/* the first that is probed, by which it is known that it is */
	/*
	 * Do modules with a file of this name (the last part of the path) have it, and its objects
	 * lie in blocks of malloc or in memory that it maps?
	 */
	bool (*is_in)(const char *file);
	/* Nearly all of its objects share blocks, so that malloc's say little: it is offered. */
	bool offered;
	bool whole;		/* a whole pool can be freed by one call, which no probe sees */
	const char *lists;	/* the command that lists its blocks without probes; NULL: none does */
	const char *loses;	/* that lists those which are lost */
	const char *lacks;	/* what its probes do not see: printed when they are put in; NULL */
};

#define POOLS	7u

extern const struct pool pools[POOLS];

/* A bit for each of `pools` that a mapped module has. */
uint32_t pools_find(const struct modules *modules);
