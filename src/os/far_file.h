/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files for which somebody else may have to be asked: a FUSE server, another machine. Whoever opens
 * or reads one may wait for ever, in a way that no signal ends. So a path of a target's choice is
 * looked up, and such a file is read, by errands (os/errand.h). What mdbg gets is a copy in memory,
 * which libelf and libdw may read as they like.
 *
 * Ctrl-C ends a copy. The errands are the process's own, as is what is known of its mounts: a file
 * system that does not answer is not asked again at once, whoever asks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

struct open_how;

#define FAR_FILE_MOST	(512u << 20)	/* longer files are not copied */

/*
 * May somebody else have to be asked for what is in the file? path_fd may be an O_PATH descriptor;
 * nobody is asked to find out.
 */
bool far_file_is(int path_fd);
/*
 * Copy the regular file of an O_PATH descriptor, which stays the caller's. *st_ret has its device,
 * inode, mode, owner, size and time of change. ERR_FORMAT: no regular file; ERR_RANGE: longer than
 * most bytes, or than FAR_FILE_MOST; ERR_TIMEOUT, ERR_BUSY: its file system does not answer;
 * ERR_CANCELLED.
 */
struct err *far_file_copy(int path_fd, uint64_t most, struct stat *st_ret, int *fd_ret) MUST_CHECK;
/* openat2(2). Returns -1 and errno; ETIMEDOUT: a file system on the way does not answer. */
int far_file_look(int dir_fd, const char *path, const struct open_how *how);
