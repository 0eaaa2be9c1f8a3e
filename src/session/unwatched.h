/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the probes that an earlier mdbg had left have missed, told when a later one takes their place
 * (keep.h). A library that comes while nobody watches has no jumps; nor has one that comes again, to
 * its old place too, where nothing but its text tells (as in probe/lost.h):
 *
 *	its code is as before the patch, in a page of the file's	it was loaded again (or the process has
 *								discarded its copies)
 *	the same, in a copy of the process' own			somebody has taken the jumps out: another
 *								tool, or an mdbg that was killed before
 *								the journal had it
 *	it is younger than the log's last module map, and has		it was loaded
 *	functions to be probed
 *
 * Where it is the C library, or somebody has been at work, blocks that are in the log may have
 * been freed unseen: then the log is said to have a gap, as after `malloc off`. Of any other
 * library only what it has itself allocated and freed is not known; so it is when a live mdbg sees it.
 */
#ifndef SESSION_UNWATCHED_H
#define SESSION_UNWATCHED_H

struct session;

/*
 * Tracer thread. All threads are stopped, the new probes are planned, and the old text is still there
 * (keep_take_text). Once for each library.
 */
void unwatched_tell(struct session *session);

#endif
