/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A snapshot: the memory of a target as it is at one moment, held by a forked child that never
 * runs, so that the target is stopped only for the fork.
 *
 * The child is made by a remote clone. Its parent is the target, which must not notice:
 *
 *	no signal	It is made without an exit signal, so that its end raises no SIGCHLD, and a
 *			wait without __WALL or __WCLONE passes it by, as if it were not there (wait(2)).
 *	descriptors	are shared with the target (CLONE_FILES), not copied: what the target closes
 *			meanwhile is closed.
 *	it never runs	The kernel attaches it for us; it is killed with mdbg (PTRACE_O_EXITKILL).
 *			Should mdbg be killed before that is set, it finds a signal frame on its stack
 *			that leads it to exit_group, with all signals blocked.
 *	out of memory	It is the first to be killed (oom_score_adj).
 *
 * Its process id stands in the journal before it can run (CLONE_PARENT_SETTID has the kernel
 * write it there), and the target itself reaps it, by a remote wait4 with __WCLONE, which no
 * ordinary child of its own answers to. What a killed mdbg has left is a zombie; the next one has
 * it reaped (snapshot_reap_left). If the target ends, init reaps it.
 *
 * If the target executes another program, the kernel turns the signal that the child has not into
 * a SIGCHLD (do_notify_parent: parent_exec_id is no more that of the parent). It does so when its
 * parent is told of its end, and that of a tracee is told to its tracer first: to the parent not
 * before the tracer has waited for it (wait_task_zombie). So that is done only while the target
 * stands still, by nobody else (tracer_keep_end), and whatever program it runs then: in one that
 * is not the old one the SIGCHLD, which waits as long as all threads stand, is taken out of its
 * queue before it goes on (snapshot_reap_anew). When the child was killed does not matter.
 *
 * Without probes there is no journal in the target, and so no snapshot.
 *
 * What a fork does not copy (shared memory, MADV_DONTFORK, MADV_WIPEONFORK) is read in the stop.
 */
#pragma once

#include "base/vec.h"
#include "log/journal.h"
#include "os/procmem.h"

struct remote;
struct target;
struct tracer;

struct snapshot_copy {
	uint64_t start, end;
	uint8_t *bytes;
};

struct snapshot_copies {
	VEC(struct snapshot_copy) vec;	/* in order of address; they do not overlap */
};

struct snapshot {
	struct memory memory;		/* any thread may read it */
	struct procmem mem;		/* the child's */
	pid_t pid;			/* the child's */
	uint64_t inside;		/* the same in the target's pid namespace */
	int pidfd;
	uint32_t entry;			/* of the journal */
	struct snapshot_copies copies;
};

/*
 * Copy what there is in [start, end) from the target, which is stopped; all copies go to
 * snapshot_take. Bytes that cannot be read are left out, and are not readable in the snapshot
 * either.
 */
struct err *snapshot_copy(struct target *target, uint64_t start, uint64_t end,
			  struct snapshot_copies *copies) MUST_CHECK;
void snapshot_copies_free(struct snapshot_copies *copies);
/*
 * Make a snapshot, on the tracer thread; the target is stopped and stays so. tracee/forkable.h says
 * whether it may be done. It takes over the copies. ERR_UNSUPPORTED, ERR_SYS: it cannot be made;
 * the message says why. End it by one of the functions below, and then snapshot_free.
 */
struct err *snapshot_take(struct target *target, struct snapshot_copies *copies,
			  struct snapshot *ret) MUST_CHECK;
/*
 * Kill the child, and wait until it is dead. Any thread; the target runs on. Only if nobody traces
 * the target (untraced): otherwise the tracer would see the child's death between two requests.
 */
void snapshot_kill(const struct snapshot *snapshot);

/* Tracer thread: its end, killed already or not */

/* Let the target reap the child; the target is stopped. */
struct err *snapshot_reap(struct target *target, const struct snapshot *snapshot) MUST_CHECK;
/*
 * snapshot_reap in the program that the target has executed since; it is stopped. On failure of
 * no more than a call (ERR_UNSUPPORTED: it has no libc yet) nothing was done.
 */
struct err *snapshot_reap_anew(struct target *target, const struct snapshot *snapshot) MUST_CHECK;
/* The target has ended, or cannot be stopped: kill its child all the same. */
void snapshot_drop(struct tracer *tracer, const struct snapshot *snapshot);

void snapshot_free(struct snapshot *snapshot);

/*
 * For a target that a killed mdbg has left: entry is of its own journal, and of kind
 * JOURNAL_SNAPSHOT. ERR_BUSY: the child is still dying.
 */
struct err *snapshot_reap_left(struct remote *remote, const struct journal_entry *entry) MUST_CHECK;
