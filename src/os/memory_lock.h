/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is the lock of another process's memory to be had?
 *
 * Whoever looks at a process's mappings, page tables or bytes takes the kernel's lock of them
 * (mmap_lock) for reading. A thread that waits in it for a page of a FUSE server, or of another
 * machine, keeps it, and so does who reads such a page through /proc/PID/mem. As soon as somebody
 * else wants it for writing (mmap, fork), all that come later wait behind him, and only SIGKILL ends
 * the wait: `ps` hangs. So mdbg asks by an errand (os/errand.h) before it begins with a process, and
 * in each stop in which a thread cannot be stopped.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* ERR_TIMEOUT: somebody has kept it for a second. NULL also if it cannot be asked for. */
struct err *memory_lock_check(pid_t tid) MUST_CHECK;
