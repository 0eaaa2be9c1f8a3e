/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Forked children that are followed (`set follow-fork both` and `child`). Tracer thread.
 *
 * A follower is a target of its own: its memory has its parent's patches already, so it gets a
 * region of its own with a journal (for a later mdbg), and probes that know the same places. Its
 * blocks go to the session's one log under its process number; what it inherited from its parent is
 * not listed again under its own number: its log begins with the fork.
 *
 * Generations of its module map start at its number << PROCESS_GENERATION_SHIFT, so that the stacks
 * of all processes are told apart by generation and named by one `symbols`.
 */
#ifndef SESSION_PROCESS_H
#define SESSION_PROCESS_H

#include "session/private.h"

#define PROCESS_GENERATION_SHIFT	24

struct follower {
	struct session *session;
	struct target *target;
	struct probes *probes;
	struct region *region;		/* its log is not used */
	uint8_t number;
	enum process_state state;
	struct known_modules known;	/* to symbols */
};

/* Arm what came with new modules, before any thread runs on; the target of probes is stopped. */
void process_settle(struct session *session, struct probes *probes);
/* Unmap its region; stopped before and after. */
struct err *process_withdraw(struct follower *follower) MUST_CHECK;
void process_free(struct follower *follower);
/* Whose thread is tid? For one that nobody knows: the target that it was cloned or forked from. */
struct target *process_owner(struct session *session, pid_t tid);
/* Does any follower live? */
bool process_any_followed(const struct session *session);
/* With each tick: sigtrap_look, for all followers that live. */
void processes_look(const struct session *session);
/*
 * Something for all followers that live: stop, let run, take everything out and let go. The first
 * error is returned.
 */
struct err *processes_stop(struct session *session) MUST_CHECK;
void processes_resume(struct session *session);
struct err *processes_undo(struct session *session) MUST_CHECK;
/* New modules of followers: as session_let_go does for the first target. */
void processes_settle(struct session *session);
/*
 * The follower at this place of the list becomes the session's target; the one before is untraced.
 */
void process_take_place(struct session *session, struct follower *follower, size_t at);
/* Forget all of them. */
void processes_forget(struct session *session);

#endif
