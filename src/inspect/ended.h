/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that have ended and that nobody has joined: their control blocks and stacks stay.
 *
 * glibc (from 2.34 on) keeps the control blocks of all threads in two lists of _rtld_global, one
 * for stacks of its own and one for those that the program has given; a third one, its cache, has
 * the stacks that are free. A thread goes from the first to the cache when it is joined, or ends
 * detached. The kernel sets its id to 0 when it has ended, and glibc a bit in cancelhandling before
 * that. So who is in one of the two lists with that bit, and without an id, has ended and was not
 * joined. Where all this lies, glibc tells debuggers (_thread_db_*). Another libc, or an older
 * glibc, does not: then nothing is known.
 *
 * The target need not be stopped: each control block is recognised by its own address in it, and no
 * list is followed farther than a million of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct target;

struct ended_threads {
	bool known;
	VEC(uint64_t) vec;		/* pthread_t */
};

/* Tracer thread, or any while the target does not change. The caller frees vec. */
struct err *ended_find(const struct target *target, struct ended_threads *ret) MUST_CHECK;
