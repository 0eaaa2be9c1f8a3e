/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Marking: what words say for possibly lost blocks (reach_private.h).
 *
 * A block may be in use if a word of what is in use points into it: of roots, of reachable blocks,
 * of likely ones. Words of lost and of possibly lost blocks say nothing: a ring of lost blocks is
 * full of them.
 *
 * Three kinds of words are unsure, and count only where the block's own form proves them (form.h):
 *
 *	stacks		what a block says that only words of stacks hold: the word may be dead. Such
 *			a word itself says nothing, with one exception: the head of a hash table,
 *			which has the number of buckets beside the pointer.
 *	links		between blocks of one site and size, far behind their start: a pool chains
 *			its slabs like this, whether there is anything in them or not
 *	left over	to the last word of a block in a chunk of glibc's, where the next chunk begins:
 *			its lists of free chunks lead there, and a block that was given out again has
 *			such words from before. Not those of roots, nor of a block of the same size
 *			that ends with this word: these are lists of the program's
 *
 * For each block the best word counts: one that may be of a hash table, else one that is sure, else
 * the one that points to the smallest offset: another pointer, of code that walks along a string,
 * is farther inside. Of these EVIDENCE_NO_TABLE, EVIDENCE_UNSURE and the offset make one number,
 * the smaller the better.
 */

#include "heap/reach/reach_private.h"

#include "heap/reach/form.h"

#define CHUNK_STEP	16u	/* glibc's chunks begin at multiples of it */
#define HEADER_MAX	64u	/* bytes: behind more than that there is no allocator's header */
#define TABLE_LEAST	1024u	/* bytes; in small blocks many offsets would fit */
#define BESIDE		3u	/* words before and behind the pointer to a hash table */

bool reach_evidence_is_link(const struct marker *marker, uint32_t from, uint32_t to,
			    uint64_t offset)
{
	const struct packed_block *a, *b;

	if (from == EXTENT_NONE || offset <= HEADER_MAX)
		return false;
	a = marker_at(marker, from);
	b = marker_at(marker, to);
	return a->stack == b->stack && a->preattach == b->preattach &&
	       packed_size(marker->list, a) == packed_size(marker->list, b);
}

bool reach_evidence_is_left_over(const struct marker *marker, uint32_t from, uint32_t to,
				 uint64_t offset)
{
	const struct packed_block *b = marker_at(marker, to);
	uint64_t size = packed_size(marker->list, b), place = b->address + offset, word;

	if (from == EXTENT_NONE || offset + sizeof(word) != size || place % CHUNK_STEP)
		return false;
	return packed_size(marker->list, marker_at(marker, from)) != size ||
	       memory_read_u64(marker->source->memory, marker_at(marker, from)->address + offset, &word) ||
	       word != place;
}

static uint64_t buckets_at(const struct marker *marker, uint32_t block, uint64_t offset)
{
	struct block is;

	if (packed_size(marker->list, marker_at(marker, block)) < TABLE_LEAST)
		return 0;
	is = packed_block(marker->list, block);
	return form_table_buckets(&is, offset);
}

static void note(struct marker *marker, uint32_t block, uint64_t offset, bool unsure)
{
	uint32_t *best = &marker->ret->offset[block];
	uint32_t evidence = (uint32_t)MIN(offset, (uint64_t)GRAPH_OFFSET_MAX);

	if (!buckets_at(marker, block, offset))
		evidence |= EVIDENCE_NO_TABLE;
	if (unsure)
		evidence |= EVIDENCE_UNSURE;
	if (*best && *best <= evidence)
		return;
	*best = evidence;
	marker->nr_noted++;
}

void reach_evidence_note(struct marker *marker, uint32_t from, uint32_t to, uint64_t offset)
{
	if (!offset || (marker->on_stack && from == EXTENT_NONE))
		return;
	note(marker, to, offset, marker->on_stack ||
	     reach_evidence_is_link(marker, from, to, offset) ||
	     reach_evidence_is_left_over(marker, from, to, offset));
}

/* Does the number of buckets, less one, stand beside the word? */
static bool is_head(const struct marker *marker, const struct stack_word *at, uint64_t buckets)
{
	uint64_t word[2 * BESIDE + 1];

	if (memory_read(marker->source->memory, at->place - BESIDE * sizeof(*word), word,
			sizeof(word)))
		return false;
	for (unsigned i = 0; i < ARRAY_SIZE(word); i++)
		if (word[i] == buckets - 1)
			return true;
	return false;
}

void reach_evidence_stacks(struct marker *marker)
{
	vec_each(at, &marker->stack_words) {
		const struct packed_block *held = marker_at(marker, at->block);
		struct block block = packed_block(marker->list, at->block);
		uint64_t offset = at->word - held->address;
		uint64_t buckets = at->strong ? 0 : form_table_buckets(&block, offset);

		if (buckets && !at->is_register && held->state == POSSIBLE &&
		    is_head(marker, at, buckets))
			note(marker, at->block, offset, true);
	}
}
