/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * May a process be forked for a snapshot without harm to it?
 *
 *	memory		Each page that it writes while the snapshot lives is copied, on its account.
 *			There must be room for all of it to be written: in its control groups, and in
 *			the machine. Where memory is never overcommitted what the fork reserves would
 *			be missing when the process itself asks for some.
 *	tasks		The child counts (os/task_limits.h): one that is about to use up its limit
 *			must not be kept from it.
 *	direct I/O	A device that writes into a page while a fork shares it may write into the copy
 *			that the process loses (open(2), O_DIRECT: "should never be run concurrently
 *			with the fork(2) system call"). So with a descriptor that is open for it, io_uring,
 *			or one of a driver that is known to have memory pinned, there is no snapshot,
 *			though newer kernels know better.
 *	huge pages	of hugetlbfs are a pool. The process that writes to a private one after a fork
 *			needs a second one: if the pool is empty, and it has reserved none
 *			(MAP_NORESERVE), it gets a SIGBUS.
 *	userfaultfd	Its owner may have asked to hear of forks, and the fork waits until he has.
 *	memory that is not forked	must be read in the stop, as must be what is shared: if it is too much
 *			for that, there is none either.
 */
#pragma once

#include "os/smaps.h"

/* The most bytes that may have to be read in the stop. */
#define FORKABLE_COPY_MAX	(32ull << 20)

/*
 * ERR_UNSUPPORTED: it may not be forked; the message says why. *ret has its smaps; free them with
 * smaps_free. Needs no stop, and may take a tenth of a second.
 */
struct err *forkable_check(pid_t pid, struct smaps *ret) MUST_CHECK;
