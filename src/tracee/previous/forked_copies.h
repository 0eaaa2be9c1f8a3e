/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Forked copies of a target that nobody traced when they were made: processes that have the start
 * of a region's file, its journal, mapped. They also have their parent's jumps, which let every
 * call pass there (agent/state.h). previous_session_clean_copy takes all of this out.
 *
 * They are found by the file alone, so grandchildren are found as well, and processes whose parent
 * is gone (daemons). But any process may have the file mapped: its descriptor can be passed on, and
 * each of its owners can write the journal. So a process that has it mapped counts as a copy only
 * if it agrees with what this mdbg itself knows about its target (struct origin):
 *
 *	user, namespaces	those of the target, when it was attached to or now
 *	program			the same file, and the heap begins at the same address, as it does no
 *				more after an exec, unless addresses are not random; then the kernel's
 *				random bytes (AT_RANDOM) are others
 *	journal			this very file (inode and device), mapped shared and writable at the address at
 *				which the target has it
 *	areas			where text of ours stands, one of ours lies at least
 *	text			each patch in the mapping of the same file and place, with the bytes
 *				that were put there
 *
 * Otherwise nothing is done to it. The journal that it has mapped is never read.
 */
#pragma once

#include "os/identity.h"
#include "tracee/undo.h"

struct procmem;
struct target;

#define ORIGIN_RANDOM	16	/* bytes at AT_RANDOM */

/* Our changes that forked copies of a target have, in private memory. */
struct origin {
	pid_t pid;			/* of the target */
	struct file_id file;		/* the region's; inode 0: there is nothing to be had */
	uint64_t address;		/* of the journal */
	const struct journal *journal;
	struct text_place *place;	/* of each TEXT entry; JOURNAL_ROOM of them */
	struct identity identity;	/* at first ... */
	struct identity now;		/* ... and when it was last looked at */
	uint8_t random[ORIGIN_RANDOM], random_now[ORIGIN_RANDOM];
};

/* Begin an origin for a target; the caller fills in file and journal. */
struct err *origin_begin(struct origin *origin, struct target *target) MUST_CHECK;
void origin_free(struct origin *origin);

/*
 * List all processes that have the origin's journal mapped, as far as mdbg may read their maps,
 * except those that share the target's memory. Reads all of /proc.
 */
struct err *forked_copies_find(struct target *target, struct origin *origin,
			       struct proc_tasks *ret) MUST_CHECK;
/* Does this process (still) have it mapped? */
bool forked_copy_maps(pid_t pid, const struct file_id *file);
/*
 * Returns NULL if this process, which need not be stopped, is a forked copy as far as can be seen
 * without its text. ERR_STATE: it is not; the message says why.
 */
struct err *forked_copy_check(pid_t tid, const struct origin *origin) MUST_CHECK;
/*
 * Like forked_copy_check, but checks the text, too; the process must be stopped. NULL: our changes
 * in it may be undone by the origin's journal.
 */
struct err *forked_copy_check_text(pid_t tid, struct procmem *mem, const struct origin *origin,
				   const struct proc_maps *maps) MUST_CHECK;
/* How a TEXT entry of the origin's may be undone in such a process. */
struct undo forked_copy_undo_text(struct procmem *mem, const struct origin *origin, uint32_t entry,
				  const struct proc_maps *maps);
