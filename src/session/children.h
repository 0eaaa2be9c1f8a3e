/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Forked children that nobody caught when they were made: the hands were off, or an mdbg was killed.
 * They run with their parent's jumps, which do nothing there, until they are cleaned:
 *
 *	detach, malloc off	first, with the target traced but running, so that what it forks now
 *				is caught and what it has forked can be found; it stands still for none
 *				of this
 *	the target's end, exec	at once: a daemon's parent ends
 *	an attach that finds	before them, while their journal tells what the children have
 *	leftovers
 *
 * All of /proc is looked at, until a look finds nobody new: a child that is not cleaned yet may fork.
 * Who cannot be traced is passed over, with a warning. So is a process that has the journal mapped but
 * is not what a forked copy is (target/inherited.h): it is looked at before it is stopped, and again
 * when it stands still. Each is named once.
 *
 * A function that was probed in a child at the fork and is no more in its parent since (a module that
 * the parent has unloaded) is put back as long as its entry in the journal was not used again.
 */
#ifndef SESSION_CHILDREN_H
#define SESSION_CHILDREN_H

struct origin;
struct session;

/* --- main thread --- */

/* The target has ended, or runs another program: its children are cleaned. */
void children_clean_orphans(struct session *session);

/* --- tracer thread --- */

/* Clean all forked copies of the origin's target (target/inherited.h). */
void children_clean(struct session *session, struct origin *origin);
/* Those of the session's own target, alive or not; nothing if all is taken out of it already. */
void children_clean_own(struct session *session);

#endif
