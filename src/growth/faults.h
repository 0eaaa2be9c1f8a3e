/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Page faults of a process, each with its stack, from the kernel's events of that name
 * (PERF_COUNT_SW_PAGE_FAULTS_MIN and _MAJ).
 *
 * Events. A ring belongs to a processor, since only so can an event be inherited by the threads
 * that a thread makes. So each thread has an event on each processor, and all events of a processor
 * write to its ring; minor and major faults have a ring each, as a sample does not say which it is.
 * They are opened while the target is stopped, or a thread that is made meanwhile would be missing,
 * or be there twice. Rejected: events of all processes, sorted by the id of the process (every
 * process of the machine pays).
 *
 * Stacks. The sample has the registers and a copy of the stack, from the user's SP on (`set fault-
 * stack`), and is walked by rows as any stack; where the copy ends, so does the walk (WALK_COPY).
 * A larger copy leaves room for fewer samples in the ring. The stack goes to the log's table, so
 * that it has its names like any other.
 *
 * Files. The mapping that holds the address says which. Mappings are read from /proc/PID/maps, and
 * those that are made later come as records of the same ring. Nothing comes of those that are
 * unmapped or moved, and the rings of two processors are not read in order of time; so the mappings
 * are read again after 100 ms, or after a hundred times what reading took. Until then a name may be
 * that of an earlier mapping there.
 *
 * Huge pages. A sample says how large the page at its address is when the fault ends. Linux knows that
 * since 5.11; before, each is one small page, and the answer says so (`sizeless`). Rejected: to look in
 * pagemap when the ring is drained, as the page may be another one by then.
 *
 * Exec. The events go when the process executes another program: what it faults in has nothing to
 * do with the stacks and files of this one.
 *
 * The tracer thread drains the rings at each of its polls. What had no room meanwhile the kernel
 * counts (`lost`).
 */
#pragma once

#include "growth/fault_sums.h"
#include "os/perf.h"
#include "os/procfs.h"
#include "unwind/walk.h"

struct log;
struct target;

/* Bytes of the stack that a sample has: the least and the most. The kernel's own limit is 65,528. */
#define FAULTS_STACK	4096u
#define FAULTS_STACK_MAX 65528u
#define FAULTS_RING	(32u << 20)	/* bytes of the ring of a processor ... */
#define FAULTS_RINGS	(256u << 20)	/* ... and of all of them, at most */
#define FAULTS_RING_MAJOR (256u << 10)

/* A mapping that was made since the mappings were read. */
struct fault_mapping {
	uint64_t start, end;
	uint64_t offset, inode, dev;	/* of its file; 0: it has none */
	uint32_t file;			/* number of the name */
};

struct faults {
	struct target *target;
	struct log *log;
	const struct walk_area *area;	/* mdbg's code in the target; NULL: none */
	VEC(int) fds;
	size_t ring;			/* bytes of the ring of a processor */
	uint32_t stack;			/* bytes of the stack that a sample has */
	VEC(struct perf_ring) rings;	/* by processor: of minor and of major faults */
	struct fault_sums sums;
	struct proc_maps maps;
	VEC(struct fault_mapping) made;	/* the newest last */
	bool maps_old;			/* read the mappings again */
	uint64_t maps_until;		/* ns of CLOCK_MONOTONIC: then they are old */
	bool ended;			/* another program is executed: what comes now is its own */
	bool refreshed;			/* modules were read in this drain */
	bool sizeless;			/* the kernel says nothing of the size of pages */
	bool user_only;			/* faults in system calls are not seen: not permitted */
	bool major;			/* of the ring that is drained */
	uint64_t samples;		/* all that came */
	uint64_t own;			/* of pages of the log, which mdbg has put there */
	uint64_t unstacked;		/* without a stack: the log has no room, or it had no registers */
};

/*
 * Begin. The target is stopped. The errors of perf_event_open. most: bytes of the sums. stack: bytes
 * of the stack that a sample has, FAULTS_STACK to FAULTS_STACK_MAX.
 * Tracer thread, as all of them.
 */
struct err *faults_open(struct target *target, struct log *log, const struct walk_area *area,
			size_t most, size_t stack, struct faults **ret) MUST_CHECK;
void faults_close(struct faults *faults);
/* The process has executed another program: take what is in the rings, and nothing after that. */
void faults_end(struct faults *faults);
/* Take what is in the rings. */
void faults_drain(struct faults *faults);
/*
 * faults_drain, for an answer. Returns how many faults the kernel has counted that no sample came
 * of: the kernel itself tells of lost records only in front of the next one that it writes.
 */
uint64_t faults_settle(struct faults *faults);
