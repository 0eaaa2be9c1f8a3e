/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Combines the log and a walk of the heap: decides which chunks are blocks, and from when. The
 * rules are only here.
 *
 * Walk minus log
 *
 * A block that the heap has and the log has not was allocated before the attach, if both were read
 * in one stop of the target and nothing else explains it. Other explanations are:
 *
 *	sampling, a full table, probes that were out for a while, a reset: then the log is not
 *	complete, and all such blocks are `unrecorded`
 *
 *	a free under way: the record is out, the chunk not yet free. The log still knows the address
 *	(log_record_knew), and an address that was recorded once cannot be that of an older block
 *
 *	a malloc under way: the chunk is taken, the record not yet in. Then the thread that runs it
 *	has the address in a register or on the top of its stack, among other words (words in
 *	flight). Such a block is left out; a caller that can let the target run for a moment looks
 *	again. A block that nothing pointed to at an earlier look is confirmed: it is from before
 *	the attach, as long as no block without a record was freed since. One that is left out now
 *	and was no block at an earlier look is not from before the attach
 *
 * A walk of an earlier moment (a snapshot), with a log that has gone on. Blocks of the log are
 * those whose records are older. A chunk that was held then, and has no such record, may have been:
 *
 *	a block that was freed since, or was being freed: its record is mostly still to be found
 *	(log_record_past), or a younger one of the same address. It is marked as freed: the thread
 *	that freed it had its address, so it is no leak. If its place in the log is gone, it is
 *	treated like the next case
 *
 *	a block from before the attach: `unrecorded`, if anything was freed since, and no leak
 *	unless the snapshot has no pointer to it
 *
 *	a block that was being allocated, or moved: its record, if it has one by now, may be
 *	older or younger than the snapshot; its thread has its address
 *
 *	no block: a chunk that the allocator itself had in hand. malloc_consolidate takes a
 *	fastbin's chunks out of all lists before it frees them one by one; apart from masked links,
 *	only the registers of its thread lead to them. So it must be known which threads are inside
 *	the allocator (inspect/memory_view.c): chunks that their words lead to are left out, and
 *	searched as roots
 *
 * Threads inside the allocator cause the last two cases. As long as any block is left out because
 * of them, a caller that can do so makes another snapshot.
 *
 * The rules, in this order. "held": the chunk is not free. "retired record": the log still knows a
 * record of the address that is out of it. "word in flight": a thread that is inside the allocator
 * has the block, its chunk or the one behind it in hand.
 *
 *	in the log  held  retired  word in  confirmed  the chunk is            its note
 *	                  record   flight
 *
 *	yes                                            a block of the log      NOTE_RECORDED
 *	no          no                                 no block
 *	no          yes   yes                          freed, or being freed   none (1)
 *	no          yes   no       yes      no         in hand: left out       none
 *	no          yes   no       yes      yes        from before the attach  NOTE_EARLY
 *	no          yes   no       no                  from before the attach  NOTE_EARLY
 *
 * (1) In a walk of an earlier moment it is listed, with NOTE_RECORDED. In a walk of now a retired
 * record counts only where the log is complete: else a block may have come to the address unseen.
 *
 * A block that is left out makes the answer uncertain. So the target runs for a moment, and is
 * looked at again (session/heap.c). Earlier looks tell two things about a block of a later look:
 *
 *	confirmed	it was listed at some look: it stays, even if a word in flight is near it
 *	observed	it was there, listed or left out, at each look: it may be from before the
 *			attach. Anything else that is left out was allocated since, and is no leak
 *
 * If a heap is damaged, the walk asks for the next block that the log knows (known_from). This is
 * rare, but may then happen a thousand times, at ascending addresses. A scan of the log keeps the
 * first KNOWN_MOST from the address on, in order, which answers many such questions.
 */
#pragma once

#include "base/word_list.h"
#include "heap/block.h"

struct heap_chunk;
struct heap_walk;
struct packed_list;
struct log;

struct walk_merge {
	const struct log *log;		/* NULL: none */
	const struct in_hand *in_hand;
	/* all blocks of both, sorted; NULL: the log is to be read */
	const struct packed_list *held;
	uint8_t process;		/* whose heaps they are */
	bool complete;
	/* of reconcile_merge_past and packed_merge_past: time stamp of the walk's moment */
	uint64_t until;
	const uint64_t *in_flight_word;		/* words, sorted */
	size_t nr_in_flight;
	const uint64_t *confirmed;	/* addresses, sorted */
	size_t nr_confirmed;
};

/*
 * Note in each chunk of the walk whether the log has its block (NOTE_RECORDED), or it is one from
 * before the attach (NOTE_EARLY). Addresses of those that were left out for a word in flight are
 * added to left_out, which is empty before.
 */
struct err *reconcile_merge(struct heap_walk *walk, const struct walk_merge *merge,
			    struct word_list *left_out) MUST_CHECK;

/* Blocks that a walk of an earlier moment has, and that were freed or resized since. */
struct walk_gone {
	uint64_t blocks, bytes;		/* none where the log samples */
	uint64_t records, record_bytes;	/* those of them whose record is still known */
};

/*
 * reconcile_merge for a walk of an earlier moment; the log has gone on since. Chunks that are gone
 * are noted as recorded. *records_ret: how many records of that moment, of all processes, are still
 * to be found, in the table or behind a chunk.
 */
struct err *reconcile_merge_past(struct heap_walk *walk, const struct walk_merge *merge,
				 struct word_list *left_out, struct walk_gone *gone_ret,
				 uint64_t *records_ret) MUST_CHECK;

enum chunk_is {
	CHUNK_NO_BLOCK,
	CHUNK_RECORDED,		/* a block of the log */
	CHUNK_FREED,		/* its record is out of the log */
	CHUNK_IN_HAND,
	CHUNK_EARLY,		/* from before the attach */
};

/*
 * Apply the rules to a chunk of a walk of an earlier moment that no record of that moment has. ret:
 * its block, if it is one.
 */
enum chunk_is reconcile_past(const struct walk_merge *merge, const struct heap_chunk *chunk,
			     struct block *ret);

struct reconcile_history {
	struct word_list confirmed;	/* sorted */
	struct word_list observed;	/* sorted; a look at a torn heap does not count */
	bool any;			/* there was a look at a heap that was not torn */
	uint64_t unknown_frees;		/* up to the last look */
};

void reconcile_free(struct reconcile_history *history);
/*
 * This must be called before each look. If a block without a record was freed, it may have been any
 * of them, and its memory may be given out again: then none is confirmed any more. log: NULL if there
 * is none. complete: as in struct walk_merge.
 */
void reconcile_drop_freed(struct reconcile_history *history, const struct log *log, bool complete);
/*
 * This must be called after a look if another one follows. walk has the notes of reconcile_merge,
 * which left these blocks out.
 */
struct err *reconcile_keep(struct reconcile_history *history, const struct heap_walk *walk,
			   const struct word_list *left_out) MUST_CHECK;
/* The number of blocks that a look left out and that may be from before the attach. */
uint64_t reconcile_unsure(const struct reconcile_history *history,
			  const struct word_list *left_out);

#define KNOWN_MOST	32768u

struct known {
	const struct log *log;		/* NULL: nothing is known */
	uint8_t process;
	/* All from `from` on, or the first of them: */
	VEC(uint64_t) address;		/* in order */
	uint64_t from;
	bool scanned, all;
};

#define KNOWN_INIT(l, p)	{ .log = (l), .process = (p) }

/*
 * The first block of malloc's of that process from address on; UINT64_MAX: none. ctx: struct known.
 */
uint64_t reconcile_known_from(void *ctx, uint64_t address);
void reconcile_known_free(struct known *known);
