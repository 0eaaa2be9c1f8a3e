/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory of the buffers of a process's sockets: it is the kernel's, in no mapping, and counts against
 * the limit of the process's group. The kernel tells it of each socket of a network namespace, for TCP,
 * UDP and Unix sockets (sock_diag(7)); anybody may ask. mdbg is answered about its own namespace, so of
 * a process in another one nothing is known.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "os/held_files.h"

/*
 * Find the bytes of each socket of the process: what was received and not read, what is to be sent or
 * acknowledged, and what the kernel has put aside for it. What it does not tell stays
 * SOCKET_MEMORY_UNKNOWN. ERR_UNSUPPORTED: the process has another namespace, or the kernel no sock_diag.
 */
struct err *socket_memory_find(pid_t pid, struct held_files *files) MUST_CHECK;
