/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A walk along a path by descriptors (theory in path_walk.h). */

#include "os/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/file.h"

#define LINKS_MAX	40	/* as many symbolic links as the kernel follows */

/* The folder that the walk has reached, and the rest of the path. */
struct walk {
	const char *path;
	path_rule *rule;
	const void *ctx;
	bool make;
	int fd;
	struct stat dir;	/* of fd */
	unsigned links;
	bool linked;		/* the rest of the path is a link's text, or what is left of it */
	char left[PATH_MAX];
};

/* Go on below this folder, which belongs to the walk from then on. */
static struct err *enter(struct walk *walk, int fd)
{
	if (walk->fd >= 0)
		close(walk->fd);
	walk->fd = fd;
	return fd < 0 || fstat(fd, &walk->dir) ? err_sys("%s", walk->path) : NULL;
}

static struct err *enter_start(struct walk *walk, const char *path)
{
	return enter(walk, open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Take the next name off the path; "." where the path has no more. */
static struct err *next_name(struct walk *walk, char name[NAME_MAX + 1])
{
	size_t slashes = strspn(walk->left, "/"), len = strcspn(walk->left + slashes, "/");

	if (len > NAME_MAX)
		return err_create(ERR_FORMAT, "a name of %zu bytes", len);
	snprintf(name, NAME_MAX + 1, "%.*s", len ? (int)len : 1,
		 len ? walk->left + slashes : ".");
	memmove(walk->left, walk->left + slashes + len, strlen(walk->left + slashes + len) + 1);
	return NULL;
}

static bool at_end(const struct walk *walk)
{
	return !walk->left[strspn(walk->left, "/")];
}

static struct err *ask(const struct walk *walk, const struct stat *entry, bool missing)
{
	return walk->rule(&(struct path_step){
		.path = walk->path, .dir = &walk->dir, .entry = entry, .missing = missing,
		.ctx = walk->ctx,
	});
}

/* Open the name, or make a folder of it. *fd_ret is -1 if it is the last name, and not there. */
static struct err *look_up(struct walk *walk, const char *name, int *fd_ret)
{
	const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
	struct err *err;

	*fd_ret = openat(walk->fd, name, flags);
	if (*fd_ret >= 0)
		return NULL;
	if (errno != ENOENT)
		return err_sys("%s", name);
	err = ask(walk, NULL, true);
	if (err || (at_end(walk) && !walk->make))
		return err;
	errno = ENOENT;
	if (walk->make && (!mkdirat(walk->fd, name, 0700) || errno == EEXIST))
		*fd_ret = openat(walk->fd, name, flags);
	return *fd_ret < 0 ? err_sys("%s", name) : NULL;
}

static bool is_kernels_own(const struct walk *walk)
{
	struct statfs fs;

	return !fstatfs(walk->fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/* Put the link's text in front of the rest of the path. */
static struct err *follow(struct walk *walk, int link_fd)
{
	char to[PATH_MAX], left[PATH_MAX];

	if (!file_link(link_fd, "", to, sizeof(to)))
		return err_sys("%s", walk->path);
	if (++walk->links > LINKS_MAX)
		return err_create(ERR_FORMAT, "too many symbolic links");
	strcpy(left, walk->left);
	if ((size_t)snprintf(walk->left, sizeof(walk->left), "%s%s", to, left) >=
	    sizeof(walk->left))
		return err_create(ERR_FORMAT, "too long a path");
	walk->linked = true;
	return *to == '/' ? enter_start(walk, to) : NULL;
}

/* Go where a link of /proc leads; as the end of the path it has no folder. */
static struct err *follow_kernels(struct walk *walk, const char *name, struct path_end *ret)
{
	AUTO_CLOSE int fd = openat(walk->fd, name, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return err_sys("%s", walk->path);
	if (!at_end(walk))
		return enter(walk, take_fd(fd));
	ret->fd = take_fd(fd);
	ret->st = st;
	return NULL;
}

static struct err *finish(struct walk *walk, const char *name, int fd, struct path_end *ret)
{
	ret->dir_fd = take_fd(walk->fd);
	ret->dir = walk->dir;
	ret->fd = fd;
	ret->linked = walk->linked;
	strcpy(ret->name, name);
	return NULL;
}

/* Go one name further. ret has a descriptor when the end is reached; *end_ret is true then. */
static struct err *advance(struct walk *walk, struct path_end *ret, bool *end_ret)
{
	AUTO_CLOSE int fd = -1;
	char name[NAME_MAX + 1];
	struct err *err = next_name(walk, name);

	if (!err)
		err = ask(walk, NULL, false);
	if (!err)
		err = look_up(walk, name, &fd);
	if (err)
		return err;
	if (fd >= 0 && fstat(fd, &ret->st))
		return err_sys("%s", name);
	if (fd >= 0 && S_ISLNK(ret->st.st_mode)) {
		if (is_kernels_own(walk)) {
			err = follow_kernels(walk, name, ret);
			*end_ret = ret->fd >= 0;
			return err;
		}
		err = ask(walk, &ret->st, false);
		return err ? err : follow(walk, fd);
	}
	*end_ret = at_end(walk);
	return *end_ret ? finish(walk, name, take_fd(fd), ret) : enter(walk, take_fd(fd));
}

struct err *path_walk(const char *path, path_rule *rule, const void *ctx, bool make,
		      struct path_end *ret)
{
	struct walk walk = { .path = path, .rule = rule, .ctx = ctx, .make = make, .fd = -1 };
	struct path_end end = PATH_END_INIT;
	bool ended = false;
	struct err *err;

	if (!*path || strlen(path) >= sizeof(walk.left))
		return err_create(ERR_NOTFOUND, "%s: not the path of a file", path);
	strcpy(walk.left, path);
	err = enter_start(&walk, path);
	while (!err && !ended)
		err = advance(&walk, &end, &ended);
	if (walk.fd >= 0)
		close(walk.fd);
	if (err) {
		path_walk_end_free(&end);
		return err;
	}
	*ret = end;
	return NULL;
}

void path_walk_end_free(struct path_end *end)
{
	if (end->dir_fd >= 0)
		close(end->dir_fd);
	if (end->fd >= 0)
		close(end->fd);
	*end = (struct path_end)PATH_END_INIT;
}
