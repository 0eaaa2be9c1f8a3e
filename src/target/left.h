/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For leftover.c: the journal of an earlier mdbg, read from its target; whose it is, what it
 * tells of and is there, and waiting for what is still to come of it. (Theory in leftover.h.)
 */
#pragma once

#include "log/journal_writer.h"
#include "target/stack.h"
#include "target/undo.h"

struct origin;

struct left {
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

static inline bool left_to_undo(const struct journal_entry *entry, enum journal_kind kind)
{
	return entry->kind == kind &&
		(entry->state == JOURNAL_PLANNED || entry->state == JOURNAL_DONE);
}

/* Add to what is said. */
void left_say(struct left *left, const char *fmt, ...) PRINTF(2, 3);
/*
 * An mdbg has the log of its own target mapped, journal and all in one. That is nothing that was
 * done to it, and it would not survive to have it taken away.
 */
bool left_is_a_view(const struct proc_maps *maps, const struct file_id *file);
/* Is the journal the target's parent's? So it is in a forked child. */
bool left_is_inherited(const struct left *left);
/* The journal that map begins with; writer, to be freed, and journal_address are set. */
struct err *left_read(struct left *left, const struct proc_map *map) MUST_CHECK;
/*
 * May this file have been made for the target, as far as its owner tells? One that another user has
 * made may have been handed to it. ERR_STATE.
 */
struct err *left_check_file(const struct left *left, const struct proc_map *map) MUST_CHECK;
/* How a TEXT entry may be undone (target/undo.h). */
struct undo left_undo_text(const struct left *left, uint32_t entry, const struct proc_maps *maps);
/*
 * Make the journal one that may be believed as if this mdbg had written it: what patches have
 * replaced is what the files have. The places of text go to origin. ERR_STATE: it is not to be
 * believed. Stopped.
 */
struct err *left_verify(struct left *left, struct origin *origin,
			const struct proc_maps *maps) MUST_CHECK;
/* ERR_STATE: an entry is none that an mdbg writes. */
struct err *left_check_entries(const struct journal *journal) MUST_CHECK;
/* One mdbg at a time: ERR_ATTACH. */
struct err *left_check_owner(const struct left *left) MUST_CHECK;
/* Threads may be in the code that this entry has mapped: add it to the ranges. */
struct err *left_note_range(struct left *left, const struct journal_entry *entry) MUST_CHECK;
/* Does the entry tell of a mapping that is to be undone? */
bool left_is_mapping(const struct journal_entry *entry);
/*
 * Settle the changes that were under way when the earlier mdbg was killed: each is done, or is
 * not. A mapping that was only planned, or is gone, must not be unmapped: something else may lie
 * there.
 */
void left_settle(struct left *left, const struct proc_maps *maps);

/* These have a stopped target go on for moments, and stop it again. */

/*
 * What a thread is still to do for an mdbg that was killed changes the mappings: before they are
 * looked at it is done. ERR_BUSY.
 */
struct err *left_await_calls(struct target *target) MUST_CHECK;
/* Let the threads go on until none is inside the ranges any more; *clean: none is. */
struct err *left_drain(struct left *left, bool *clean) MUST_CHECK;
/*
 * Snapshots: killed with the mdbg that made them; what is not dead yet soon is. A forked child of
 * the target has none of its own.
 */
struct err *left_reap(struct left *left) MUST_CHECK;
