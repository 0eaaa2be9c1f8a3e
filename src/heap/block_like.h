/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whose blocks are like this one? Of a block from before the attach nothing but its size is known; but if
 * its size, its words and what points to it are those of the blocks of one site that was seen
 * allocating, it is most likely one of these.
 *
 * Theory of operation
 *
 * What a block looks like is a number, of which there are LEVELS: a hash of its size (that of its chunk:
 * what was asked for is not known of blocks from before the attach),
 * of the size of a block that points to its start, with the place there, and of its first WORDS words:
 * 0, a small number, the address of a block, constants and code of a file (by their address), or
 * anything else. The first level tells all of these apart, the next ones less. Numbers and letters
 * alone are the same in all programs: a block has no look if it has no pointer, no constant, and
 * nothing points to it; and only the first one, if it has one of these.
 *
 * Half of the blocks that were seen are learned, the other half tests what was learned:
 *
 *	rule	a look whose learned blocks are of one site, and of those that test it at least SHARE
 *		percent are of that site, too; at least LEAST of each
 *	level	A site that was not seen has no rule, and its blocks must not be taken for those of
 *		another. How often that would be is measured by the sites that were seen: each in
 *		turn is taken for one that was not, and a level counts only if at most 100 - SHARE
 *		percent of all blocks would have the rule of another site then.
 *
 * Of blocks of more than READ_MOST bytes in all (16 GB) none is named: a log that a process has
 * written at will has blocks of any size, one over the other, and reading them would not end.
 *
 * The first level that counts, and has a rule for the block, names it. What is said with it is how
 * many of the site's blocks that tested such rules were named rightly.
 */
#pragma once

#include "heap/interner.h"
#include "heap/packed.h"
#include "heap/reach/reach.h"

#define LIKE_LEVELS	3u

struct heap_walk;

struct block_like_source {
	struct memory *memory;
	const struct packed_list *list;		/* sorted */
	const struct heap_walk *walk;		/* of the list; NULL: there was none */
	struct reach_ranges constant, code;	/* as in block_types.h */
	/* By stack: a number of its site + 1; 0: none. */
	const uint32_t *site_of_stack;
	size_t nr_stacks;
};

struct like_site {
	uint64_t tested, right;
};

struct block_like {
	VEC(uint32_t) of;		/* by block: the site + 1; 0: it is seen, or like none */
	VEC(struct like_site) sites;	/* by number */
};

/* The caller frees *ret, which is empty before, also after an error. ERR_CANCELLED, ERR_NOMEM. */
struct err *block_like_find(const struct block_like_source *source,
			    struct block_like *ret) MUST_CHECK;
void block_like_free(struct block_like *like);
