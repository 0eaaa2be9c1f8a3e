/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tells memory files of an earlier mdbg from the program's own (previous_file.h). */

#include "tracee/previous/previous_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "log/log.h"
#include "os/file.h"
#include "tracee/region.h"
#include "tracee/target.h"

#define LARGE_FILE	0100000u	/* the kernel's O_LARGEFILE, which all have */
#define SEAL_EXEC	0x20		/* of Linux 6.3: vm.memfd_noexec sets it */

static bool is_open_as_made(const struct previous_file *file)
{
	return (file->flags & ~LARGE_FILE) == (O_RDWR | O_CLOEXEC) && !file->position;
}

bool previous_file_is_begun(const struct previous_file *file)
{
	return file->journal && is_open_as_made(file);
}

bool previous_file_is_unbegun(const struct previous_file *file)
{
	int seals = file->seals & ~SEAL_EXEC;

	if (!is_open_as_made(file) || file->memory || file->nr_maps > 1 ||
	    (file->nr_maps && !file->maps_journal))
		return false;
	if (!file->size)
		return !seals && !file->changed;
	return file->nr_maps && file->size >= LOG_REGION_MIN && !(file->size % PAGE) &&
	       (!seals || seals == REGION_SEALS);
}

/* Without opening anything. False: it is gone, or may not be seen. */
static bool read_descriptor(pid_t tid, int fd, struct previous_file *ret)
{
	AUTO_FREE char *text = NULL;
	char name[32];

	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	return !procfs_file(tid, name, &text, NULL) &&
	       sscanf(text, "pos: %" SCNu64 " flags: %" SCNo32, &ret->position,
		      &ret->flags) == 2;
}

static void read_maps(const struct proc_maps *maps, const struct file_id *id,
		      struct previous_file *ret)
{
	ret->maps_journal = true;
	vec_each(map, &maps->vec) {
		struct file_id mapped = file_id_of_map(map);

		if (!file_id_same(&mapped, id))
			continue;
		ret->nr_maps++;
		ret->maps_journal &= undo_is_journal(map);
	}
}

static bool same_time(const struct statx_timestamp *a, const struct statx_timestamp *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Of an O_PATH descriptor. Where it is not known when a file was made, no change is seen. */
static bool is_changed(int path_fd)
{
	struct statx st;

	return !statx(path_fd, "", AT_EMPTY_PATH, STATX_BTIME | STATX_MTIME, &st) &&
	       (st.stx_mask & STATX_BTIME) && !same_time(&st.stx_btime, &st.stx_mtime);
}

static bool read_content(int path_fd, struct previous_file *ret)
{
	AUTO_CLOSE int fd = file_open_again(path_fd, O_RDONLY | O_NONBLOCK);
	char magic[sizeof(JOURNAL_MAGIC) - 1];

	if (fd < 0)
		return false;
	ret->seals = fcntl(fd, F_GET_SEALS);
	ret->journal = pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
		       !memcmp(magic, JOURNAL_MAGIC, sizeof(magic));
	return ret->seals >= 0;
}

bool previous_file_has_journal(struct target *target, const struct proc_map *map)
{
	struct previous_file file = { .journal = false };
	char path[96], magic[sizeof(JOURNAL_MAGIC) - 1];
	AUTO_CLOSE int path_fd = -1;
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, target->mem.tid,
		 map->start, map->end);
	/* This needs privilege. */
	if (!memfd_look(path, JOURNAL_MEMFD_NAME, &path_fd, &st) && read_content(path_fd, &file))
		return file.journal;
	return !memory_read(&target->mem.bring, map->start, magic, sizeof(magic)) &&
	       !memcmp(magic, JOURNAL_MAGIC, sizeof(magic));
}

/* A file of another user was handed to the target and is its own. */
static bool may_be_ours(const struct proc_maps *maps, const struct identity *identity,
			const struct stat *st)
{
	struct file_id id = file_id_of(st);

	return !st->st_nlink && !previous_journal_is_a_view(maps, &id) &&
	       (!st->st_uid || identity_has_uid(identity, st->st_uid));
}

/* id, if not NULL, is the file that it must be of. False: it is none that an mdbg has left. */
static bool look_at(pid_t tid, int fd, const struct proc_maps *maps,
		    const struct identity *identity, const struct file_id *id,
		    struct previous_file *ret)
{
	AUTO_CLOSE int path_fd = -1;
	char path[48], link[64];
	struct file_id found;
	struct stat st;

	*ret = (struct previous_file){ .size = 0 };
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", tid, fd);
	if (!file_link(AT_FDCWD, path, link, sizeof(link)) ||
	    strcmp(link, JOURNAL_MEMFD_PATH " (deleted)") ||
	    memfd_look(path, JOURNAL_MEMFD_NAME, &path_fd, &st) ||
	    !may_be_ours(maps, identity, &st) || !read_descriptor(tid, fd, ret) ||
	    !is_open_as_made(ret))
		return false;
	found = file_id_of(&st);
	ret->size = (uint64_t)st.st_size;
	ret->memory = (uint64_t)st.st_blocks * 512;
	ret->changed = is_changed(path_fd);
	read_maps(maps, &found, ret);
	return (!id || file_id_same(&found, id)) && read_content(path_fd, ret);
}

static int find(const struct target *target, const struct proc_maps *maps, const struct file_id *id,
		bool (*wanted)(const struct previous_file *file))
{
	pid_t tid = target->mem.tid;
	struct previous_file file;
	struct identity identity;
	struct proc_tasks fds;
	char path[32];
	int found = -1;

	snprintf(path, sizeof(path), "/proc/%d/fd", tid);
	if (identity_read(tid, &identity) || procfs_numbers(path, &fds))
		return -1;
	vec_each_while(fd, &fds.vec, found < 0)
		if (look_at(tid, *fd, maps, &identity, id, &file) && wanted(&file))
			found = *fd;
	vec_free(&fds.vec);
	return found;
}

static bool is_ours(const struct previous_file *file)
{
	return previous_file_is_begun(file) || previous_file_is_unbegun(file);
}

int previous_file_find(const struct target *target, const struct proc_maps *maps)
{
	return find(target, maps, NULL, is_ours);
}

bool previous_file_maps_unbegun(const struct target *target, const struct proc_maps *maps,
				const struct proc_map *map)
{
	struct file_id id = file_id_of_map(map);

	return undo_is_journal(map) && find(target, maps, &id, previous_file_is_unbegun) >= 0;
}
