/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds what an earlier mdbg left in a target, by its journal, and takes it out.
 *
 *	calls		a thread that was borrowed makes the call that it still has before it
 *	find		a mapping named "/memfd:mdbg" at file offset 0 whose journal is sound, or
 *			an open descriptor of such a file (previous_file.h); not what an mdbg has
 *			mapped of its target's
 *	owner alive	ERR_ATTACH: one mdbg at a time (but for a forked child of its target's)
 *	text		put back first (compared), so that nobody comes in any more; who is inside
 *			goes on through the earlier mdbg's SIGTRAP handler, thunks, agent and
 *			displaced code, which are still there, and records in its log
 *	wait		until no thread has a PC, a return address or a queued trap in what will be
 *			unmapped
 *	order		A later mdbg may have found the SIGTRAP handler of an earlier one, and been
 *			killed as well. Its journal says to put that handler back. So the earlier
 *			one's areas stay until the later one's changes are taken out
 *	mappings	and the disposition of SIGTRAP: code, the agent's data, every mapping of
 *			the region's file, its journal last
 *
 * No thread can be inside the bytes of a jump, so it is enough to stop all threads to put them
 * back. A mapping that a killed mdbg had not yet entered in the journal is of the region's file,
 * and is recognised by that (tracee/patch.c).
 *
 * Any process that has the file mapped may have written the journal. So mdbg reads it once, does no
 * more than tracee/undo.h allows, and only to the process that the user attached to: text becomes
 * what its file has, and a log that another user has made is left alone. If there is text that must
 * not be put back, or an entry of a kind that is unknown or malformed, all mappings stay.
 *
 * A forked child that nobody traced when it was made has its parent's changes, and shares its
 * parent's journal, which says what happened in the parent. So the child's text is put back even if
 * the entry says that this was done (in the parent, since the fork): the bytes decide. The child is
 * not a target of the mdbg that owns the journal. If nobody attached to it, it is cleaned only as a
 * copy of what this mdbg knows about its parent (previous_session_clean_copy,
 * tracee/previous/forked_copies.h).
 *
 * A thread in the agent has its PC there, or (a signal handler that came in between) a frame of the
 * kernel's that says so: the wait needs no walk through code of ours.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct journal;
struct origin;
struct target;

/* Is there anything to clean? Needs no stop. */
bool previous_session_exists(const struct target *target);
/*
 * Clean the target, which is seized and stopped, and stays so. *found_ret: there was something.
 * ERR_ATTACH: another mdbg is at work. What could not be taken out stays, and is named in left_ret,
 * which has room bytes ("" if everything is clean).
 */
struct err *previous_session_clean(struct target *target, bool *found_ret, char *left_ret,
				   size_t room) MUST_CHECK;

/*
 * previous_session_clean for a forked copy of the origin's target, by the origin's journal. The
 * journal that it has mapped is not read. ERR_STATE: it is no forked copy, and nothing was done.
 */
struct err *previous_session_clean_copy(struct target *target, const struct origin *origin,
					char *left_ret,
					size_t room) MUST_CHECK;
/*
 * Get the origin of forked copies of a target that an earlier mdbg has left, from the target's own
 * journal, which is checked. Free *journal_ret after the origin. ERR_NOTFOUND: the target has no
 * journal of its own. ERR_STATE: its journal cannot be trusted. The target need not be stopped.
 */
struct err *previous_session_origin(struct target *target, struct origin *ret,
				    struct journal **journal_ret) MUST_CHECK;

/*
 * Returns NULL if this mdbg can take over the changes that an earlier one has left, instead of
 * undoing them. The journal must have jumps and an agent, all done; only mappings may have been
 * unfinished. ERR_STATE: it cannot; the message says why ("" if there was nothing to take over).
 * ERR_ATTACH: another mdbg is at work. The target need not be stopped.
 */
struct err *previous_session_to_resume(struct target *target) MUST_CHECK;
/*
 * target->region is the one that an earlier mdbg has left. Make its journal agree with the target:
 * changes that were unfinished when that mdbg was killed are noted as done or undone, or are taken
 * out, and the old bytes of text become those of the files. ERR_STATE: it cannot be believed. The
 * target is stopped, and nothing was mapped yet.
 */
struct err *previous_session_settle(struct target *target) MUST_CHECK;
/*
 * Wait until no thread is inside the code mappings among these entries of the target's own journal;
 * stopped before and after. *clean_ret is false if a thread stays there. If no text leads there any
 * more, nobody will come in again, and all that this code uses can be unmapped.
 */
struct err *previous_session_drain(struct target *target, const uint32_t *entry, size_t nr,
				   bool *clean_ret) MUST_CHECK;
/*
 * The target is stopped. Afterwards the entry is UNDONE if its mapping is gone, also if there was
 * an error.
 */
struct err *previous_session_unmap(struct target *target, uint32_t entry) MUST_CHECK;
