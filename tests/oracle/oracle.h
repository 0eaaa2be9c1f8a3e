/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The oracle's file: every allocation and release of a process in the order in which they happened to each block, as
 * its own wrappers around the allocator's functions saw them (recorder.c writes it, replay.c reads it).
 *
 * A block is given after the allocator has returned it and taken before the allocator has it back, so that the events
 * of one address are in order whichever threads they come from.
 */
#pragma once

#include <stdint.h>

#define ORACLE_MAGIC	0x31656c6361726fu	/* "oracle1" */
#define ORACLE_EVENTS	(UINT64_C(1) << 24)	/* room; the file has holes where nothing was written */

enum oracle_kind {
	ORACLE_NONE,		/* a place that a thread has taken and not yet written */
	ORACLE_GIVEN,
	ORACLE_TAKEN,
	ORACLE_KEPT,		/* a realloc has failed: the block that was taken is still there */
};

struct oracle_event {
	uint64_t address, size;
	uint32_t kind, thread;
};

struct oracle {
	uint64_t magic;
	uint64_t next;		/* events asked to be written: those past ORACLE_EVENTS were not */
	uint64_t pad;
	struct oracle_event event[];
};
