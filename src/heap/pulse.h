/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does glibc's allocator do anything? One number of the bins, tops and sums of all its arenas,
 * read without a walk and without a stop: two that differ are of moments between which chunks
 * were given out or taken back. Two that are the same say nothing, since what goes to and from a
 * thread's cache touches no arena. Locks, and how many threads an arena has, are not part of it.
 */
#ifndef HEAP_PULSE_H
#define HEAP_PULSE_H

#include <stdint.h>

#include "base/err.h"

struct heap_source;

/* Of source the memory, libc's data and the main arena are used. 0: there is no arena yet. */
struct err *glibc_pulse(const struct heap_source *source, uint64_t *ret) MUST_CHECK;

#endif
