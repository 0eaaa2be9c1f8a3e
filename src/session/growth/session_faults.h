/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `growth fault` of a session (growth/faults.h). While it is on, the poll (session/untraced.c)
 * comes ten times as often, to drain the rings. It ends with the attach: the kernel closes the
 * events with mdbg's descriptors, so nothing stays in the target, however mdbg ends.
 */
#pragma once

#include "base/err.h"
#include "growth/fault_sums.h"

struct session;

/* An answer: a copy, largest first. */
struct session_faults {
	VEC(struct fault_sum) sums;
	VEC(char *) files;		/* by number; that of 0 is "" or not there */
	uint64_t minor, major, pages;
	uint64_t own;			/* of mdbg's log; in no other figure */
	uint64_t lost;			/* the rings had no room */
	uint64_t unsummed, unpaged, unstacked;
	bool sizeless;			/* a huge page counts as one small one */
	bool user_only;
};

/* These run on the main thread. */

bool session_faults_on(const struct session *session);
/* ERR_STATE: there is no log for the stacks; errors of perf_event_open. */
struct err *session_faults_start(struct session *session) MUST_CHECK;
struct err *session_faults_stop(struct session *session) MUST_CHECK;
/* The caller frees *ret by session_faults_free, also after an error. */
struct err *session_faults(struct session *session, struct session_faults *ret) MUST_CHECK;
void session_faults_free(struct session_faults *faults);
