/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For previous_session.c: reads the journal of an earlier mdbg from its target, finds out whose it
 * is and which of its changes are there, and waits for changes that are still under way. (Theory in
 * previous_session.h.)
 */
#pragma once

#include "log/journal_writer.h"
#include "tracee/backtrace.h"
#include "tracee/undo.h"

struct origin;

struct previous {
	struct target *target;
	/* .own: read once from the target, or what this mdbg knows */
	struct journal_writer writer;
	const struct journal *journal;	/* the same */
	uint64_t journal_address;
	struct file_id file;		/* the region's */
	/*
	 * The target is a forked copy of this origin, whose journal is used. NULL: it is no copy.
	 */
	const struct origin *origin;
	VEC(struct stack_range) ranges;	/* where threads may be */
	VEC(uint64_t) counts;		/* addresses of the counts of calls in there */
	uint64_t calls;			/* that have not returned, although no thread is there */
	bool led_to;			/* it stays, since another journal leads there */
	char *said;			/* what is left, for the user; NULL: not wanted */
	size_t room;
	/*
	 * How long the target may still run while mdbg waits, in ns: for all files that are found,
	 * since a process may hold as many as it likes.
	 */
	uint64_t *budget;
};

#define PREVIOUS_RUN_NS	1000000000ull	/* what budget begins with */

static inline bool previous_to_undo(const struct journal_entry *entry, enum journal_kind kind)
{
	return entry->kind == kind &&
		(entry->state == JOURNAL_PLANNED || entry->state == JOURNAL_DONE);
}

/* Add to `said`, once. */
void previous_journal_say(struct previous *left, const char *fmt, ...) PRINTF(2, 3);
/*
 * Is this the mapping of an mdbg, which has its target's journal and log mapped as one? That is not
 * a change of the process, which would not survive to lose it.
 */
bool previous_journal_is_a_view(const struct proc_maps *maps, const struct file_id *file);
/* Is the journal that of the target's parent? It is in a forked child. */
bool previous_journal_is_forked_copy(const struct previous *left);
/* Read the journal at the start of map. Sets writer, which must be freed, and journal_address. */
struct err *previous_journal_read(struct previous *left, const struct proc_map *map) MUST_CHECK;
/*
 * Check by its owner that this file can have been made for the target. A file of another user may
 * have been handed to it: ERR_STATE.
 */
struct err *previous_journal_check_file(const struct previous *left,
					const struct proc_map *map) MUST_CHECK;
/* How a TEXT entry may be undone (tracee/undo.h). */
struct undo previous_journal_undo_text(const struct previous *left, uint32_t entry,
				       const struct proc_maps *maps);
/*
 * Check the journal, so that it can be used as if this mdbg had written it; the old bytes of
 * patches become those of the files. origin gets the places of text. ERR_STATE: it cannot be
 * believed. The target is stopped.
 */
struct err *previous_journal_verify(struct previous *left, struct origin *origin,
				    const struct proc_maps *maps) MUST_CHECK;
/*
 * Why what the journal tells of is not all that the earlier mdbg has mapped: no mdbg writes such an
 * entry, or what it names is not there. NULL: nothing speaks against it.
 */
const char *previous_journal_doubt(const struct previous *left, const struct proc_maps *maps);
/* Has a later version made a change that this one does not know? */
bool previous_journal_has_unknown(const struct journal *journal);
/* Both as an error: ERR_STATE. */
struct err *previous_journal_check_entries(const struct previous *left,
					   const struct proc_maps *maps) MUST_CHECK;
/* One mdbg at a time: ERR_ATTACH. */
struct err *previous_journal_check_owner(const struct previous *left) MUST_CHECK;
/* Threads may be in the code mapping of this entry: add it to the ranges. */
struct err *previous_journal_note_range(struct previous *left,
					const struct journal_entry *entry) MUST_CHECK;
/* Is the entry of a mapping that must be undone? */
bool previous_journal_is_mapping(const struct journal_entry *entry);
/*
 * Settle the changes that were under way when the earlier mdbg was killed: each is done, or is
 * not. A mapping that was only planned, or is gone, must not be unmapped: something else may lie
 * there.
 */
void previous_journal_settle(struct previous *left, const struct proc_maps *maps);

/* The functions below let a stopped target run for moments, and stop it again. */

/*
 * Let borrowed threads make the calls that a killed mdbg has left them: these change the mappings,
 * so they must be done before the mappings are read. ERR_BUSY.
 */
struct err *previous_journal_await_calls(struct target *target) MUST_CHECK;
/*
 * Let the threads go on until none is inside the ranges any more; *clean: none is, and nobody will
 * come back to them. Calls in which no thread is are not waited for (tracee/call_count.h).
 */
struct err *previous_journal_drain(struct previous *left, bool *clean) MUST_CHECK;
/*
 * Reap the snapshots. They were killed with the mdbg that made them, and are dead or will be soon.
 * A forked child of the target has none of its own.
 */
struct err *previous_journal_reap(struct previous *left) MUST_CHECK;
