/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens memory files of another process (memfd.h). */

#include "os/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
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

struct err *memfd_lock(int of_fd, int *fd_ret)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	AUTO_CLOSE int fd = -1;
	struct err *err = memfd_open(of_fd, &fd);

	if (err)
		return err;
	if (!fcntl(fd, F_OFD_SETLK, &lock)) {
		*fd_ret = take_fd(fd);
		return NULL;
	}
	return errno == EAGAIN || errno == EACCES ?
		err_create(ERR_BUSY, "somebody else has locked the log's file") :
		err_sys("lock the log's file");
}

/* "1: OFDLCK ADVISORY  WRITE -1 00:01:1050 0 0"; who waits for it has "->" behind the number. */
static bool is_lock_of(const char *line, const struct file_id *file)
{
	struct file_id found;
	char type[8], access[8];

	return sscanf(line, "%*d: %7s %*s %7s %*d %" SCNx32 ":%" SCNx32 ":%" SCNu64, type, access,
		      &found.dev_major, &found.dev_minor, &found.inode) == 5 &&
	       !strcmp(type, "OFDLCK") && !strcmp(access, "WRITE") && file_id_same(&found, file);
}

struct err *memfd_is_locked(const struct file_id *file, bool *ret)
{
	AUTO_FCLOSE FILE *locks = fopen("/proc/locks", "re");
	char line[256];

	if (!locks)
		return err_sys("/proc/locks");
	*ret = false;
	while (!*ret && fgets(line, sizeof(line), locks))
		*ret = is_lock_of(line, file);
	return ferror(locks) ? err_sys("/proc/locks") : NULL;
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
