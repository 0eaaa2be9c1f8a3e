/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `record` and --record: the recorder of the shell (answer/recorder.h), and its timer. */
#pragma once

#include <tcl.h>

#include "base/err.h"
#include "record/shelf.h"
#include "session/session.h"

struct recorder;
struct shell;

/* In struct shell. */
struct recording {
	struct recorder *recorder;	/* NULL: nothing is recorded */
	Tcl_TimerToken timer;
	pid_t ended;			/* the process that was recorded last; 0: none */
	pid_t refused;			/* the last one that could not be attached to; 0: none */
};

/* The words of the command line; NULL: not given. */
struct recording_options {
	const char *dir, *keep, *size;
	const char *process;	/* of -p: a number, or a name */
	const char *group;	/* as in /proc/PID/cgroup; that group, and those below it */
};

#define RECORDING_KEEP_NS	(28 * 86400 * 1000000000ull)
#define RECORDING_SIZE		(1ull << 30)
#define RECORDING_LIMITS	{ RECORDING_KEEP_NS, RECORDING_SIZE }

/* Parse `AGE` and `BYTES` into limits; NULL leaves what is there. ERR_USAGE. */
struct err *recording_limits(const char *keep, const char *size,
			     struct record_limits *limits) MUST_CHECK;
/* ERR_STATE: it records already. */
struct err *recording_begin(struct shell *shell, const char *dir,
			    const struct record_limits *limits) MUST_CHECK;
/* The session has a new target. */
void recording_attached(struct shell *shell);
void recording_event(struct shell *shell, const struct session_event *event);
/* A mark was set: what there was then is asked for later, so there is a sample at once. */
void recording_mark(struct shell *shell);
/* Take the last sample, and end; nothing is done if nothing is recorded. */
struct err *recording_end(struct shell *shell, const char *why) MUST_CHECK;
/* Do the options fit together? other: a program or a core file was named. ERR_USAGE. */
struct err *recording_check(const struct recording_options *options, bool other) MUST_CHECK;
/*
 * A recorder is to be forgotten about, so it has a bound on its cost, unless another is set before or
 * later, or a mean of samples.
 */
struct err *recording_bound_cost(struct shell *shell,
				 const struct recording_options *options) MUST_CHECK;
/* Begin, if the options have a folder, and no group. */
struct err *recording_begin_by(struct shell *shell,
			       const struct recording_options *options) MUST_CHECK;
/*
 * Without a prompt: record until a signal ends mdbg, one process after the other. pid: the first
 * one, which is attached to; 0: it is waited for. It does not return.
 */
void recording_serve(struct shell *shell, const struct recording_options *options,
		     pid_t pid) NORETURN;
