/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Segments of System V shared memory (sysv_shm.h). */

#include "os/sysv_shm.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/shm.h>
#include <sys/stat.h>

static bool shares_ids(pid_t pid)
{
	struct stat own, other;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/ipc", pid);
	return !stat("/proc/self/ns/ipc", &own) && !stat(path, &other) &&
	       own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

uint64_t sysv_shm_size(pid_t pid, uint32_t id)
{
	struct shmid_ds segment;

	if (!shares_ids(pid) || shmctl((int)id, IPC_STAT, &segment))
		return 0;
	return segment.shm_segsz;
}
