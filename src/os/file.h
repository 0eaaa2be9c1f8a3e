/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files whose names, or whose contents, are somebody else's choice. All of them are opened here.
 *
 * A name may lead anywhere: to a FIFO, whose open() waits for a writer, or to a device, whose
 * open() already does something. So a file is first looked at through an O_PATH descriptor, which
 * opens nothing. Only a regular file is then opened, through that descriptor and so the very same
 * one, and without blocking (a lease).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

/*
 * Open for reading what path_fd, an O_PATH descriptor that stays the caller's, is of. ERR_FORMAT:
 * no regular file; ERR_RANGE: longer than most bytes.
 */
struct err *file_reopen(int path_fd, uint64_t most, struct stat *st_ret, int *fd_ret) MUST_CHECK;
/*
 * The file at path. With root_fd, links and `..` stay below that folder; AT_FDCWD: as mdbg itself
 * sees it. With nofollow a symbolic link at the end of the path is no regular file.
 */
struct err *file_open(int root_fd, const char *path, bool nofollow, uint64_t most,
		      int *fd_ret) MUST_CHECK;
/*
 * An O_PATH descriptor of the regular file that path names, which nobody but root and mdbg's own
 * user can write to, or put something else in the place of: each folder on the way and each
 * symbolic link's is looked at, too. ERR_PERM says who could; *fd_ret may be NULL.
 *
 * What may be believed is the file behind the descriptor, and a later open() of the same path.
 */
struct err *file_check_owned(const char *path, int *fd_ret) MUST_CHECK;
/* Can nobody but root and mdbg's own user write to this file? */
bool file_is_owned(const struct stat *st);

/*
 * The number behind key, at the start of a line of one of the kernel's text files; "": the first
 * number in it. An octal number begins with 0. False: there is none, or no such file.
 */
bool file_number(const char *path, const char *key, uint64_t *ret);

/* Read a link, cut to room bytes. False: it cannot be read. */
bool file_link(int dir_fd, const char *name, char *ret, size_t room);

/* Open what an O_PATH descriptor leads to: -1, and errno, if that fails. */
int file_open_again(int path_fd, int flags);
