/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shared by the files of the marking (theory in reach.h).
 *
 *	reach.c		the passes: which blocks are read, or followed, and when
 *	reach_read.c	memory of roots and of blocks, through one buffer, to its words
 *	reach_words.c	blocks that words and kept pointers lead to
 *	reach_stacks.c	blocks that only words of stacks and registers lead to
 *	reach_evidence.c	words by which a block may be likely
 *	reach_pools.c	blocks of malloc in which those of known pools lie
 *	reach_linked.c	members of lists, which are pointed to at their links
 *	reach_likely.c	possibly lost blocks that are likely to be in use
 */
#pragma once

#include "heap/reach/pointer_graph.h"
#include "heap/extents.h"
#include "heap/reach/heuristic.h"
#include "heap/reach/scan.h"

#define REACH_WIDE	(64u << 10)	/* blocks from which pointers are not kept */
#define REACH_WINDOW	1024u
#define REACH_READY	1024u		/* powers of two */
#define REACH_TARGETS	16u

enum state { UNREACHED, POSSIBLE, LIKELY, REACHABLE, DEFINITE, INDIRECT };

/* How strongly the scanned words hold a block; FAIR: they are in a likely block. */
enum strength { FIRM, FAIR, WEAK, LOST };

/* A block that a pointer leads to, while it is being fetched into the cache. */
struct target {
	struct graph_edge edge;
	uint32_t from;
	enum strength strength;
};

/* A word of a stack, or a register, that points to a block which nothing else is known to hold. */
struct stack_word {
	uint64_t place, word;
	uint32_t block;
	bool is_register, strong;
};

/* Memory that is read from the buffer first. */
struct peek {
	struct memory memory;
	struct marker *marker;
};

struct marker {
	const struct reach_source *source;
	struct packed_list *list;
	struct reach_result *ret;
	struct extents extents;
	struct heuristic heuristic;
	struct pointer_graph graph;
	struct peek peek;
	VEC(uint32_t) wide;		/* blocks */
	/* a stack of those that are pending, while they are scanned first */
	uint32_t *wide_next;
	size_t nr_wide_next;
	uint32_t *pending;		/* by window: its blocks that are pending */
	/* by window: none of its blocks before this one is pending */
	uint32_t *from;
	uint64_t *busy;			/* bits by window: any pending? */
	size_t nr_windows;
	/*
	 * no window before it has pending blocks; this is for programs that lose a million blocks
	 * one by one
	 */
	size_t first_busy;
	size_t nr_pending;
	enum strength strength;
	/* for LOST: the block through which everything is found now */
	uint32_t clique;
	/*
	 * the number + 1 of the holder through whose word everything is found now; 0: other roots
	 */
	uint32_t holder;
	bool on_stack;			/* everything is found through words of stacks now */
	bool collecting;		/* words go to stack_words, and lead nowhere yet */
	VEC(struct stack_word) stack_words;
	struct likely_search *likely;	/* while likely blocks are followed; or NULL */
	uint64_t nr_noted;		/* pieces of evidence, as often as better ones came */
	bool gathering, draining;	/* draining: pending blocks are followed as they come */
	/* Draining: blocks whose pointers are kept, to be followed next. */
	uint32_t ready[REACH_READY];
	uint32_t nr_ready, first_ready;
	struct target target[REACH_TARGETS];	/* that they lead to; a ring */
	uint32_t nr_targets, first_target;
	uint32_t origin;		/* gathering: the block whose words are scanned */
	/* gathering: the block whose pointers are kept; or EXTENT_NONE */
	uint32_t keeping;
	/* Words that may be addresses, and whose they are: looked up together. */
	uint64_t word[EXTENTS_BATCH];
	uint32_t word_of[EXTENTS_BATCH];
	size_t nr_words;
	struct scan scan;
	uint64_t unasked;		/* left of the source's */
};

static inline struct packed_block *marker_at(const struct marker *marker, uint32_t block)
{
	return packed_at(marker->list, block);
}

/* True if its pointers are not kept. */
static inline bool marker_is_wide(const struct marker *marker, uint32_t block)
{
	return extents_end(&marker->extents, block) - marker_at(marker,
								block)->address > REACH_WIDE;
}

/* For the heuristics: reads memory, if possible from the buffer. */
struct memory *reach_read_peek(struct marker *marker);
/* The words of a stack, the first of which is at place: those that may become holders. */
struct err *reach_stacks_collect(struct marker *marker, uint64_t place, const uint64_t *word,
				 size_t nr, bool is_register) MUST_CHECK;
/* Read the stacks, and look at the registers; all else is done. */
struct err *reach_stacks_scan(struct marker *marker) MUST_CHECK;
/* Find the likely blocks; it must be known which blocks are reachable, and possibly lost. */
struct err *reach_likely_find(struct marker *marker) MUST_CHECK;
/*
 * Is the block a member of a list of what is in use, whose links are at this offset? A word of what
 * is in use points there.
 */
bool reach_linked(const struct marker *marker, struct memory *memory, uint32_t block, uint64_t offset);
/*
 * A likely block has a pointer to so many bytes behind the start of a possibly lost one: true if
 * that is one of those that are found where they are usual, or proved; then the block has its
 * reason. is_link: as in reach_evidence_is_link.
 */
bool reach_likely_mark(struct marker *marker, uint32_t block, uint64_t offset, bool is_link);

/*
 * The evidence of a block (reach_evidence.c) is its best one; 0: there is none. It has the offset
 * that a word points to, at most GRAPH_OFFSET_MAX.
 */
#define EVIDENCE_NO_TABLE	0x80000000u	/* no place of a hash table's control bytes */
#define EVIDENCE_UNSURE		0x40000000u	/* it counts only if the block's form proves it */

static inline uint32_t evidence_offset(uint32_t evidence)
{
	return evidence & GRAPH_OFFSET_MAX;
}

/* Is this a link between blocks of one site, as a pool has between its slabs? */
bool reach_evidence_is_link(const struct marker *marker, uint32_t from, uint32_t to,
			    uint64_t offset);
/* Is it a word that glibc's lists of free chunks may have left in a block that was given out again? */
bool reach_evidence_is_left_over(const struct marker *marker, uint32_t from, uint32_t to,
				 uint64_t offset);
/* Note what a word of a block, or of no block (EXTENT_NONE), says for another one. */
void reach_evidence_note(struct marker *marker, uint32_t from, uint32_t to, uint64_t offset);
/* Note the words of stacks that are of a hash table which lies there, whole. */
void reach_evidence_stacks(struct marker *marker);
/*
 * Scan the words between blocks of [start, end), which counts as root_bytes; ranges that cannot be
 * read are noted in unread.
 */
struct err *reach_read_gaps(struct marker *marker, uint64_t start, uint64_t end,
			    struct reach_unread *unread) MUST_CHECK;
/* Scan the words of a block, whose extent ends there. */
struct err *reach_read_block(struct marker *marker, uint32_t block, uint64_t end) MUST_CHECK;

/* Follow all that is pending, and what gets pending by that (reach.c). */
struct err *reach_sweep(struct marker *marker) MUST_CHECK;
struct err *reach_follow_pending(struct marker *marker) MUST_CHECK;

/*
 * Take words of marker->origin that may be addresses. They are looked up when enough of them have
 * come together.
 */
void reach_words(struct marker *marker, const uint64_t *word, size_t nr);
/* Look up the words that are left: before strength, or gathering, changes. */
void reach_words_end(struct marker *marker);
/* After reach_likely_find: blocks of malloc in which others lie are reachable. */
struct err *reach_pools_mark(struct marker *marker) MUST_CHECK;
/* Set the state of a block, and make it pending or ready, unless it leads to nothing. */
void reach_words_set_state(struct marker *marker, uint32_t block, enum state state);
void reach_words_clear_pending(struct marker *marker, uint32_t block);
/* The block's pointers are kept: follow it next. */
void reach_words_make_ready(struct marker *marker, uint32_t block);
/* The strength of pointers that are found in the block. */
enum strength reach_words_strength_of(const struct marker *marker, uint32_t block);
/*
 * Reach the blocks that the block's kept pointers lead to, except for the last ones, which are
 * still being fetched into the cache.
 */
void reach_words_follow(struct marker *marker, uint32_t block, enum strength strength);
/* Reach the block whose fetch into the cache was started first. */
void reach_words_reach_target(struct marker *marker);
/*
 * Follow the blocks that are ready, and those that get ready, until only so many are left; with 0,
 * until there are none, and none is being fetched. If they are few, each is waited for in turn.
 */
void reach_words_follow_ready(struct marker *marker, uint32_t left);
