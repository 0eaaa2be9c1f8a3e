/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which memory files called mdbg did an earlier mdbg make, and not the program itself? (Theory of
 * what is done with them in previous_session.h.) A name is nobody's, so a file is an mdbg's only by
 * what is in it:
 *
 *	begun		it begins with a journal
 *	unbegun		an mdbg was killed before it had written that. The descriptor is closed after
 *			it, so it is still open in the target, and file and descriptor are as they
 *			were at that moment
 *
 * These are the moments (tracee/region.c):
 *
 *	made		a descriptor for reading and writing that exec closes, at position 0; a file of
 *			no bytes that can be sealed and was never changed
 *	mapped		the same, and one mapping, which is a journal's
 *	sized		the file has the size of a region, and no memory yet
 *	sealed		its size cannot be changed any more, and other seals cannot be set
 *
 * A file of the program's own looks like that if it is called mdbg, was made with the same flags,
 * and was not used since. Whatever else is called mdbg stays as it is.
 */
#pragma once

#include "tracee/previous/previous_journal.h"

/* What can be seen of a descriptor and its file. */
struct previous_file {
	uint32_t flags;		/* as /proc/PID/fdinfo has them */
	uint64_t position;
	uint64_t size, memory;	/* bytes; memory: that the file takes */
	int seals;		/* F_GET_SEALS */
	bool changed;		/* since it was made, as far as the file system tells */
	bool journal;		/* it begins with one */
	uint32_t nr_maps;	/* mappings of it in the process */
	bool maps_journal;	/* all of them are as a journal's */
};

bool previous_file_is_begun(const struct previous_file *file);
bool previous_file_is_unbegun(const struct previous_file *file);

/*
 * Does the file of this mapping, which is as a journal's, begin with one? Its memory is not read by
 * way of the target if that can be avoided, since a page that the file does not have would be made.
 */
bool previous_file_has_journal(struct target *target, const struct proc_map *map);
/*
 * Find a descriptor of a file that an earlier mdbg has made, begun or not, among those that are
 * open in the target. Returns -1 if there is none.
 */
int previous_file_find(const struct target *target, const struct proc_maps *maps);
/* Is this the mapping of a file that an earlier mdbg has made and not begun? */
bool previous_file_maps_unbegun(const struct target *target, const struct proc_maps *maps,
				const struct proc_map *map);
