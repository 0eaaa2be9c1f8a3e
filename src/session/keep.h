/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Probes and log that outlive their mdbg: left by `detach -keep` or by a killed mdbg, gone on with by
 * a later one.
 *
 *	keep_take_over		the earlier region is opened (/proc/PID/map_files) and is this mdbg's;
 *				in a short stop its journal is made to tell what is there; its changes
 *				to the target are noted, generations go on. If that cannot be, what is
 *				there is cleaned, and its records are lost
 *	unwatched_tell		in the stop in which the probes of this mdbg go in: which libraries came
 *				meanwhile, and ran without probes (unwatched.c)
 *	keep_take_text		in the same stop, just before the probes go in: the old text is put back,
 *				so that no call goes by either. A kill at any point leaves a journal that
 *				tells all
 *	keep_release_old	the earlier agent records in the same log what is still inside it; when
 *				nobody is any more, it is unmapped
 *
 * Who may still read what. Each mdbg brings code of its own, and with it mappings of its own: areas
 * (thunks and the agent), the agent's state, log and threads (one mapping), module maps. A thread
 * comes into them by a jump in the text, and stays until it has returned through the thunk. Meanwhile
 * it reads and writes through the state that its thunk names, and the state holds addresses of the
 * same mdbg's mappings only. In the file that all of them show, everything is offsets and values:
 * but for ledger_op.function, which is compared and never followed, and scratch that each walk fills
 * anew. So the mappings of one mdbg may go, all of them and in any order, once no text leads to its
 * thunks and no thread has a PC, a return address or a PC saved by a signal in its areas; who cannot
 * be looked at counts as inside (stack_of_uses). There may be any number of them, if mdbgs were
 * killed in the middle of this: all that came before are one to the next.
 *
 * In the file itself, the earlier ones' module maps and rows stay where they are until then
 * (share_adopt, share_forget_old).
 *
 * An address in the journal is believed only after a look at what lies there: an mdbg may be killed
 * between a change and its word of it, and what the kernel has given back it gives out again, to the
 * next mdbg's own maps for example. So an entry is undone before its mapping goes (patch_unmap),
 * what is found gone is not unmapped, what the region's file has mapped beside the journal's words
 * is, and a thread that still has a call of the killed mdbg's before it makes it first
 * (leftover_settle).
 *
 * Both agents may work at once, on the same table of threads: share_adopt refuses another layout. A
 * stack that was recorded before is named by the modules that are where they were when it was; what
 * came or went while nobody looked gives it no names.
 */
#ifndef SESSION_KEEP_H
#define SESSION_KEEP_H

#include <stdbool.h>

#include "base/err.h"

struct session;

/* --- tracer thread --- */

/*
 * The target is seized, and something was left in it. NULL: that is session->region now, or it is
 * cleaned, and what is lost was said. ERR_ATTACH: another mdbg is at work.
 */
struct err *keep_take_over(struct session *session) MUST_CHECK;
/* All threads are stopped. */
void keep_take_text(struct session *session);
/*
 * Stopped before and after. A thread that stays inside: it is tried again at the next call; false
 * then.
 */
bool keep_release_old(struct session *session);
/*
 * Say in the log whether it may be gone on with, as things are: all probes are in, and have been since
 * it began, and a later mdbg finds them all by itself (share_set_marks).
 */
struct err *keep_set_whole(struct session *session) MUST_CHECK;
/* Leave all in the target and let it go. ERR_STATE: what cannot be left. */
struct err *keep_leave(struct session *session) MUST_CHECK;

#endif
