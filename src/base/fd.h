/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading from descriptors, and descriptors that are kept for long: those of modules and of files
 * with symbols, of which there may be any number. They get numbers from FD_KEPT on, so that the
 * numbers below are left for files that are opened for a moment: without any, mdbg could not even
 * stop its target to take its probes out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define FD_KEPT	48

/* Returns a copy of fd to be kept; -1 and errno on failure: EMFILE if there may be no more. */
int fd_keep(int fd);
/*
 * Read at an offset until len bytes have been read, the file ends (errno is 0 then), or it cannot
 * be read. Returns the number of bytes read.
 */
size_t fd_read_at(int fd, uint64_t offset, void *buf, size_t len);
/* Does err say that there are no more descriptors? */
bool fd_lacking(const struct err *err);
