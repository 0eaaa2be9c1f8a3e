/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory behind descriptors (held_files.h). */

#include "os/held_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "os/file.h"
#include "os/procfs.h"

struct search {
	pid_t pid;
	char *mounts;		/* mountinfo of the process; NULL: not read yet */
	struct held_files files;
};

/* Is a file system with these numbers mounted as tmpfs, as the process sees it? */
static bool is_tmpfs(struct search *search, const struct file_id *id)
{
	char device[48];

	if (!search->mounts && procfs_file(search->pid, "mountinfo", &search->mounts, NULL))
		return false;
	snprintf(device, sizeof(device), " %u:%u ", id->dev_major, id->dev_minor);
	for (const char *line = search->mounts; *line;) {
		size_t len = strcspn(line, "\n");
		const char *at = memmem(line, len, device, strlen(device));

		if (at && memmem(at, len - (size_t)(at - line), " - tmpfs ", 9))
			return true;
		line += len + (line[len] == '\n');
	}
	return false;
}

/* "socket:[INODE]" */
static struct err *note_socket(struct search *search, int number, const char *link)
{
	struct held_socket is = { .bytes = SOCKET_MEMORY_UNKNOWN, .fd = number };

	return sscanf(link, "socket:[%" SCNu64 "]", &is.inode) == 1 ?
	       vec_push(&search->files.sockets, is) : NULL;
}

static struct err *look(struct search *search, int number)
{
	struct held_file file = { .fd = number };
	char path[64], link[4096];
	struct statx stx;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", search->pid, number);
	if (!file_link(AT_FDCWD, path, link, sizeof(link)))
		return NULL;
	if (!strncmp(link, "socket:", 7))
		return note_socket(search, number, link);
	if (!path_cut_deleted(link) ||
	    statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO | STATX_BLOCKS, &stx) ||
	    !stx.stx_blocks)
		return NULL;
	file.id = (struct file_id){ stx.stx_ino, stx.stx_dev_major, stx.stx_dev_minor };
	file.bytes = stx.stx_blocks * 512;
	if (stx.stx_dev_major || (strncmp(link, "/memfd:", 7) && !is_tmpfs(search, &file.id)))
		return NULL;
	snprintf(file.name, sizeof(file.name), "%.*s", (int)sizeof(file.name) - 1, link);
	return vec_push(&search->files.vec, file);
}

/* One order or another, in which the same file is its own neighbour. */
static int by_id(const void *a, const void *b)
{
	return memcmp(&((const struct held_file *)a)->id, &((const struct held_file *)b)->id,
		      sizeof(struct file_id));
}

/* Several descriptors may have one file: it counts once, under the lowest of them. */
static void drop_doubles(struct held_files *files)
{
	size_t nr = 0;

	vec_sort(&files->vec, by_id);
	vec_each(file, &files->vec) {
		struct held_file *last = nr ? &files->vec.at[nr - 1] : NULL;

		if (last && file_id_same(&last->id, &file->id))
			last->fd = MIN(last->fd, file->fd);
		else
			files->vec.at[nr++] = *file;
	}
	files->vec.nr = nr;
}

COMPARE_BY(by_inode, struct held_socket, is, is->inode)

static void drop_double_sockets(struct held_files *files)
{
	size_t nr = 0;

	vec_sort(&files->sockets, by_inode);
	vec_each(is, &files->sockets) {
		struct held_socket *last = nr ? &files->sockets.at[nr - 1] : NULL;

		if (last && last->inode == is->inode)
			last->fd = MIN(last->fd, is->fd);
		else
			files->sockets.at[nr++] = *is;
	}
	files->sockets.nr = nr;
}

struct err *held_files_find(pid_t pid, unsigned most, struct held_files *ret)
{
	struct search search = { .pid = pid, .files = HELD_FILES_INIT };
	struct proc_tasks numbers = { VEC_INIT };
	char path[64];
	struct err *err;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	err = procfs_numbers(path, &numbers);
	search.files.cut = numbers.vec.nr > most;
	for (size_t i = 0; !err && i < MIN(numbers.vec.nr, (size_t)most); i++)
		err = look(&search, numbers.vec.at[i]);
	vec_free(&numbers.vec);
	free(search.mounts);
	if (err) {
		held_files_free(&search.files);
		return err;
	}
	drop_doubles(&search.files);
	drop_double_sockets(&search.files);
	*ret = search.files;
	return NULL;
}

void held_files_free(struct held_files *files)
{
	vec_free(&files->vec);
	vec_free(&files->sockets);
}
