/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens files that somebody else has chosen (theory in file.h). */

#include "os/file.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "os/far_file.h"

int file_open_again(int path_fd, int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	return open(path, flags | O_CLOEXEC);
}

struct err *file_reopen_named(int path_fd, uint64_t most, struct stat *st_ret, int *fd_ret)
{
	AUTO_CLOSE int fd = -1;
	struct stat looked_at;

	if (fstat(path_fd, &looked_at))
		return err_sys("fstat");
	if (!S_ISREG(looked_at.st_mode))
		return err_create(ERR_FORMAT, "not a regular file");
	fd = file_open_again(path_fd, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_sys("open");
	if (fstat(fd, st_ret))
		return err_sys("fstat");
	if (st_ret->st_dev != looked_at.st_dev || st_ret->st_ino != looked_at.st_ino)
		return err_create(ERR_FORMAT, "replaced by another file while it was opened");
	if ((uint64_t)st_ret->st_size > most)
		return limit_err("its length", "too many bytes", most);
	*fd_ret = take_fd(fd);
	return NULL;
}

struct err *file_reopen(int path_fd, uint64_t most, struct stat *st_ret, int *fd_ret)
{
	return far_file_is(path_fd) ? far_file_copy(path_fd, most, st_ret, fd_ret) :
				      file_reopen_named(path_fd, most, st_ret, fd_ret);
}

int file_open_below(int root_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	if (root_fd == AT_FDCWD)
		return open(path, flags | O_CLOEXEC);
	return far_file_look(root_fd, path, &how);
}

struct err *file_open(int root_fd, const char *path, bool nofollow, uint64_t most, int *fd_ret)
{
	AUTO_CLOSE int path_fd = file_open_below(root_fd, path,
						 O_PATH | (nofollow ? O_NOFOLLOW : 0));
	struct stat st;

	if (path_fd < 0)
		return err_sys("open");
	return file_reopen(path_fd, most, &st, fd_ret);
}

bool file_link(int dir_fd, const char *name, char *ret, size_t room)
{
	ssize_t len = readlinkat(dir_fd, name, ret, room - 1);

	ret[MAX(len, (ssize_t)0)] = '\0';
	return len >= 0;
}

bool file_number(const char *path, const char *key, uint64_t *ret)
{
	AUTO_FCLOSE FILE *file = fopen(path, "re");
	size_t len = strlen(key);
	char line[256], *end;

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, len))
			continue;
		*ret = strtoull(line + len, &end, 0);
		return end != line + len;
	}
	return false;
}
