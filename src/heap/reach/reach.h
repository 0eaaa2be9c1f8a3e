/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the blocks that the program can still reach, by conservative marking: every aligned word of
 * the roots, and of the blocks that they lead to, counts as a pointer if it is an address inside of
 * a block.
 *
 * The four kinds are those of valgrind's memcheck (manual, 4.2.8 "Memory leak detection"). RRR is
 * a root, AAA and BBB are blocks, ---> points to a block's start, -?-> somewhere inside:
 *
 *	(1)  RRR ------------> BBB	BBB reachable
 *	(2)  RRR ---> AAA ---> BBB	both reachable
 *	(3)  RRR               BBB	BBB definitely lost
 *	(4)  RRR      AAA ---> BBB	AAA definitely, BBB indirectly lost
 *	(5)  RRR ------?-----> BBB	BBB possibly lost
 *	(6)  RRR ---> AAA -?-> BBB	BBB possibly lost
 *	(7)  RRR -?-> AAA ---> BBB	both possibly lost
 *	(8)  RRR -?-> AAA -?-> BBB	both possibly lost
 *	(9)  RRR      AAA -?-> BBB	AAA definitely, BBB indirectly lost
 *
 * If several of these apply to a block, it gets the first of: reachable, possibly lost, indirectly
 * lost. In a ring of lost blocks the one with the smallest address is definitely lost, and the
 * others are indirectly lost through it (`leader`). If a lost block outside of the ring points to
 * the leader, the leader is indirectly lost, too. memcheck does the same.
 *
 * An inner pointer counts as one to the start if it is of a kind that compilers and libraries keep
 * (valgrind's --leak-check-heuristics, all of which are on here):
 *
 *	stdstring	behind length, capacity and reference count of an old std::string
 *	length64	behind a first word that is the length of what follows
 *	newarray	behind a first word that is a number of elements: new[] of a class with a
 *			destructor
 *	multiple	at a word that is the address of a table of virtual functions, as is the
 *	inheritance	block's first word
 *
 * A block is scanned up to the size that was asked for: pointers that a program keeps behind that,
 * after malloc_usable_size, are not seen.
 *
 * Nested blocks: those of allocators that the user has named lie inside of malloc's. An address is
 * in the innermost block. A pointer to an inner block reaches the one around it, too, and the
 * memory between inner blocks is the outer one's. A block of malloc in which a block of such an
 * allocator lies is that allocator's, which knows it, whatever leads to it: it counts as reachable,
 * and what is lost in it are inner blocks. What only its own memory leads to is possibly lost.
 *
 * Stacks and registers are the last roots, and are read word by word: blocks found before that
 * depend on other roots, and blocks that one of these words leads to depend on that word (struct
 * reach_holder). Then the possibly lost blocks that are likely to be in use are told from the
 * others (enum likely).
 *
 * Passes. First the other roots are read, and the wide blocks that they lead to; then all other
 * blocks, once, from front to back, in large pieces. If a block is known to be reachable by then,
 * its pointers are followed at once; those of other blocks are kept (pointer_graph.h), unless they
 * are too many. A block that is reached from then on is `pending`. Pointers mostly lead one way, as
 * lists grow at one end. So all blocks are swept over from back to front, and from front to back,
 * and a pending block is followed when its turn comes, as long as that finds many. In this order
 * the processor can prefetch, which it cannot if pointers are followed as they come. The rest is
 * followed window by window (of REACH_WINDOW blocks), together with the blocks that are reached
 * next. Their kept pointers are fetched while the blocks wait in a queue; blocks whose pointers
 * could not be kept are read again, in order of address. So there is no stack that a long list
 * could overflow, and memory is read at full speed instead of in the order of pointers (which took
 * a system call for each: 50 times as long). A block is followed four times at most, whatever the
 * memory holds.
 */
#pragma once

#include "base/memory.h"
#include "heap/packed.h"
#include "heap/reach/form.h"

/* In the order in which they are reported. */
enum leak_kind { LEAK_DEFINITE, LEAK_INDIRECT, LEAK_POSSIBLE, LEAK_REACHABLE, LEAK_KINDS };

/*
 * Why a possibly lost block is most likely in use (packed_block.likely): programs keep inner
 * pointers to it on purpose. A block to whose start a likely block points is likely, too. Only
 * words of what is in use count (reach_evidence.c).
 *
 *	offset		nearly all blocks of its site (those of its size, if they are in no record),
 *			or of the function that the site gets its blocks from, are pointed to at the
 *			same few offsets: they are handed out behind a header (sds strings, Python's
 *			objects, my_malloc)
 *	form		its words prove that the pointer is the one that the program keeps (form.h)
 *	pool		its first words have its own end, and a place in it: an allocator's block
 *			(nginx's pools, obstacks, PostgreSQL's contexts)
 *	linked		it is in a list, and pointed to at its links (reach_linked.c)
 *	via		a likely block points to its start
 */
enum likely {
	LIKELY_NOT, LIKELY_OFFSET, LIKELY_FORM, LIKELY_POOL, LIKELY_LINKED, LIKELY_VIA, LIKELY_KINDS
};

#define REACH_NO_LEADER	UINT32_MAX
#define REACH_NO_HOLDER	UINT32_MAX

struct reach_range {
	uint64_t start, end;
};

struct reach_ranges {
	VEC(struct reach_range) vec;
};

/*
 * Memory that could not be read: a damaged log has millions of such ranges, which are added up as
 * they come.
 */
struct reach_unread {
	uint64_t bytes;
	struct reach_range last;		/* those that follow on each other are one */
};

/* An offset at which the blocks of a site are pointed to. */
struct reach_offset {
	uint32_t offset;
	enum form form;		/* of those that were examined, if all have the same */
};

/*
 * A word of a stack, or a register, without which blocks would be lost: nothing else that was read
 * leads to them. It is not known whether the program will use the word again, so it may be left
 * over from an earlier call.
 */
struct reach_holder {
	uint64_t place;		/* address; of a register: its index in source.word */
	uint64_t word;
	uint32_t block;		/* that it points to */
	uint32_t words;		/* of stacks and registers that point to that block */
	bool is_register;
	uint64_t blocks, bytes;	/* that were reached by it first; each block counts once */
};

struct reach_source {
	struct memory *memory;
	/* sorted; its blocks get their kinds (reach_kind) */
	struct packed_list *list;
	/* Memory that is scanned where it is in no block; both in order of address. */
	const struct reach_range *root;
	size_t nr_roots;
	/*
	 * Memory of heaps, which may have blocks that are not known; it is scanned in the same way.
	 */
	const struct reach_range *heap;
	size_t nr_heaps;
	/*
	 * The part of the roots that are stacks above SP. Blocks that only their words hold have a
	 * holder.
	 */
	const struct reach_range *stack;
	size_t nr_stacks;
	const uint64_t *word;		/* other words that may point to blocks ... */
	size_t nr_words;
	size_t nr_certain;		/* ... behind which are registers: holders, too */
	/* executable memory of modules, in order; for the heuristics */
	const struct reach_range *code;
	size_t nr_code;
	/*
	 * *ret gets the next part of [start, end) that is worth reading; false: there is no more.
	 * Memory that was never written has no pointers, and may be large. NULL: everything is
	 * read.
	 */
	bool (*next_present)(void *ctx, uint64_t start, uint64_t end, struct reach_range *ret);
	/*
	 * Bytes of blocks that are read without asking whether they were ever written. The blocks
	 * of an intact log are hardly larger than the process; a damaged log has terabytes of them
	 * in memory that is only reserved, and reading that makes page tables for it.
	 */
	uint64_t unasked;
	/*
	 * The mapping from `at` on, or the first behind it, that may be read: a damaged log has
	 * millions of blocks that are in no mapping, or in a device's memory, and terabytes long.
	 * NULL: not known.
	 */
	struct reach_range (*next_mapped)(void *ctx, uint64_t at);
	/*
	 * The innermost frames of a stack: return addresses, the caller of the allocator first.
	 * Returns how many there are, at most `most`. NULL: nothing is known of stacks.
	 */
	uint32_t (*frames)(void *ctx, uint32_t stack, uint64_t *pcs, uint32_t most);
	void *ctx;
};

struct reach_result {
	/*
	 * For each block: if it is indirectly lost, the number + 1 of the definitely lost block
	 * through which it is lost; else 0.
	 */
	uint32_t *leader;
	/* For each block: the number of its holder, + 1; or 0. */
	uint32_t *holder;
	VEC(struct reach_holder) holders;
	/*
	 * After the search, for each block with LIKELY_OFFSET or LIKELY_FORM: the number of its
	 * offset, + 1. During the search, for each block that is not yet likely: its evidence
	 * (reach_evidence.c), or 0.
	 * For a definitely lost one: REACH_RING, if it is in a ring (reach_is_ring).
	 */
	uint32_t *offset;
	VEC(struct reach_offset) offsets;
	uint64_t root_bytes, heap_bytes, block_bytes;	/* that were scanned; one after the other */
	uint64_t pools, pool_bytes;	/* malloc's blocks that are reachable only as pools are */
	/* Roots, and blocks, that could not be read, in part: they may hide the only pointers. */
	struct reach_unread unread_roots, unread_blocks;
};

static inline enum leak_kind reach_kind(const struct packed_block *held)
{
	return (enum leak_kind)held->state;
}

static inline uint32_t reach_leader(const struct reach_result *result, size_t block)
{
	return result->leader[block] ? result->leader[block] - 1 : REACH_NO_LEADER;
}

#define REACH_RING	UINT32_MAX

/* Does something that is lost through this definitely lost block lead back to it? */
static inline bool reach_is_ring(const struct reach_result *result, size_t block)
{
	return result->offset[block] == REACH_RING;
}

/* Returns the number of its holder, or REACH_NO_HOLDER. */
static inline uint32_t reach_holder(const struct reach_result *result, size_t block)
{
	return result->holder[block] ? result->holder[block] - 1 : REACH_NO_HOLDER;
}

/* ERR_CANCELLED; ERR_NOMEM. */
struct err *reach_run(const struct reach_source *source, struct reach_result *ret) MUST_CHECK;
void reach_free(struct reach_result *result);

/* Take `out` away from ranges; both get sorted and merged. */
struct err *reach_ranges_subtract(struct reach_ranges *ranges, struct reach_ranges *out) MUST_CHECK;
