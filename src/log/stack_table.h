/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stack table: every distinct (PCs, end, generation) once, under a number that stays.
 *
 * Shape
 *
 *	arena		the stacks, one after the other, in units of 16 bytes; unit 0 is not used
 *	directory	id -> unit of the arena; 0: no such stack
 *	index		hash -> (hash's upper half << 32 | unit); 0: empty
 *	header->stacks	next id << 32 | next unit of the arena
 *
 * Nothing is ever taken out, so that a number that was given out stays good, after log_reset too.
 *
 * The index is a row of levels, each twice as large as the one before. A stack has one bucket of 8
 * places, a cache line, in each level. A search goes through the places level by level, beginning
 * with the smallest level, and ends at the first empty place. So the memory of the index grows with
 * the number of stacks and not with the room for them, and a few thousand hot stacks are in the
 * first level, 32 KB.
 *
 * To look up is to hash the PCs, to find an index word with the same upper half, and to compare the
 * stack itself. To insert is
 *
 *	1  take an id and room in the arena at once, by compare and swap of header->stacks
 *	2  write the stack, then directory[id] (release)
 *	3  put the unit into the index at the empty place where the search ended (compare and swap,
	release)
 *
 * If 3 fails, another writer took the place; if its stack is the same, ours is forgotten (the id
 * has no stack and the room is lost, a rare and small loss), otherwise the search goes on. Two
 * writers that insert the same stack go through the same places in the same order and no place
 * becomes empty again, so one of them meets the other's: each stack is in the index once. Ids are
 * dense but for the few that were lost in such a race.
 *
 * Death of a writer: after 1 an id without a stack (directory 0); after 2 a stack that no search
 * finds, harmless; 3 is one store.
 *
 * A reader in another process goes id -> directory -> arena, checks that both lie inside, and reads
 * what does not change any more, but for the all-time counts beside the PCs, which are atomic sums
 * of their own. The target can write here, so a reader reads each bound once and uses that value,
 * never a second look: reader_stack copies the number of PCs out, and checks that so many lie
 * inside the arena.
 *
 * One thing changes later: mdbg sets `forward` of a deferred stack, once (log_deferred.h).
 *
 * Full (ids, arena, or all places that a stack has in the index) is LOG_STACK_NONE, and the caller
 * counts the block in unstacked.
 *
 * Freestanding.
 */
#pragma once

#include <stdint.h>

#define STACK_UNIT	16
#define STACK_TYPICAL	128		/* bytes, for laying out: 10 PCs */
#define STACK_NR_MAX	(1ull << 28)

#define STACK_BUCKET	8		/* places: one cache line */
#define STACK_BUCKETS	512		/* of the first level */

/* The first bucket of a level, which is the number of buckets in all levels before it. */
static inline uint64_t stack_level_start(uint32_t level)
{
	return ((1ull << level) - 1) * STACK_BUCKETS;
}

struct log_stack {
	uint32_t id;
	uint32_t generation;
	uint16_t nr;
	uint8_t end;
	uint8_t pad;
	/* of a deferred stack: the whole one, if it is known (log_deferred.h) */
	uint32_t forward;
	uint64_t total, total_bytes;	/* all-time */
	uint64_t pc[];
};

struct log;

/*
 * The stack with this id, if all of it lies inside the arena; else NULL. *nr_ret is its number of
 * PCs; do not read that from the stack again.
 */
struct log_stack *stack_table_find(const struct log *log, uint32_t id, uint32_t *nr_ret);
