/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Wrappers of the allocator that `set skip` does not know: the program's own memory_get. One is
 * found where
 *
 *	- it is the own frame (own_frame.h) of nearly all blocks that were ever recorded,
 *	- it was called from several places, and
 *	- its code passes one of its arguments on as the size of the allocation: as it is, or with
 *	  something added to it (session_passes_on).
 *
 * Then sites pass it over, as if it stood in `set skip`, for as long as the log lives; the next
 * text says so. What lies behind it may be such a wrapper, too. A name and the share of blocks
 * prove nothing: main may allocate all.
 *
 * Of a log with many stacks some thousand are looked at. The search is made before an
 * answer, and again when twice as many blocks were recorded.
 */
#pragma once

struct session;

/*
 * Find them, and add them to session_naming(session), before an answer asks for names. A failure
 * leaves sites as they are.
 */
void wrapper_find(struct session *session);
