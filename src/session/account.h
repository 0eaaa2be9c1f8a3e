/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `memory account`: the account of the session's process (inspect/account.h). Main thread. The heaps
 * are walked as for `malloc`: in a short stop, or in a snapshot (session/look.h).
 */
#pragma once

#include "growth/memory_verdict.h"
#include "inspect/account.h"

struct session;

struct session_account {
	struct account account;
	struct account_heap heap;
	struct account_beside beside;
	struct memory_use use;
	bool threads_known;		/* whose a stack is; otherwise ACCOUNT_STACKS has all */
	char group[256];		/* path of the control group; text from outside */
	uint64_t pause_ns;		/* for how long the target stood still, or 0 */
	char no_snapshot[256];		/* as in struct heaps */
};

/*
 * ERR_GONE: the process has ended; ERR_PERM; ERR_UNSUPPORTED: a core file. Heaps that cannot be
 * walked, or not without a longer stop than max-pause, are not divided: heap.why.
 */
struct err *session_account(struct session *session, struct session_account *ret) MUST_CHECK;
/*
 * The same with heaps that were walked a moment ago; heap->why, if they were not. What is resident
 * of them is that of now.
 */
struct err *session_account_of(struct session *session, const struct heaps *heap,
			       struct session_account *ret) MUST_CHECK;
/* Judge it, as `memory` does: compared with its last look, if there was one. */
void session_account_verdict(struct session *session, struct session_account *account,
			     struct memory_verdict *ret);
void session_account_free(struct session_account *account);
