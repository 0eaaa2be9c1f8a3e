/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Turns traps into calls of the ledger (log/ledger.h), which decides what they mean.
 *
 * Each thread has a short list of calls that were entered and have not returned, with what the
 * ledger needs at their return: the arguments are no longer in registers then. (The agent has them
 * on the target's stack.) A call returns when its stub's trap is hit with the SP that belongs to
 * it. It is dropped when it will never return: another call starts at its SP, a call around it
 * returns, or its thread ends. It is also dropped when the list is full; then its return is not
 * recognised as one. A call of a plain function that is dropped is counted in `voided` here: the
 * ledger, and the agent, know of no such call before it returns.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "log/ledger.h"

struct probe;
struct probes;
struct thread;

#define EVENT_CALLS	16

struct event_call {
	const struct probe *probe;
	uint64_t sp;			/* at entry */
	uint64_t ptr, size;		/* arguments */
	struct ledger_words words;
};

/* thread->data while probes are armed. */
struct thread_ops {
	struct ledger_thread ledger;
	struct event_call call[EVENT_CALLS];	/* outermost first */
	unsigned nr;
	bool lost;		/* a frame of ours may be on its stack without a call in the list */
};

/* Set the properties of the probe's function for the ledger. */
struct ledger_function trap_ledger_function(const struct probes *probes, const struct probe *probe,
					    bool entered);
/* Handle the entry of a function; returns the address at which the thread goes on. */
uint64_t trap_ledger_entry(struct probes *probes, struct probe *probe, struct thread *thread);
/* Handle the trap in its stub. False: no call of this thread waits for it. */
bool trap_ledger_return(struct probes *probes, struct probe *probe, struct thread *thread);
/* Drop what a thread has under way. */
void trap_ledger_void(struct probes *probes, struct thread *thread);
/* The log was reset: call ledger_reset for a thread's calls. */
void trap_ledger_reset(struct thread *thread);
