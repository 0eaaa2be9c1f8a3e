/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of a process that is neither traced nor a child. A pidfd becomes readable then; how it
 * ended stands in /proc/PID/stat as long as it is a zombie (with the right to see it), after that
 * it is known to Linux 6.15 and later (PIDFD_GET_INFO).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* ERR_GONE; ERR_SYS before Linux 5.3. The descriptor is the caller's. */
struct err *pidfd_open_process(pid_t pid, int *ret) MUST_CHECK;
/* To this process, whoever else has its id by now. ERR_GONE. */
struct err *pidfd_kill(int fd, int signal) MUST_CHECK;
/*
 * Has it ended, with all its threads? Then *known_ret says whether *status_ret is how, in the form
 * of waitpid.
 */
bool pidfd_ended(int fd, pid_t pid, int *status_ret, bool *known_ret);
