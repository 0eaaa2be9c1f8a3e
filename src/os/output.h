/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The files that mdbg writes to because the user named them. Each output comes by here: exports,
 * `> FILE`, `>> FILE`, mdbg's own trace.
 *
 * A name in a folder that others may write to is refused if somebody else has planted what it leads
 * to (os/trust.h). No open waits: a FIFO that nobody reads is an error, since nobody knows whether
 * a reader will come.
 */
#pragma once

#include "base/err.h"
#include "os/path_walk.h"

/*
 * Find the file at path, without opening it. It may be there and may be anything but a folder, a
 * block device or a socket (ERR_USAGE); or there is none yet. The messages do not name the path.
 */
struct err *output_find(const char *path, struct path_end *ret) MUST_CHECK;
/* Open what was found, without waiting. A FIFO that nobody reads is ERR_USAGE. */
struct err *output_open_found(const struct path_end *end, int flags, int *fd_ret) MUST_CHECK;
/*
 * Open path for writing; a file that is not there is made. flags: O_APPEND or O_TRUNC. Errors as
 * above.
 */
struct err *output_open(const char *path, int flags, mode_t mode, int *fd_ret) MUST_CHECK;
