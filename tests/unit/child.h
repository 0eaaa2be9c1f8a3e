/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A forked child for tests: says when it is ready, lives until it is told to end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int ready;	/* a word from the child, by child_ready */
	int end;	/* the child lives while this is open */
};

/*
 * Runs body in a fork; it calls child_ready, and child_wait before it returns, which ends the
 * process.
 */
bool child_start(struct child *child, void (*body)(void *arg), void *arg);
void child_ready(uint64_t word);
void child_wait(void);
/* What child_ready was given; false if the child ended first. */
bool child_word(const struct child *child, uint64_t *ret);
/* Let it end and reap it; its status as wait gives it. */
int child_end(struct child *child);

/* Wait until it has added this many to *rounds, which it shares, or has ended. */
void child_works(const struct child *child, const _Atomic unsigned *rounds, unsigned nr);

/*
 * In the child: its first thread ends, and with it what /proc/PID leads to; another one says its tid
 * (child_ready) when that is so, and goes on until it is told to end.
 */
void child_end_leader(void) __attribute__((noreturn));

/* Zeros that this process and its children see alike; NULL: no memory. Given back by munmap. */
void *child_share(size_t len);

/* The fixture of a suite that needs only that: `shared` points to such zeros. */
#define CHILD_SHARED(shared)					\
	static int setup(void)					\
	{							\
		shared = child_share(sizeof(*shared));		\
		return !shared;					\
	}							\
								\
	static int teardown(void)				\
	{							\
		return munmap(shared, sizeof(*shared));		\
	}							\
								\
	FIXTURE(setup, teardown)
