/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The free history: who has freed the last blocks, so that a double free can be traced to the first
 * one.
 *
 * It is off until `set free-history N` turns it on, because the stack of a free that is remembered
 * must be walked: the free then costs as much as an allocation. header->free_history is N, 0 if it
 * is off; it may be changed at any time by mdbg.
 *
 * Shape. A ring (ring.h) of which the first N slots are used; header->frees counts all that were
 * ever put in, and number % N is the slot. The ring has room for FREES_MAX, or less in a small
 * region; what is not used takes no memory. When N was changed, some slots have numbers that belong
 * to the old N. A search for a block does not depend on that, since each slot is complete in
 * itself. Slots that are not used any more stay until log_reset: a writer might be in the middle of
 * one.
 *
 * A block is identified by its address and the time of its record (block_time): only one of all
 * blocks that were ever at this address has that time. So an entry tells who has freed that very
 * block, and not one before it or after it. An entry is made only when it is certain that the block
 * was freed, so a block has one entry at most:
 *
 *	free		when its record was taken out, before the allocator acts. A free that is part of
 *			another event (operator delete leads to free) takes nothing out
 *	realloc		when it has returned, with another block or with none for size 0. One that fails,
 *			or has the block stay where it is, frees nothing
 *
 * When a block is freed once more, the writer that sees this (log_unknown_free.h) looks through all
 * slots at once, because they will be overwritten by the time somebody asks. It has the address and
 * the time from the block's retired record. It finds nothing if the entry is gone, if it was never
 * made (the history is off, or another thread is just doing the other free), or if its slot was
 * busy. Then the first free counts as not remembered; it is never taken for another one.
 *
 * Not remembered are frees of blocks that the log does not have, those of a log that samples, and
 * those of allocators that the user has named: for these no double free is reported.
 *
 * Freestanding.
 */
#pragma once

#include "log/log.h"

/* One cache line, so that writers of neighbouring slots do not share one. */
struct log_free_slot {
	uint64_t ticket;
	uint64_t address, block_time, time;
	uint64_t who;		/* thread << 32 | stack */
} __attribute__((aligned(64)));

/* How many are remembered, as far as the region is to be believed; 0: none. */
uint32_t free_history_kept(const struct log *log);
/* The slots that have something. */
uint32_t free_history_used(const struct log *log);
