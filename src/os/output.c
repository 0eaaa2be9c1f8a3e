/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that mdbg writes to (theory in output.h). */

#include "os/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/file.h"
#include "os/trust.h"

static struct err *refuse(const char *why)
{
	return err_create(ERR_USAGE, "it is %s", why);
}

/* The error of a system call; who names the path says what was to be done with it. */
static struct err *failed(int errnum)
{
	struct err *err = err_create(errnum == EACCES || errnum == EPERM ? ERR_PERM : ERR_SYS, "%s",
				     strerror(errnum));

	err->errnum = errnum;
	return err;
}

static struct err *refuse_planted(const struct path_end *end)
{
	struct err *err;

	if (S_ISREG(end->st.st_mode) && end->st.st_nlink > 1)
		err = err_create(ERR_PERM, "it has a second name, and others may write to its "
				 "folder");
	else
		err = err_create(ERR_PERM, "it belongs to user %u, and others may write to its "
				 "folder", (unsigned)end->st.st_uid);
	return err_hint(err, "remove it first, or name a file in a folder of your own");
}

static struct err *check_kind(mode_t mode)
{
	if (S_ISREG(mode) || S_ISFIFO(mode) || S_ISCHR(mode))
		return NULL;
	return refuse(S_ISDIR(mode) ? "a folder" : S_ISBLK(mode) ? "a block device" : "a socket");
}

struct err *output_find(const char *path, struct path_end *ret)
{
	size_t len = strlen(path);
	struct err *err;

	if (!len || path[len - 1] == '/')
		return refuse("no name of a file");
	err = path_walk(path, trust_named, NULL, false, ret);
	if (err && err->errnum)
		return failed(err->errnum);
	if (err || ret->fd < 0)
		return err;
	err = check_kind(ret->st.st_mode);
	/* A link of the kernel's leads to what is open already. */
	if (!err && ret->dir_fd >= 0 && trust_is_planted(&ret->dir, &ret->st))
		err = refuse_planted(ret);
	if (err)
		path_walk_end_free(ret);
	return err;
}

struct err *output_open_found(const struct path_end *end, int flags, int *fd_ret)
{
	*fd_ret = file_open_again(end->fd, O_WRONLY | O_NONBLOCK | O_NOCTTY | flags);
	if (*fd_ret >= 0)
		return NULL;
	if (S_ISFIFO(end->st.st_mode) && errno == ENXIO)
		return err_hint(refuse("a FIFO that nobody reads"), "start its reader first");
	return failed(errno);
}

/* Only the open must not wait: who writes expects to, as to a pipe. */
static struct err *let_wait(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) ? failed(errno) : NULL;
}

struct err *output_open(const char *path, int flags, mode_t mode, int *fd_ret)
{
	CLEANUP(path_walk_end_free) struct path_end end = PATH_END_INIT;
	AUTO_CLOSE int fd = -1;
	struct err *err = output_find(path, &end);

	if (err)
		return err;
	if (end.fd >= 0) {
		err = output_open_found(&end, flags, &fd);
		if (!err)
			err = let_wait(fd);
	} else {
		fd = openat(end.dir_fd, end.name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | flags,
			    mode);
		err = fd < 0 ? failed(errno) : NULL;
	}
	if (!err)
		*fd_ret = take_fd(fd);
	return err;
}
