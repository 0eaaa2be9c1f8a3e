/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory files (memfd_create(2)) of another process, opened by a link of its /proc. That process
 * chooses what such a link leads to. So it is examined through an O_PATH descriptor, which opens
 * nothing, and must be a memory file of the expected name before it is opened.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

struct proc_map;

/* The numbers of a file as /proc/PID/maps has them. */
struct file_id {
	uint64_t inode;		/* 0: none */
	uint32_t dev_major, dev_minor;
};

struct file_id file_id_of(const struct stat *stat);
struct file_id file_id_of_map(const struct proc_map *map);
bool file_id_same(const struct file_id *a, const struct file_id *b);

/*
 * Examine the file that path, a link of /proc, leads to, without opening it. *fd_ret is an O_PATH
 * descriptor. ERR_BUSY: it is no memory file of that name.
 */
struct err *memfd_look(const char *path, const char *name, int *fd_ret,
		       struct stat *ret) MUST_CHECK;
/* Open the file of an O_PATH descriptor for reading and writing. */
struct err *memfd_open(int path_fd, int *fd_ret) MUST_CHECK;
/*
 * Lock the file of a descriptor, which is opened anew for that, until *fd_ret is closed, or the process ends, however it
 * ends. The lock belongs to the open file (F_OFD_SETLK), which is none that is mapped: a mapping
 * would keep it. It is seen from all PID namespaces. ERR_BUSY: somebody else has it.
 */
struct err *memfd_lock(int of_fd, int *fd_ret) MUST_CHECK;
/*
 * Has anybody locked this file in this way? The file is not opened, and no right is needed:
 * /proc/locks tells it. ERR_SYS, ERR_GONE and others: that cannot be read.
 */
struct err *memfd_is_locked(const struct file_id *file, bool *ret) MUST_CHECK;
/*
 * Check that the file has exactly this size, and at least these seals (fcntl(2)), so that it keeps
 * the size. ERR_BUSY otherwise.
 */
struct err *memfd_check_sealed(int fd, uint64_t size, int seals) MUST_CHECK;
