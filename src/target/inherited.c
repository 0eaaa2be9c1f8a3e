/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding forked children by the journal that they have mapped (inherited.h). */

#include "target/inherited.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "log/journal.h"
#include "os/procfs.h"
#include "target/region.h"
#include "target/target.h"

uint64_t inherited_file(const struct region *region)
{
	struct stat stat;

	return fstat(region->fd, &stat) ? 0 : stat.st_ino;
}

/* As a target has it mapped: an mdbg has the log in the same mapping. */
static bool is_journal(const struct proc_map *map)
{
	return !map->offset && map->end - map->start == JOURNAL_SIZE &&
	       !strcmp(map->path, JOURNAL_MEMFD_PATH);
}

static bool is_its_own(struct target *target, const struct proc_map *map)
{
	struct journal journal;

	return is_journal(map) &&
	       !memory_read(&target->mem.memory, map->start, &journal, sizeof(journal)) &&
	       journal.target_start == target->start_time;
}

uint64_t inherited_file_left(struct target *target)
{
	struct proc_maps maps = { VEC_INIT };
	uint64_t inode = 0;

	if (procfs_maps(target->mem.tid, &maps))
		return 0;
	for (size_t i = 0; i < maps.vec.nr && !inode; i++)
		if (is_its_own(target, &maps.vec.at[i]))
			inode = maps.vec.at[i].inode;
	proc_maps_free(&maps);
	return inode;
}

bool inherited_by(pid_t pid, uint64_t inode)
{
	struct proc_maps maps = { VEC_INIT };
	bool found = false;

	if (procfs_maps(pid, &maps))
		return false;
	for (size_t i = 0; i < maps.vec.nr && !found; i++)
		found = maps.vec.at[i].inode == inode && is_journal(&maps.vec.at[i]);
	proc_maps_free(&maps);
	return found;
}

static bool is_sharer(const struct target *target, pid_t pid)
{
	return pid == target->pid || target_thread(target, pid) ||
	       (!target->ended && target_shares(target, pid));
}

struct err *inherited_find(const struct target *target, uint64_t inode, struct inherited *ret)
{
	struct inherited found = { VEC_INIT };
	struct dirent *dirent;
	struct err *err = NULL;
	DIR *dir = opendir("/proc");

	if (!dir)
		return err_sys("open /proc");
	while (!err && (dirent = readdir(dir))) {
		pid_t pid = (pid_t)atoi(dirent->d_name);

		if (pid > 0 && inherited_by(pid, inode) && !is_sharer(target, pid))
			err = vec_push(&found.vec, pid);
	}
	closedir(dir);
	if (err)
		vec_free(&found.vec);
	else
		*ret = found;
	return err;
}
