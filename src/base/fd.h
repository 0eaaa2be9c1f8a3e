/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading from descriptors, and those that are kept for long: of modules, of files with symbols.
 * There may be as many as there are. They have numbers from FD_KEPT on, so that those below are
 * left for what is opened for a moment: without any, mdbg could not even stop its target to take
 * its probes out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define FD_KEPT	48

/* A copy of fd to be kept, -1 and errno: EMFILE where there may be no more. */
int fd_keep(int fd);
/*
 * Read at an offset until len bytes are there, or the file ends (errno is 0 then), or it cannot be
 * read. Returns how many there are.
 */
size_t fd_read_at(int fd, uint64_t offset, void *buf, size_t len);
/* Is err a lack of descriptors? */
bool fd_lacking(const struct err *err);
