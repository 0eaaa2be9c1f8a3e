/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Traps become calls of the ledger (log/ledger.h), which says what they mean.
 *
 * A thread's calls that were entered and have not returned are in a short list, with what the
 * ledger needs at their return: the arguments are in no register then. (The agent has them on the
 * target's stack.) A call returns when its stub's trap is hit with the SP that belongs to it. It
 * is dropped when it will not: another one starts at its SP, one around it returns, its thread
 * ends; or when the list is full, and then its return is not known for one. A call of a plain
 * function that is dropped is counted in `voided` here: the ledger, and the agent, know of no such
 * call before it returns.
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
	bool lost;		/* a frame of ours may be on its stack that no call tells of */
};

/* A probe as the ledger knows its function. */
struct ledger_function event_function(const struct probes *probes, const struct probe *probe,
				      bool entered);
/* Entry of a function; returns the address to go on at. */
uint64_t event_entry(struct probes *probes, struct probe *probe, struct thread *thread);
/* The trap in its stub. False: no call of this thread waits for it. */
bool event_return(struct probes *probes, struct probe *probe, struct thread *thread);
/* Drop what a thread has under way. */
void event_void(struct probes *probes, struct thread *thread);
