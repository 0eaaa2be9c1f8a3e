/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of a process that is neither traced nor a child. A pidfd becomes readable then. As long
 * as the process is a zombie, /proc/PID/stat has its exit status, for those with the right to see
 * it; after that Linux 6.15 and later knows it (PIDFD_GET_INFO).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* Open a pidfd, which is the caller's. ERR_GONE; ERR_SYS before Linux 5.3. */
struct err *pidfd_open_process(pid_t pid, int *ret) MUST_CHECK;
/*
 * Does this very process still have its id? It has from its start until its end was reaped. So what
 * was looked up by the id since the descriptor was opened is of this process.
 */
bool pidfd_keeps_id(int fd);
/* Send a signal to this very process, even if its id has been given to another. ERR_GONE. */
struct err *pidfd_kill(int fd, int signal) MUST_CHECK;
/*
 * Has the process ended, with all its threads? If so, *known_ret says whether *status_ret is set to
 * its status, in the form of waitpid.
 */
bool pidfd_ended(int fd, pid_t pid, int *status_ret, bool *known_ret);
