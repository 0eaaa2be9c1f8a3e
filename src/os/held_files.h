/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory that a process has by descriptors, and its sockets: memory files (memfd_create(2)), and files of tmpfs that
 * were deleted. It is in no mapping's figures unless it is mapped, and counts against the limit of
 * its group all the same. Nothing is opened; the file systems answer from what they have
 * (AT_STATX_DONT_SYNC).
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"
#include "os/memfd.h"

struct held_file {
	struct file_id id;
	uint64_t bytes;		/* that it has in memory or swapped out */
	uint64_t mapped;	/* for the caller; 0 */
	int fd;			/* the lowest descriptor in the process */
	char name[64];		/* as the kernel has it, cut off; text from outside */
};

#define SOCKET_MEMORY_UNKNOWN	UINT64_MAX

struct held_socket {
	uint64_t inode;
	uint64_t bytes;		/* os/machine/socket_memory.h; SOCKET_MEMORY_UNKNOWN at first */
	int fd;			/* the lowest descriptor in the process */
};

struct held_files {
	VEC(struct held_file) vec;	/* each file once, in order of its numbers */
	VEC(struct held_socket) sockets;	/* each once, in order of its inode */
	bool cut;			/* the process has more descriptors than were looked at */
};

#define HELD_FILES_INIT	{ .vec = VEC_INIT, .sockets = VEC_INIT }

/* Look at `most` descriptors at most. ERR_PERM, ERR_GONE. */
struct err *held_files_find(pid_t pid, unsigned most, struct held_files *ret) MUST_CHECK;
void held_files_free(struct held_files *files);
