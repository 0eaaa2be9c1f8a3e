/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much of its processor time a process spends in given code: by the kernel's task clock, which
 * notes where a thread is, once in each millisecond that it runs (perf_event_open(2)). The process
 * notices nothing; the kernel takes some two microseconds for each note, a five-hundredth of the time. So
 * this is for a short while.
 *
 * Up to CODE_SHARE_THREADS threads are watched: those that have had most processor time so far, of the
 * first thousand. Where a thread is in the kernel counts to no code.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define CODE_SHARE_THREADS	32u
#define CODE_SHARE_PERIOD_NS	1000000u

struct code_share;

struct code_range {
	uint64_t start, end;
};

/* Begin. ERR_PERM with a hint, ERR_UNSUPPORTED: the kernel permits or has none. */
struct err *code_share_open(pid_t pid, struct code_share **ret) MUST_CHECK;
/*
 * Add what was seen since the last call: ns in the code, and ns in all. It must be called ten times a
 * second; what is noted beyond 256 notes of a thread is lost.
 */
void code_share_read(struct code_share *share, const struct code_range *range, size_t nr,
		     uint64_t *inside, uint64_t *all);
/* share may be NULL. */
void code_share_close(struct code_share *share);
