/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tells files whose pages this machine itself delivers from those of which somebody else is asked:
 * a process (FUSE), another machine (NFS, SMB, 9P), a device. A reader waits for those as long as
 * they like, and in a way that not even SIGKILL ends.
 *
 * It is told by the number of the device, which /proc/PID/maps has, and the file system that is
 * mounted with that number, by /proc/PID/mountinfo: nothing is opened or asked of the file system
 * itself, since open(), stat() and statfs() of FUSE and NFS wait, too. Only file systems that are
 * known to be local count; the rest, and what is mounted nowhere that can be seen, does not.
 *
 * Numbers are used again once a file system is gone. The kernel tells by poll(2) that something was
 * mounted or unmounted since; then all is read again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

enum file_place {
	FILE_UNKNOWN,		/* of a device, another machine, a FUSE server, or not known */
	FILE_LOCAL,
	/*
	 * overlayfs: local if what lies below it is, which is not known. One that mdbg itself sees
	 * was mounted by whoever runs the machine, and is local; a user can mount others, over FUSE.
	 */
	FILE_LAYERED,
};

struct local_device {
	uint64_t mount;			/* its number in mountinfo; 0: of the kernel's own */
	uint32_t major, minor;
	enum file_place place;
};

struct local_files {
	int fd[2];		/* mountinfo of the process, and of mdbg; -1: not read yet */
	VEC(struct local_device) vec;
};

#define LOCAL_FILES_INIT	{ .fd = { -1, -1 } }

struct proc_map;

/*
 * Is it a device by its name? A container has its device files in a tmpfs. (Memory without a file
 * that is called so is deleted.)
 */
bool local_files_is_device(const struct proc_map *map);
/*
 * The place of a file as tid sees it. This never fails: what cannot be found out is FILE_UNKNOWN.
 */
enum file_place local_files_place(struct local_files *files, pid_t tid, uint32_t dev_major,
				  uint32_t dev_minor);
/*
 * The same for a mount, by its number; 0 is none. local_files_place must have been called before.
 */
enum file_place local_files_mounted(const struct local_files *files, uint64_t mount);
void local_files_free(struct local_files *files);

/* The place of a file system of this name (proc(5), /proc/PID/mountinfo). */
enum file_place local_files_type(const char *type, size_t len);
