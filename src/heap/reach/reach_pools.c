/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Marking: blocks of malloc that are pools (reach.h, "Nested blocks"). */

#include "heap/reach/reach_private.h"

/* The block of malloc in which block i of the user's lies, unless it is reachable; EXTENT_NONE. */
static uint32_t pool_of(struct marker *marker, size_t i)
{
	uint64_t address = packed_at(marker->list, i)->address;
	uint32_t outer = extents_find(&marker->extents, address).outer;

	return outer == EXTENT_NONE || marker_at(marker, outer)->state == REACHABLE ? EXTENT_NONE :
										       outer;
}

/*
 * In a pool there are objects from before its functions were watched, which may be in use, as well
 * as links and dead words of free ones. So what only its own memory leads to is possibly lost.
 */
struct err *reach_pools_mark(struct marker *marker)
{
	struct packed_list *list = marker->list;
	struct err *err;

	for (size_t i = list->nr_outer; i < list->nr; i++) {
		uint32_t pool = pool_of(marker, i);

		if (pool != EXTENT_NONE && marker_at(marker, pool)->state == UNREACHED)
			reach_words_set_state(marker, pool, POSSIBLE);
	}
	err = reach_follow_pending(marker);
	for (size_t i = list->nr_outer; !err && i < list->nr; i++) {
		uint32_t pool = pool_of(marker, i);

		if (pool == EXTENT_NONE)
			continue;
		marker_at(marker, pool)->state = REACHABLE;
		marker->ret->pools++;
		marker->ret->pool_bytes += packed_size(list, marker_at(marker, pool));
	}
	return err;
}
