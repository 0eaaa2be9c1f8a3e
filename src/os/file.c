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

#define LINKS_MAX	40	/* as many symbolic links as the kernel follows */

int file_open_again(int path_fd, int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	return open(path, flags | O_CLOEXEC);
}

struct err *file_reopen(int path_fd, uint64_t most, struct stat *st_ret, int *fd_ret)
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

int file_open_below(int root_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	if (root_fd == AT_FDCWD)
		return open(path, flags | O_CLOEXEC);
	return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
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

/* Owners of files */

/* These users may do anything to mdbg anyway: root, and the user who runs it. */
static bool is_ours(const struct stat *st)
{
	return !st->st_uid || st->st_uid == geteuid();
}

bool file_is_owned(const struct stat *st)
{
	return is_ours(st) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static struct err *others_may(const char *path, const struct stat *st)
{
	struct err *err;

	if (!is_ours(st))
		err = err_create(ERR_PERM, "%s: it belongs to user %u", path, (unsigned)st->st_uid);
	else
		err = err_create(ERR_PERM, "%s: %s may write to it", path,
				 st->st_mode & S_IWOTH ? "others" : "its group");
	return err_hint(err, "make it your own, and run `chmod go-w %s`", path);
}

/* A walk along a path: the folder that it has reached, and the rest of the path. */
struct walk {
	int fd;
	unsigned links;
	char left[PATH_MAX], at[PATH_MAX];
};

/* Open the next name of the path and remove it from `left`. */
static struct err *step(struct walk *walk, int *fd_ret, struct stat *st)
{
	size_t slashes = strspn(walk->left, "/"), len = strcspn(walk->left + slashes, "/");
	char name[NAME_MAX + 1];
	int fd;

	if (len > NAME_MAX)
		return err_create(ERR_FORMAT, "a name of %zu bytes", len);
	snprintf(name, sizeof(name), "%.*s", (int)len, walk->left + slashes);
	memmove(walk->left, walk->left + slashes + len, strlen(walk->left + slashes + len) + 1);
	snprintf(walk->at, sizeof(walk->at), "%s", name);
	fd = openat(walk->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_sys("%s", name);
	if (fstat(fd, st)) {
		close(fd);
		return err_sys("%s", name);
	}
	*fd_ret = fd;
	return NULL;
}

/* Open the root, for a path that begins there. */
static struct err *enter(struct walk *walk, const char *path)
{
	int fd = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_sys("open");
	if (walk->fd >= 0)
		close(walk->fd);
	walk->fd = fd;
	return NULL;
}

static struct err *follow(struct walk *walk, int link_fd)
{
	char to[PATH_MAX], left[PATH_MAX];

	if (!file_link(link_fd, "", to, sizeof(to)))
		return err_sys("%s", walk->at);
	if (++walk->links > LINKS_MAX)
		return err_create(ERR_FORMAT, "too many symbolic links");
	snprintf(left, sizeof(left), "%s", walk->left);
	if ((size_t)snprintf(walk->left, sizeof(walk->left), "%s%s", to, left) >=
	    sizeof(walk->left))
		return err_create(ERR_FORMAT, "too long a path");
	return *to == '/' ? enter(walk, to) : NULL;
}

/* The folder must belong to root or us before its contents can be trusted. */
static struct err *check_folder(const struct walk *walk, const char *path)
{
	struct stat st;

	if (fstat(walk->fd, &st))
		return err_sys("%s", path);
	/* With the sticky bit others may create files, but not rename or remove ours. */
	if (file_is_owned(&st) || (is_ours(&st) && st.st_mode & S_ISVTX))
		return NULL;
	return err_wrap(others_may("its folder", &st), "%s", path);
}

/* Go one name further; *end_ret is true at the file. */
static struct err *advance(struct walk *walk, const char *path, bool *end_ret)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;
	struct err *err = check_folder(walk, path);

	if (!err)
		err = step(walk, &fd, &st);
	if (err)
		return err;
	if (S_ISLNK(st.st_mode))
		return is_ours(&st) ? follow(walk, fd) : others_may(path, &st);
	close(walk->fd);
	walk->fd = take_fd(fd);
	*end_ret = !walk->left[strspn(walk->left, "/")];
	return NULL;
}

static struct err *check_end(const struct walk *walk, const char *path)
{
	struct stat st;

	if (fstat(walk->fd, &st))
		return err_sys("%s", path);
	if (!S_ISREG(st.st_mode))
		return err_create(ERR_FORMAT, "%s: not a regular file", path);
	return file_is_owned(&st) ? NULL : others_may(path, &st);
}

struct err *file_check_owned(const char *path, int *fd_ret)
{
	struct walk walk = { .fd = -1 };
	bool end = false;
	struct err *err;

	if (!*path || strlen(path) >= sizeof(walk.left))
		return err_create(ERR_NOTFOUND, "%s: not the path of a file", path);
	strcpy(walk.left, path);
	err = enter(&walk, path);
	while (!err && !end)
		err = advance(&walk, path, &end);
	if (!err)
		err = check_end(&walk, path);
	if (!err && fd_ret)
		*fd_ret = take_fd(walk.fd);
	if (walk.fd >= 0)
		close(walk.fd);
	return err;
}
