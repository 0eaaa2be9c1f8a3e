/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens memory files of another process (memfd.h). */

#include "os/memfd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "os/file.h"
#include "os/procfs.h"

struct file_id file_id_of(const struct stat *stat)
{
	return (struct file_id){ .inode = stat->st_ino, .dev_major = major(stat->st_dev),
				 .dev_minor = minor(stat->st_dev) };
}

struct file_id file_id_of_map(const struct proc_map *map)
{
	return (struct file_id){ .inode = map->inode, .dev_major = map->dev_major,
				 .dev_minor = map->dev_minor };
}

bool file_id_same(const struct file_id *a, const struct file_id *b)
{
	return a->inode && a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor;
}

/*
 * All memory files are in one internal file system of the kernel, where nobody can create any by a
 * path.
 */
static bool lies_with_memfds(dev_t dev)
{
	AUTO_CLOSE int fd = memfd_create("", MFD_CLOEXEC);
	struct stat own;

	return fd >= 0 && !fstat(fd, &own) && own.st_dev == dev;
}

static bool has_name(int fd, const char *name)
{
	char path[32], link[64], wanted[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	snprintf(wanted, sizeof(wanted), "/memfd:%s (deleted)", name);
	return file_link(AT_FDCWD, path, link, sizeof(link)) && !strcmp(link, wanted);
}

struct err *memfd_look(const char *path, const char *name, int *fd_ret, struct stat *ret)
{
	AUTO_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0 || fstat(fd, ret))
		return err_sys("%s", path);
	if (!S_ISREG(ret->st_mode) || !lies_with_memfds(ret->st_dev) || !has_name(fd, name))
		return err_create(ERR_BUSY, "%s does not lead to a memory file \"%s\"", path, name);
	*fd_ret = take_fd(fd);
	return NULL;
}

struct err *memfd_open(int path_fd, int *fd_ret)
{
	int fd = file_open_again(path_fd, O_RDWR);

	if (fd < 0)
		return err_sys("open the log's file");
	*fd_ret = fd;
	return NULL;
}

struct err *memfd_check_sealed(int fd, uint64_t size, int seals)
{
	int has = fcntl(fd, F_GET_SEALS);
	struct stat stat;

	/* The size is read after the seals: a sealed file does not change its size any more. */
	if (has < 0 || fstat(fd, &stat))
		return err_sys("look at the log's file");
	if ((has & seals) != seals)
		return err_create(ERR_BUSY, "the size of the log's file can be changed");
	if ((uint64_t)stat.st_size != size)
		return err_create(ERR_BUSY, "the log's file has not the size that it was given");
	return NULL;
}
