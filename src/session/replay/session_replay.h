/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recordings (record/reader.h) as the target of a session: there is no process, and answers are of
 * the time that was recorded.
 *
 * Theory of operation
 *
 * A session without a process was a core file so far: its memory is there and its log is empty. Of a
 * recording it is the other way round. There is no memory to look at, and there are no records of
 * single blocks; what was recorded is a moment (heap/moment.h) for each sample, which is what the
 * history of a log consists of. So a recording is a third kind of target, whose log has stacks and no
 * blocks, and whose history is the recording:
 *
 *	stacks	(replay_stacks.h) are put into the log of a region that is in no process, when a
 *		sample first has them. Their names are recorded, too, and stand in for those of files
 *		(symbol/symbol_recorded.h). So filters, tracebacks, `by function`, exports and
 *		`malloc diff` have their stacks from where they always have them.
 *	history	(replay_timeline.h) has the time and the totals of each sample. The sites of a
 *		sample are read when a moment is chosen: weeks of them do not fit into memory.
 *	now	is a time of the recording, the cursor. It is what every answer is of that asks for
 *		no other moment; -10m is ten minutes before it.
 *
 * What an answer needs decides whether a recording gives it, and not the command: moments it has,
 * records, memory and a process it has not. A command says by its check (cmd/shell/call.h) what it
 * needs.
 *
 * One view may have several recordings, and each may have many targets: the workers of a service, and
 * those that came after a restart. The same code has the same stack in all of them, so the sums of
 * the view are sums of moments. At a time T the view has each target whose first sample is not after
 * T and whose end is; of each it is the last sample at or before T. A target that has ended holds
 * nothing. Where a recorder did not look (it was killed, or had let go of a target that went on),
 * nothing is known of the target, so the view has a gap. Nothing is ever taken from between two
 * samples, and a time in a gap is an error.
 *
 * Rejected: answers that are kept as text or as exports (none of the filters would be left); a second
 * source of rows above the session (each command would ask which of the two there is); the recorded
 * addresses (two processes have other ones for the same code, and so have two runs of one program).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/outside.h"
#include "base/vec.h"

struct moment;
struct session;

/*
 * Open the recordings in nr folders as one view. The cursor is at time_ns, or, if that is 0, at the
 * last sample. ERR_STATE: there is a target already. ERR_NOTFOUND: there is no recording, or it has
 * no sample; ERR_RANGE: time_ns is in none.
 */
struct err *session_replay_open(struct session *session, const char *const *folders, size_t nr,
				uint64_t time_ns) MUST_CHECK;
/* Is the target a recording? */
bool session_replay_is(const struct session *session);

/* The functions below are for a session whose target is a recording. */

/* The cursor: a time since the epoch, and the same as text, "2026-11-02 03:10:00". */
uint64_t session_replay_now(const struct session *session);
const char *session_replay_now_text(const struct session *session);
/*
 * Set the cursor to the sample nearest to a time. ERR_RANGE: the recording begins later or ends
 * earlier, or nothing was recorded then; the message says from when to when.
 */
struct err *session_replay_to(struct session *session, uint64_t time_ns) MUST_CHECK;
/*
 * See what was written since. *more_ret: there is something. The cursor stays at its sample, or, if that
 * was thinned, at the nearest one.
 */
struct err *session_replay_refresh(struct session *session, bool *more_ret) MUST_CHECK;
/* Has any answer so far had a module in more than one build? Its code has a place for each of them. */
bool session_replay_rebuilt(const struct session *session);
/* Does a recorder write to any of them now? */
bool session_replay_is_written(const struct session *session);
/* How many processes are left out, as there are too many in a recording (RECORD_TARGETS_MOST). */
uint64_t session_replay_left_out(const struct session *session);
/*
 * Set the cursor to the next sample (1) or the one before (-1). What was written since is seen: ERR_RANGE
 * means that there is none yet.
 */
struct err *session_replay_step(struct session *session, int by) MUST_CHECK;
/* Was something recorded at that time? ERR_RANGE as above. */
struct err *session_replay_check(struct session *session, uint64_t time_ns) MUST_CHECK;
/* The sites of the view at the time of a sample of the history; the caller frees them. */
struct err *session_replay_moment(struct session *session, uint64_t time_ns,
				  struct moment *ret) MUST_CHECK;
/*
 * What the sites of the view have had in all by the time of a sample, since each process was attached to:
 * the first of them at *begin_ns_ret, UINT64_MAX where that is not known. The caller frees *ret.
 */
struct err *session_replay_had(struct session *session, uint64_t time_ns, struct moment *ret,
			       uint64_t *begin_ns_ret) MUST_CHECK;
struct log_totals;
/* The same by stack. The caller calls log_totals_free. */
struct err *session_replay_totals(struct session *session, uint64_t time_ns,
				  struct log_totals *ret) MUST_CHECK;
/* A target of the view. The session owns the texts. */
struct session_replay_process {
	const char *folder;		/* of its recording */
	struct outside name, command;
	pid_t pid;
	uint64_t from_ns, to_ns;	/* of its first and last sample; 0: it has none */
	uint64_t end_ns;		/* nothing is known of it from then on; UINT64_MAX: it is */
	bool exited;			/* ... because it has ended */
	struct outside why;		/* what is known of the reason; NULL: nothing */
	bool oom;			/* the kernel has killed it for lack of memory */
	uint64_t samples;
	/* At the time that was asked for, as of its last sample before; 0 where it has none. */
	uint64_t time_ns, bytes, count, rss;
};

struct session_replay_processes {
	VEC(struct session_replay_process) vec;
};

/*
 * The sites of one of these processes, by its place in the list, at a time of the history; none, if it
 * is not known then.
 */
struct err *session_replay_moment_of(struct session *session, size_t process, uint64_t time_ns,
				     struct moment *ret) MUST_CHECK;
/* Describe the one target that the view has; false: it has several. */
bool session_replay_process(const struct session *session, struct session_replay_process *ret);
/* All targets of all recordings, whatever the view shows. The caller frees the vector. */
struct err *session_replay_processes(struct session *session, uint64_t time_ns,
				     struct session_replay_processes *ret) MUST_CHECK;
/* What happened. The session owns the texts. */
struct session_replay_event {
	uint64_t time_ns;
	unsigned kind;			/* enum record_event_kind */
	pid_t pid;			/* 0: it is of no target */
	struct outside name, text;
	uint64_t number, also;		/* as record/record.h says of the kind */
};

struct session_replay_events {
	VEC(struct session_replay_event) vec;	/* in order of time */
};

/* Those between two times, both included. The caller frees the vector, also after an error. */
struct err *session_replay_events(struct session *session, uint64_t from_ns, uint64_t to_ns,
				  struct session_replay_events *ret) MUST_CHECK;
/*
 * Let the view show the targets with this pid only; 0: all. The cursor goes to the sample that is
 * nearest to where it was. ERR_NOTFOUND: there is none.
 */
struct err *session_replay_only(struct session *session, pid_t pid) MUST_CHECK;
/* Forget the recordings. NULL is allowed. */
struct replay;
void session_replay_free(struct replay *replay);
