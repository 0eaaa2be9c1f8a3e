/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * System calls that may wait for somebody else as long as he likes: for the server of a FUSE file
 * system, for another machine (NFS). The kernel lets nobody out of such a wait, not even by
 * SIGKILL. So an errand is run by a process of its own that can be given up, while mdbg goes on and
 * ends as it wants.
 *
 * The process shares mdbg's memory (CLONE_VM), so that it costs 50 us to make and no memory, and no
 * more than that: not the table of descriptors, of which it has a copy with the one descriptor that
 * its calls are about, and no signals. It runs on mdbg's thread-local storage, so it makes bare
 * system calls and uses nothing else. An errand's bytes lie in a buffer of the errand's: a call that
 * was given up may still write to it.
 *
 *	idle -> asked	by errands_call		asked -> idle	by the process, with a result
 *	idle -> gone	by the process, after a second without work; so it never outlives mdbg for
 *			long
 *	asked -> left	by errands_call, after its time; its memory is freed once the process has
 *			come back, which ends it
 *
 * After one was given up, calls are refused for a while: so who makes many of them in a stop waits
 * once.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define ERRAND_BYTES	(256u << 10)
#define ERRANDS_LEFT	8u

struct errand;

/* One caller at a time. Zeros are an empty one. */
struct errands {
	struct errand *now;			/* NULL: none yet */
	struct errand *left[ERRANDS_LEFT];
	unsigned nr_left;
	uint64_t refuse_until;			/* of the monotonic clock */
};

/*
 * Be ready for a call. *bytes_ret gets ERRAND_BYTES that it may use. ERR_BUSY: too many are left,
 * or one was given up just now.
 */
struct err *errands_ready(struct errands *errands, uint8_t **bytes_ret) MUST_CHECK;
/*
 * Make the system call nr about the descriptor arg[0], the same for all calls. *ret is what the
 * kernel returns: an error is a negative number. ERR_TIMEOUT: it has waited for more than `within`
 * nanoseconds, and was given up; the bytes must not be used any more. (One that does not wait, but
 * is short of a processor, gets up to two seconds more.)
 */
struct err *errands_call(struct errands *errands, uint64_t within, long *ret, long nr,
			 const long arg[6]) MUST_CHECK;
/* End the process, unless one is at work: the next call has one that knows new descriptors. */
void errands_end_idle(struct errands *errands);
/* Refuse calls for a while, as after one that was given up. */
void errands_refuse(struct errands *errands);
/* The process that has made the last call. */
pid_t errands_pid(const struct errands *errands);
void errands_free(struct errands *errands);
