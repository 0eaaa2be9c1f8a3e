/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The block or chunk at an address, by a walk of the heaps and by the log as it is now. */
#pragma once

#include "heap/block.h"
#include "heap/heap_chunk.h"

struct heap_walk;

struct find_source {
	const struct heap_walk *walk;	/* with notes (heap/reconcile.h); NULL: none */
	const struct log *log;		/* NULL: none */
	const struct in_hand *in_hand;
	uint8_t process;		/* whose heaps they are */
	bool complete;			/* as in struct walk_merge */
};

struct found_at {
	enum { FOUND_NOTHING, FOUND_BLOCK, FOUND_CHUNK } what;
	struct block block;
	struct heap_chunk chunk;	/* if no block is known there: mostly a free one */
	/*
	 * If there is no block: the block that was freed last at the address, or at the chunk's
	 * address, if its free is remembered (log/free_history.h); if not, freed.time is 0.
	 */
	struct block was;
	struct log_free freed;
};

struct err *find_at(const struct find_source *source, uint64_t address,
		    struct found_at *ret) MUST_CHECK;
