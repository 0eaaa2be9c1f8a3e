/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Unknown frees: frees of blocks of which the log has no record. A writer sees such a free
 * before the allocator acts on it, and the allocator may then end the process; so the writer
 * remembers it at once, with its stack.
 *
 * Kinds
 *
 *	the allocator's own	glibc gives back what a thread's cache has by `free` when the thread ends.
 *				Told by the stack: all of it, to its end, is in the C library. Counted
 *				in own_frees, and not remembered. (A key's destructor that is `free`
 *				itself looks the same.)
 *	double			some caller is outside of the C library, and the address has a retired
 *				record in the table: it was recorded, it was freed, and no block was
 *				recorded there since, or that record would be gone (block_table.h). It
 *				must have been recorded after the last gap: before that it may have been
 *				given out again without a record. Only where all that gives out blocks is probed (struct
 *				free_facts), and where the writer can tell events that belong together
 *				(operator delete leads to free): else it is unknown
 *	unknown			all else: mostly a block from before the attach, or one that was freed so
 *				long ago that another has its record's place. What is no block at all is
 *				among them, and the reader tells it (inspect/unknown_frees.h); but where
 *				the stack was then the writer must say
 *
 * Sizes. Nobody has seen an unknown block being allocated, but its size is needed: a process that
 * replaces its old blocks by new ones does not grow, though the log has ever more. glibc keeps the
 * size in the word before a block (its head), which its free and its realloc read first of all. So
 * where such a function is probed (ledger_function.headed), the writer reads that word just before
 * the function does, if it can be read. Where operator delete is called, whose blocks may be
 * anybody's, the size is read in the free that it leads to. Sizes are what the block has room for,
 * a few bytes more than was asked for. What is no block has no plausible head, or glibc is about
 * to end the process.
 *
 * A log that samples has few retired records, and remembers no unknown frees. Those of allocators
 * that the user has named are not remembered either, since they may have other functions that
 * nobody has named.
 *
 * Shape. Each kind has a ring (ring.h) of LOG_UNKNOWN_FREES slots with the newest ones;
 * header->unknown_frees counts all that there ever were. If two whose numbers are LOG_UNKNOWN_FREES
 * apart come at the same time, one of them is only counted.
 *
 * A double free is stored with the first free of the block, if frees were remembered
 * (free_history.h): the writer looks for that at once, since it may be overwritten when somebody
 * asks.
 *
 * Freestanding.
 */
#pragma once

#include "log/log.h"

/* frames of an unknown free's stack, if those of others are fewer */
#define UNKNOWN_FREE_DEPTH	8u

struct log_unknown_free_slot {
	uint64_t ticket;
	uint64_t address, time;
	uint64_t who;		/* thread << 32 | stack */
	uint64_t block_size, block_time, block_who;	/* block_time is 0 if there is none */
	uint64_t first_time, first_who;	/* first_time is 0 if the first free is not remembered */
	uint64_t history;	/* how many frees were remembered */
	uint64_t on_stack;
};

/* Facts about a process, from mdbg (probe/free_facts.c). */
#define UNKNOWN_FREE_LIBRARIES	2
struct free_facts {
	/*
	 * If false, no double free is reported: not all functions that give out blocks are probed,
	 * or one allocator is built on another one and may keep blocks that were freed to it.
	 */
	uint64_t complete;
	/*
	 * The text of the C library; two ranges, because libpthread was a module of its own. An
	 * unused one is 0, 0.
	 */
	struct {
		uint64_t start, end;
	} library[UNKNOWN_FREE_LIBRARIES];
};

/*
 * log_record_remove has not found this block (and has counted the free as unknown): find out which
 * kind of free it is, count it as that, and remember it. The fields for double frees are filled in
 * here. caller is the return address of the call, which mostly says enough about the stack; 0: not
 * known. told_apart: see above. True: it has stayed unknown, so that its size is of use.
 */
bool log_unknown_free(struct log *log, struct log_unknown_free *unknown,
		      const struct free_facts *facts,
		      uint64_t caller, bool told_apart);
