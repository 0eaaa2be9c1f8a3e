/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The struct that tracer.c and ptrace.c share. */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <time.h>

#include "os/robust.h"
#include "os/stall_watch.h"
#include "os/tracer.h"

struct tracer {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work;		/* a request came, or the thread must end */
	pthread_cond_t answer;		/* a request was taken up, or is done */
	struct err *(*fn)(void *arg);	/* the request; NULL: none */
	void *arg;
	bool taken, done, quit;
	_Atomic bool call;		/* there may be a request, or the thread must end */
	bool failed;
	struct err err;
	unsigned tracees;		/* written by the tracer thread only, atomically */
	struct stall_watch watch;	/* of the tracer thread, if there is one */
	bool watched;
	struct robust robust;		/* words of this thread; tracer thread only */
	bool exits;			/* exit events are wanted; tracer thread only */
	pid_t kept;			/* see tracer_keep_end; 0: none. Tracer thread only */
	/* Following a busy tracee: see follow(). */
	pid_t last;
	unsigned in_row, since_look;
	bool pinned;
	cpu_set_t cpus;			/* of the thread when it started */
	int policy;			/* scheduling policy when it started */
	/* The poll, for the tracer thread only. */
	tracer_poll_fn *on_poll;		/* NULL: none */
	uint64_t poll_every, poll_next;
	timer_t timer;			/* its signal ends a wait for stops when a poll is due */
	bool has_timer;
	/* The poll's signal jumps here if a PTRACE_SEIZE is under way. */
	sigjmp_buf seize_end;
	volatile sig_atomic_t seizing;	/* 0, or 1 plus the number of polls since the seize began */
	tracer_stopped_fn *stopped;
	void *ctx;
};
