/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The life of a target: all that must be done around a session's own attach and detach. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct shell;

struct err *target_command_attach(struct shell *shell, pid_t pid) MUST_CHECK;
/* exe may be NULL. */
struct err *target_command_open_core(struct shell *shell, const char *path,
				     const char *exe) MUST_CHECK;
struct err *target_command_run(struct shell *shell, char *const *argv) MUST_CHECK;
/*
 * "1234", or the name of one process. ERR_USAGE for a number that is no process id, ERR_NOTFOUND
 * if no process has the name, ERR_ATTACH if several have it.
 */
struct err *target_command_find_pid(const char *text, pid_t *ret) MUST_CHECK;
#define WAIT_FOREVER	UINT64_MAX

/*
 * Serve events until done (NULL: never) says so; it is asked after each event and every 50 ms, and
 * may end the wait with an error. ERR_TIMEOUT after ns (done is asked once more then),
 * ERR_CANCELLED after Ctrl-C or a signal that ends mdbg.
 */
struct err *waiting(struct shell *shell, uint64_t ns, bool (*done)(void *ctx, struct err **err_ret),
		    void *ctx) MUST_CHECK;

/*
 * Serve events until the target has ended or is let go; or until the time is over (ns, UINT64_MAX:
 * never): ERR_TIMEOUT, or Ctrl-C: ERR_CANCELLED.
 */
struct err *target_command_wait_end(struct shell *shell, uint64_t ns) MUST_CHECK;
