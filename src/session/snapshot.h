/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of a snapshot (target/snapshot.h), whatever the target has become while it was searched:
 *
 *	goes on		the child is killed while the target runs (to give back much memory takes
 *			seconds), and reaped in a stop. Where mdbg traces all the while, it is killed in
 *			that stop, as its end would be heard of at once
 *	has executed	another program: that is visited (session/visit.h), as soon as it can make a
 *			call, that is, has mapped its libc; the child stays alive, or unheard of, until
 *			then
 *	has ended	its child is init's
 */
#ifndef SESSION_SNAPSHOT_H
#define SESSION_SNAPSHOT_H

struct session;
struct snapshot;

/* Main thread. Warns of what the target has been left with. The snapshot is still to be freed. */
void session_end_snapshot(struct session *session, struct snapshot *snapshot);

#endif
