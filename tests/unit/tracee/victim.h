/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A process for tests that is traced as a target, and jobs on the tracer thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tracee/region.h"
#include "tracee/remote.h"
#include "tracee/room.h"
#include "tracee/target.h"

struct victim {
	pid_t pid;
	struct tracer *tracer;
	struct target *target;
	struct region *region;		/* of victim_region */
	size_t room;			/* that a function needs in victim_remote */
	struct remote remote;		/* begun while a job of victim_remote runs */
	_Atomic pid_t forked;		/* a child that it has forked, kept stopped; 0 */
	bool (*trap)(struct thread *thread);	/* is asked at each SIGTRAP; may be NULL */
	bool holds;			/* it is held before its death */
	_Atomic int held;		/* by this signal */
	_Atomic int status;		/* -1 until the tracer thread has heard of its end */
	_Atomic unsigned reports;	/* statuses that came, of whatever thread */
};

/* Trace pid and stop it. False: not allowed here; the test is skipped. */
bool victim_seize(struct victim *victim, pid_t pid);
/* Make a region with a log of limit bytes (0: none is made); victim_release frees it. */
void victim_region(struct victim *victim, uint64_t limit);
/* The same with as much as there is room for. */
void victim_region_in(struct victim *victim, const struct room *room);
/* fn on the tracer thread; it must succeed. */
void victim_run(struct victim *victim, struct err *(*fn)(struct victim *victim));
/* The same with victim->remote borrowed. */
void victim_remote(struct victim *victim, struct err *(*fn)(struct victim *victim));
/* The same; its error is returned. */
struct err *victim_try(struct victim *victim, struct err *(*fn)(struct victim *victim));
void victim_resume(struct victim *victim);
void victim_stop(struct victim *victim);
/* It has ended: free what there is of it. */
void victim_forget(struct victim *victim);
/* Let it go on untraced. */
void victim_release(struct victim *victim);
