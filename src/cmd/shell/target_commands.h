/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All that must be done before and after a session's own attach and detach. */
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
/*
 * Open recordings as one view, each DIR or DIR@TIME; one of them at most says where the cursor is to
 * be.
 */
struct err *target_command_open_recordings(struct shell *shell, const char *const *names,
					   size_t nr) MUST_CHECK;
/*
 * Split DIR@TIME, in place; a folder may have such a name itself. *time_ret, 0 before, gets the time if
 * there is one; if it is none, the folder stands alone all the same.
 */
struct err *target_command_split_recording(char *name, uint64_t *time_ret) MUST_CHECK;
struct err *target_command_run(struct shell *shell, char *const *argv) MUST_CHECK;
/*
 * "1234", or the name of one process. ERR_USAGE for a number that is no process id, ERR_NOTFOUND
 * if no process has the name, ERR_ATTACH if several have it.
 */
struct err *target_command_find_pid(const char *text, pid_t *ret) MUST_CHECK;
#define WAIT_FOREVER	UINT64_MAX

/*
 * Serve events until done returns true (NULL: never). done is called after each event and every 50
 * ms, and may end the wait with an error. ERR_TIMEOUT after ns (done is called once more then),
 * ERR_CANCELLED after Ctrl-C or a signal that ends mdbg.
 */
struct err *target_command_wait(struct shell *shell, uint64_t ns,
				bool (*done)(void *ctx, struct err **err_ret), void *ctx) MUST_CHECK;

/*
 * Serve events until the target has ended or mdbg has detached. ERR_TIMEOUT after ns (UINT64_MAX:
 * never), ERR_CANCELLED after Ctrl-C.
 */
struct err *target_command_wait_end(struct shell *shell, uint64_t ns) MUST_CHECK;
