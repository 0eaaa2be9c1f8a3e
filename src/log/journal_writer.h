/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The two copies of the journal that the mdbg which writes it has:
 *
 *	own	in private memory: what this mdbg did to its target, as it did it. All that is
 *		undone, and all that is done to forked copies, goes by this one
 *	shared	in the target's region (journal.h): for a later mdbg. It is written and never read,
 *		since the target, and whoever else has the region's file mapped, can write there
 *
 * Each change of an entry is made in both by the functions below, and nowhere else: readers get
 * `own` as a pointer to const. Both have an entry at the same index, since the place for a new one
 * is looked for in `own` alone. The order of the writes to the shared one is that of journal.h
 * (write ahead); the private one is only of use as long as its mdbg lives.
 *
 * A journal that an earlier mdbg has left is read once, into `own`. From then on it is treated as
 * if this mdbg had written it. Before anything is done because of an entry, tracee/undo.h checks
 * whether it can be believed.
 */
#pragma once

#include "log/journal.h"

struct journal_writer {
	struct journal *own;
	struct journal *shared;		/* NULL: there is none, `own` is all */
};

/* Begin a new one; shared is JOURNAL_SIZE zeros, or begins with the same header already. */
struct err *journal_writer_begin(struct journal_writer *writer, struct journal *shared,
				 uint64_t region_size) MUST_CHECK;
/* Go on with the journal in shared, which lies in a region of region_size bytes. ERR_FORMAT. */
struct err *journal_writer_adopt(struct journal_writer *writer, struct journal *shared,
				 uint64_t region_size) MUST_CHECK;
void journal_writer_free(struct journal_writer *writer);

/* Note which mdbg writes, and for which target. */
void journal_writer_own(struct journal_writer *writer, uint32_t owner, uint64_t owner_start,
			uint64_t target_start);
/* These do what journal_plan, journal_done and journal_undone do, in both. */
struct err *journal_writer_plan(struct journal_writer *writer, const struct journal_entry *entry,
				uint32_t *ret) MUST_CHECK;
void journal_writer_done(struct journal_writer *writer, uint32_t index);
void journal_writer_undone(struct journal_writer *writer, uint32_t index);
void journal_writer_set_aux(struct journal_writer *writer, uint32_t index, uint64_t aux);
