/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For previous_session.c: the journal of an earlier mdbg, read from its target; whose it is, what
 * it tells of and is there, and waiting for what is still to come of it. (Theory in
 * previous_session.h.)
 */
#pragma once

#include "log/journal_writer.h"
#include "tracee/backtrace.h"
#include "tracee/undo.h"

struct origin;

struct previous {
	struct target *target;
	struct journal_writer writer;	/* .own: read once from the target, or what this mdbg knows */
	const struct journal *journal;	/* the same */
	uint64_t journal_address;
	struct file_id file;		/* the region's */
	/*
	 * The target is a forked copy of this one's, and goes by its journal. NULL: it is no
	 * copy.
	 */
	const struct origin *origin;
	VEC(struct stack_range) ranges;	/* where threads may be */
	char *said;			/* what is left, for the user; NULL: nobody asks */
	size_t room;
};

static inline bool previous_to_undo(const struct journal_entry *entry, enum journal_kind kind)
{
	return entry->kind == kind &&
		(entry->state == JOURNAL_PLANNED || entry->state == JOURNAL_DONE);
}

/* Add to what is said. */
void previous_say(struct previous *left, const char *fmt, ...) PRINTF(2, 3);
/*
 * An mdbg has the log of its own target mapped, journal and all in one. That is nothing that was
 * done to it, and it would not survive to have it taken away.
 */
bool previous_is_a_view(const struct proc_maps *maps, const struct file_id *file);
/* Is the journal the target's parent's? So it is in a forked child. */
bool previous_is_forked_copy(const struct previous *left);
/* The journal that map begins with; writer, to be freed, and journal_address are set. */
struct err *previous_read(struct previous *left, const struct proc_map *map) MUST_CHECK;
/*
 * May this file have been made for the target, as far as its owner tells? One that another user has
 * made may have been handed to it. ERR_STATE.
 */
struct err *previous_check_file(const struct previous *left, const struct proc_map *map) MUST_CHECK;
/* How a TEXT entry may be undone (tracee/undo.h). */
struct undo previous_undo_text(const struct previous *left, uint32_t entry,
			       const struct proc_maps *maps);
/*
 * Make the journal one that may be believed as if this mdbg had written it: what patches have
 * replaced is what the files have. The places of text go to origin. ERR_STATE: it is not to be
 * believed. Stopped.
 */
struct err *previous_verify(struct previous *left, struct origin *origin,
			    const struct proc_maps *maps) MUST_CHECK;
/* ERR_STATE: an entry is none that an mdbg writes. */
struct err *left_check_entries(const struct journal *journal) MUST_CHECK;
/* One mdbg at a time: ERR_ATTACH. */
struct err *previous_check_owner(const struct previous *left) MUST_CHECK;
/* Threads may be in the code that this entry has mapped: add it to the ranges. */
struct err *left_note_range(struct previous *left, const struct journal_entry *entry) MUST_CHECK;
/* Does the entry tell of a mapping that is to be undone? */
bool previous_is_mapping(const struct journal_entry *entry);
/*
 * Settle the changes that were under way when the earlier mdbg was killed: each is done, or is
 * not. A mapping that was only planned, or is gone, must not be unmapped: something else may lie
 * there.
 */
void previous_settle(struct previous *left, const struct proc_maps *maps);

/* These have a stopped target go on for moments, and stop it again. */

/*
 * What a thread is still to do for an mdbg that was killed changes the mappings: before they are
 * looked at it is done. ERR_BUSY.
 */
struct err *previous_await_calls(struct target *target) MUST_CHECK;
/* Let the threads go on until none is inside the ranges any more; *clean: none is. */
struct err *previous_drain(struct previous *left, bool *clean) MUST_CHECK;
/*
 * Snapshots: killed with the mdbg that made them; what is not dead yet soon is. A forked child of
 * the target has none of its own.
 */
struct err *previous_reap(struct previous *left) MUST_CHECK;
