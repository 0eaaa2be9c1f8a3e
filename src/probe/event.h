/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a trap means to the log.
 *
 * A thread has a short list of operations that it has entered and not returned from, each known by
 * the SP at its entry (the word there is the return address, so that it names one call). An
 * operation returns when its stub's trap is hit with the SP that belongs to it.
 *
 * Nesting: realloc may call malloc, calloc may jump to it, an allocator's hooks may do anything.
 * All are recorded as they return; when an outer operation then returns a block that an inner one
 * has recorded, the inner record is dropped (account `nested`). A free of the block that an outer
 * realloc has taken out is nested too. So is a free that another free of the same block led to
 * (operator delete jumps to free): same or lower SP, and the outer one's return address is still
 * where it was.
 *
 * Where the log samples, an operation is drawn for at its entry, with the size that it is asked for:
 * only if its block will be recorded the stack is walked. An outer one decides for the inner.
 *
 * Void: an operation that is never returned from (longjmp, a thread that ends) is dropped when
 * another one starts at its SP, when the list is full, or with its thread; account `voided`. It is
 * never dropped because SP went up: a coroutine or a signal handler may run on another stack in
 * between.
 */
#ifndef PROBE_EVENT_H
#define PROBE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "log/log.h"

struct probe;
struct probes;
struct thread;

#define OPS_MAX		16
#define INNER_MAX	4

struct inner {
	uint64_t block;
	bool passed;			/* not sampled, and counted so */
};

struct op {
	const struct probe *probe;
	uint64_t sp;			/* at entry */
	uint64_t size;
	/* argument: block of a realloc, address of the result of posix_memalign */
	uint64_t ptr;
	uint32_t stack;
	bool took;			/* old was in the log, and was taken out */
	/* part of an outer operation on the same block: not recorded */
	bool inside;
	bool sampled;			/* its block is to be recorded; decided at its entry */
	struct log_record old;
	struct inner inner[INNER_MAX];	/* blocks that operations inside returned; a ring */
	unsigned nr_inner;
};

/* thread->data while probes are armed. */
struct thread_ops {
	struct op op[OPS_MAX];		/* outermost first */
	unsigned nr;
	uint32_t log_thread;
	bool registered;
	bool lost;		/* a frame of ours may be on its stack that no op tells of */
	/* the last free by a function that may lead to another: its block as the log knows it */
	uint64_t freed, freed_sp, freed_ra;
	uint64_t random, gap;	/* of sampling (log/sample.h): bytes to the next sample */
};

/* Entry of a function; returns the address to go on at. */
uint64_t event_entry(struct probes *probes, struct probe *probe, struct thread *thread);
/* The trap in its stub. False: no operation of this thread waits for it. */
bool event_return(struct probes *probes, struct probe *probe, struct thread *thread);
/* Drop what a thread has under way. */
void event_void(struct probes *probes, struct thread *thread);

#endif
