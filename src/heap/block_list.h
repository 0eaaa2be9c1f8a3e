/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lists: blocks of the log and of a heap walk, filtered, in any order, without all of them in
 * memory. Ten million records are 400 MB as struct block, and twice that while they are sorted. A
 * list keeps four bytes of each (its place in the log), and reads the records piece by piece.
 *
 * Theory of operation
 *
 *	count	One scan of the log and the walk. As long as no more than PIECE blocks match they
 *		are kept, and the list is complete with that. A sample of their places in the order
 *		is kept, too.
 *	cut	The order is cut where the sample says that pieces are about as long as one another.
 *		A place is the key that is sorted by, and the address, so that no two blocks have
 *		the same: any order can be cut anywhere, however many blocks are of one size.
 *	sort	A second scan puts the slot of each record on the list of its piece (u32_lists.h).
 *		Chunks of the walk are not kept: they are two bytes each as it is.
 *	read	A piece's records are read from their slots, and chunks of the walk between the same
 *		cuts are added; it is sorted, and gone before the next is read. The first is read at
 *		once, the others when their time comes.
 *
 * Guarantees while the target runs
 *
 * block_list_create takes a moment: now, or that of a walk of earlier. The list has the blocks that
 * are live at that moment:
 *
 *	once		A record stays in its slot as long as it is live (log/block_table.h), so a
 *			block that lives from the moment until its piece is read is found, through
 *			its only slot.
 *	none twice	A slot that has been given to another block meanwhile has a younger time
 *			than the moment, and is skipped; so are young records in the scans. Of the
 *			blocks that were recorded before the moment, only one can be live at an
 *			address.
 *	none made up	The walk itself notes which of its chunks were not in the log at the moment,
 *			and later frees and records do not change that.
 *	what is missing	Blocks that are freed, or resized, between the moment and the reading of
 *			their piece. They are counted (block_list_gone). A list of one piece misses
 *			none, nor does the first piece of a longer one; but those that had gone
 *			between an earlier moment and block_list_create are missing, and the walk's
 *			to count (struct walk_gone).
 *
 * The target can write the log's words: a slot with other contents is skipped, and whatever numbers
 * are in it, no more is kept than there are slots.
 *
 * Rejected: a scan of the log for each piece (no memory at all, but 76 scans of 634 MB); sorting
 * the slots' numbers in place (each comparison is a cache miss, and the log changes under the
 * sort); a copy of the records, packed (15 bytes each are still 150 MB).
 */
#pragma once

#include "heap/filter.h"

struct heap_walk;
struct list;

enum list_of { LIST_BLOCKS, LIST_FREE };

struct list_source {
	/* LIST_FREE: the free chunks of the walk, nothing of the log */
	enum list_of of;
	const struct log *log;		/* NULL: none */
	const struct in_hand *in_hand;	/* when the list is created; may be NULL */
	uint64_t moment;		/* time stamp; 0: that at which it is created */
	/*
	 * with the notes of reconcile_merge; it must live as long as the list. NULL: there was no
	 * walk
	 */
	const struct heap_walk *walk;
	uint8_t process;		/* of the walk */
	bool complete;			/* blocks of the walk are from before the attach for sure */
	/*
	 * The filter and its names must live as long as the list; names are not looked up before
	 * block_list_next.
	 */
	const struct filter *filter;
	const struct filter_order *order;
	struct filter_env env;
};

struct err *block_list_create(const struct list_source *source, struct list **ret) MUST_CHECK;
void block_list_free(struct list *list);
/* The next block, until the next call; NULL: there are no more. */
struct err *block_list_next(struct list *list, const struct block **ret) MUST_CHECK;

/* What it has given so far. */
struct list_given {
	uint64_t blocks, bytes;
};
struct list_given block_list_given(const struct list *list);

/*
 * Sums over the blocks that match, without names and the limit: the number, the largest size, the
 * youngest time.
 */
struct list_sums {
	uint64_t nr, size, time;
};
struct list_sums block_list_sums(const struct list *list);
/*
 * The number of blocks so far that were freed or resized before they could be listed. If the filter
 * asks for names, this includes blocks that it would have dropped.
 */
uint64_t block_list_gone(const struct list *list);
