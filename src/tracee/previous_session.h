/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finding what an earlier mdbg left in a target, by its journal, and taking it out.
 *
 *	calls		a thread that was borrowed makes the call that it still has before it
 *	find		a mapping named "/memfd:mdbg" at file offset 0 whose journal is sound, or
 *			an open descriptor of that name; not what an mdbg has mapped of its target's
 *	owner alive	ERR_ATTACH: one mdbg at a time (but for a forked child of its target's)
 *	text		put back first (compared), so that nobody comes in any more; who is inside
 *			goes on through the earlier mdbg's SIGTRAP handler, thunks, agent and
 *			displaced code, which are still there, and records in its log
 *	wait		until no thread has a PC, a return address or a queued trap in what will be
 *			unmapped
 *	mappings	and the disposition of SIGTRAP: code, the agent's data, every mapping of
 *			the region's file, its journal last
 *
 * No thread can be inside the bytes of a jump, so that putting them back needs no more than that
 * all are stopped. What a killed mdbg had mapped but not entered in the journal yet is of the
 * region's file, and is known by that (tracee/patch.c).
 *
 * Whoever has the file mapped may have written the journal. It is read once, and no more is done
 * by it than tracee/undo.h allows, to nobody but the process that the user attached to: text is
 * made what its file has, and a log that another user has made is left alone. Text that must not
 * be put back, an entry that no mdbg writes or that a later one does: then all that is mapped
 * stays.
 *
 * A forked child that nobody traced when it was made has its parent's changes, and its journal,
 * in which the parent's fate stands. So its text is put back also where the entry says that it
 * has been (in the parent, since the fork): the bytes tell. It is no target of the mdbg that owns
 * the journal. Without having been attached to it is cleaned only as a copy of what this mdbg
 * knows of its parent (previous_session_clean_copy, tracee/forked_copies.h).
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
 * ERR_ATTACH if another mdbg is at work. What could not be taken out is left and named in *left_ret
 * ("" if all is clean), room bytes.
 */
struct err *previous_session_clean(struct target *target, bool *found_ret, char *left_ret,
				   size_t room) MUST_CHECK;

/*
 * previous_session_clean for a forked copy of the origin's target, by the origin's journal. Its own
 * is not read. ERR_STATE: it is none, and nothing was done.
 */
struct err *previous_session_clean_copy(struct target *target, const struct origin *origin,
					char *left_ret,
					size_t room) MUST_CHECK;
/*
 * What forked copies of a target have that an earlier mdbg has left: its own journal, verified.
 * *journal_ret is to be freed after the origin. ERR_NOTFOUND: it has none of its own. ERR_STATE: it
 * is not to be believed. Needs no stop.
 */
struct err *previous_session_origin(struct target *target, struct origin *ret,
				    struct journal **journal_ret) MUST_CHECK;

/*
 * May this mdbg go on with what an earlier one has left, instead? Its journal must tell of jumps
 * and an agent, all done; mappings alone may have been in hand. ERR_STATE: why not ("" if there
 * was never anything to go on with). ERR_ATTACH: another mdbg is at work. Needs no stop.
 */
struct err *previous_session_to_resume(struct target *target) MUST_CHECK;
/*
 * target->region is what an earlier mdbg has left. Make its journal tell what is there: what was
 * in hand when that mdbg was killed is done, or is not, or is taken out; what it says of text is
 * what the files have. ERR_STATE: it is not to be believed. Stopped; before anything is mapped.
 */
struct err *previous_session_settle(struct target *target) MUST_CHECK;
/*
 * Wait until no thread is inside the code mappings among these entries of the target's own journal;
 * stopped before and after. *clean_ret is false if a thread stays there. If no text leads there any
 * more, nobody will come in again, and all that this code uses can be unmapped.
 */
struct err *previous_session_drain(struct target *target, const uint32_t *entry, size_t nr,
				   bool *clean_ret) MUST_CHECK;
/* Stopped. The entry is UNDONE if its mapping is gone, whatever comes back. */
struct err *previous_session_unmap(struct target *target, uint32_t entry) MUST_CHECK;
