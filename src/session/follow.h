/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Forked children that are followed (`set follow-fork both` and `child`). Tracer thread.
 *
 * A follower is a target of its own: its memory has its parent's patches already, so it gets a
 * region of its own with a journal (for a later mdbg), and probes that know the same places. Its
 * blocks go to the session's one log under its process number; what it inherited from its parent is
 * not listed again under its own number: its log begins with the fork.
 *
 * Generations of its module map start at its number << FOLLOW_GENERATION_SHIFT, so that the stacks
 * of all processes are told apart by generation and named by one `symbols`.
 */
#ifndef SESSION_FOLLOW_H
#define SESSION_FOLLOW_H

#include "session/private.h"

#define FOLLOW_GENERATION_SHIFT	24

struct follower {
	struct session *session;
	struct target *target;
	struct probes *probes;
	struct region *region;		/* its log is not used */
	uint8_t number;
	bool gone;			/* ended, runs another program, or was let go */
	struct known_modules known;	/* to symbols */
};

/*
 * A fork child of a target, stopped: clean it and let it go, or follow it, as configured. parent is
 * the target's probes (may be NULL).
 */
void follow_fork_child(struct session *session, struct target *target, struct probes *probes,
		       pid_t pid);
/* Whose thread is tid? For one that nobody knows: the target that it was cloned or forked from. */
struct target *follow_owner(struct session *session, pid_t tid);
/* Does any follower live? */
bool follow_any(const struct session *session);
/* With each tick: sigtrap_look, for all followers that live. */
void follow_look(const struct session *session);
/*
 * Something for all followers that live: stop, let run, take everything out and let go. The first
 * error is returned.
 */
struct err *follow_stop_all(struct session *session) MUST_CHECK;
void follow_resume_all(struct session *session);
struct err *follow_undo_all(struct session *session) MUST_CHECK;
/* New modules of followers: as session_let_go does for the first target. */
void follow_settle_all(struct session *session);
/*
 * The follower at this place of the list becomes the session's target; the one before is untraced.
 */
void follow_take_place(struct session *session, struct follower *follower, size_t at);
/* Forget all of them. */
void follow_forget(struct session *session);
#endif
