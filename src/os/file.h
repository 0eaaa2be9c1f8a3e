/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens files whose names, or whose contents, somebody else has chosen. No other code opens such
 * files.
 *
 * A name may lead anywhere: to a FIFO, whose open() waits for a writer, or to a device, whose
 * open() already has an effect. So a file is first examined through an O_PATH descriptor, which
 * opens nothing. Only a regular file is then opened, through that descriptor, so that it is the
 * same file, and without blocking (because of leases). A file that a FUSE server or another machine
 * delivers is copied (os/far_file.h), so that whoever reads it never waits for them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

/*
 * Open for reading the file that path_fd refers to, an O_PATH descriptor that stays the caller's.
 * ERR_FORMAT: no regular file; ERR_RANGE: longer than most bytes.
 */
struct err *file_reopen(int path_fd, uint64_t most, struct stat *st_ret, int *fd_ret) MUST_CHECK;
/* The same of a file that the user has named: mdbg waits for it, wherever it lies. */
struct err *file_reopen_named(int path_fd, uint64_t most, struct stat *st_ret,
			      int *fd_ret) MUST_CHECK;
/*
 * Open path. Links and `..` stay below root_fd; AT_FDCWD: as mdbg itself sees it. Returns -1, and
 * errno, if that fails. A path that somebody else has chosen is opened with O_PATH or O_DIRECTORY.
 */
int file_open_below(int root_fd, const char *path, int flags);
/*
 * Open the regular file at path, which is looked up in the same way. With nofollow a symbolic link
 * at the end of the path is no regular file.
 */
struct err *file_open(int root_fd, const char *path, bool nofollow, uint64_t most,
		      int *fd_ret) MUST_CHECK;

/*
 * Read the number behind key, which is at the start of a line of one of the kernel's text files;
 * with "" as the key, the first number of the file. An octal number begins with 0. False: there is
 * no such number, or no such file.
 */
bool file_number(const char *path, const char *key, uint64_t *ret);

/* Read a link, cut to room bytes. False: it cannot be read. */
bool file_link(int dir_fd, const char *name, char *ret, size_t room);

/* Open the file of an O_PATH descriptor. On failure -1 and errno. */
int file_open_again(int path_fd, int flags);
