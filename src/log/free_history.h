/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The history of frees: who has freed the last blocks, for the day on which one is freed again.
 *
 * Off unless it was asked for (`set free-history N`), since a free that is remembered has its stack
 * walked, and costs as much as an allocation then. header->free_history is N, 0 if it is off; it
 * may be changed at any time by mdbg.
 *
 * Shape. A ring (ring.h) of which the first N slots are used; header->frees counts all that were
 * ever put in, and number % N is the slot. The ring has room for FREES_MAX, or less in a small
 * region; what is not used takes no memory. When N is changed some slots have numbers of the other
 * N: a slot says all there is to know of itself, so that this makes no difference to who looks for
 * a block. Slots that are not used any more stay until log_reset: a writer might be in the middle
 * of one.
 *
 * Which block. One is known by its address and the time of its record (block_time): of all blocks
 * that were ever at this address one has that time. So an entry tells who has freed that very
 * block, and not some other before it or after it; and since it is put in only when it is sure that
 * the block was freed, a block has one entry at most:
 *
 *	free		when its record was taken out, before the allocator acts. A free that is part of
 *			another event (operator delete leads to free) takes nothing out
 *	realloc		when it has returned, with another block or with none for size 0. One that fails,
 *			or has the block stay where it is, frees nothing
 *
 * When a block is freed once more, the writer that meets this (unknown_free.h) looks here at once,
 * in all slots: by the time somebody asks, they are others. It knows address and time from the
 * retired record of the record. Nothing is found where the entry is gone, where it was never made
 * (off, or the other free is just being done by another thread), or where its slot was busy. Then
 * the first free is not remembered: never is it another one.
 *
 * Not remembered are frees of blocks that the log does not have, those of a log that samples, and
 * those of allocators that the user has named: of these no double free is told.
 *
 * Freestanding.
 */
#pragma once

#include "log/log.h"

/* A cache line: the next one is another writer's. */
struct log_free_slot {
	uint64_t ticket;
	uint64_t address, block_time, time;
	uint64_t who;		/* thread << 32 | stack */
} __attribute__((aligned(64)));

/* How many are remembered, as far as the region is to be believed; 0: none. */
uint32_t free_history_kept(const struct log *log);
/* The slots that have something. */
uint32_t free_history_used(const struct log *log);
