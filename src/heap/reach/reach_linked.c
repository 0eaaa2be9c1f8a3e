/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Marking: possibly lost blocks that are linked into a list of what is in use (reach_private.h).
 *
 * Many programs have the links of a list in the middle of its members, and point to the links
 * (Linux' list_head, PostgreSQL's dlist and slist, BSD's queues, Python's collector).
 *
 *	ring	Both neighbours point back, and one of them is in no block, or in one that is in use.
 *		A ring of lost members has only each other.
 *	tail	Members of a simple list end with their link. It leads to the same place of a block of
 *		the same size; or it is the last one, 0. A pointer at which a loop has ended may be there
 *		as well. But then a text comes before it, whose letters fill the word, or a pointer.
 *
 * The pointer itself must be of what is in use: one that is dead may point to any member.
 */

#include "heap/reach/reach_private.h"

#define WORD	8u
#define ROUNDED	16u	/* a block in no record may be so much longer than the program asked for */

static bool is_in_use(const struct marker *marker, uint64_t address)
{
	uint32_t block = extents_find(&marker->extents, address).block;
	enum state state = block == EXTENT_NONE ? REACHABLE : marker_at(marker, block)->state;

	return state == LIKELY || state == REACHABLE;
}

static bool leads_to(struct memory *memory, uint64_t place, uint64_t address)
{
	uint64_t word;

	return place % WORD == 0 && !memory_read(memory, place, &word, sizeof(word)) &&
	       word == address;
}

/* Its two words are its neighbours, of which either may come first. */
static bool is_in_ring(const struct marker *marker, struct memory *memory, uint64_t at)
{
	uint64_t link[2];

	if (memory_read(memory, at, link, sizeof(link)) || link[0] == at || link[1] == at)
		return false;
	return leads_to(memory, link[0] + WORD, at) && leads_to(memory, link[1], at) &&
	       (is_in_use(marker, link[0]) || is_in_use(marker, link[1]));
}

/* Is it the same place of another block of this size? */
static bool is_member(const struct marker *marker, uint32_t i, uint64_t offset, uint64_t address)
{
	uint32_t other = extents_find(&marker->extents, address).block;

	return other != EXTENT_NONE && other != i &&
	       marker_at(marker, other)->address + offset == address &&
	       packed_size(marker->list, marker_at(marker, other)) ==
	       packed_size(marker->list, marker_at(marker, i));
}

static bool has_zero(uint64_t word)
{
	for (unsigned i = 0; i < WORD; i++)
		if (!(word >> 8 * i & 0xff))
			return true;
	return false;
}

static bool is_tail(const struct marker *marker, struct memory *memory, uint32_t i,
		    const struct block *block, uint64_t offset)
{
	uint64_t rest = block->size - offset - WORD, word[2], there;

	if (offset < WORD || rest >= (block->preattach ? ROUNDED : 1) ||
	    memory_read(memory, block->address + offset - WORD, word, sizeof(word)))
		return false;
	if (word[1])
		return is_member(marker, i, offset, word[1]);
	return has_zero(word[0]) && memory_read(memory, word[0], &there, sizeof(there));
}

bool reach_linked(const struct marker *marker, struct memory *memory, uint32_t i, uint64_t offset)
{
	struct block block = packed_block(marker->list, i);

	if (offset % WORD || block.size < WORD || offset > block.size - WORD)
		return false;
	return (block.size - offset >= 2 * WORD &&
		is_in_ring(marker, memory, block.address + offset)) ||
	       is_tail(marker, memory, i, &block, offset);
}
