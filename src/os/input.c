/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that are read whole (theory in input.h). */

#include "os/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "os/file.h"

#define LOOK_MS	100	/* Ctrl-C may come just before a wait */

static struct err *failed(int errnum)
{
	struct err *err = err_create(errnum == EACCES || errnum == EPERM ? ERR_PERM : ERR_SYS, "%s",
				     strerror(errnum));

	err->errnum = errnum;
	return err;
}

static struct err *refuse(const char *why)
{
	return err_create(ERR_USAGE, "it is %s", why);
}

/* Nothing is opened before it is known what it is: the open of a device has an effect. */
static struct err *open_it(const char *path, mode_t *mode_ret, int *fd_ret)
{
	AUTO_CLOSE int path_fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (path_fd < 0 || fstat(path_fd, &st))
		return failed(errno);
	if (S_ISDIR(st.st_mode))
		return refuse("a folder");
	if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return refuse(S_ISBLK(st.st_mode) ? "a block device" : "a socket");
	*mode_ret = st.st_mode;
	*fd_ret = file_open_again(path_fd, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	return *fd_ret < 0 ? failed(errno) : NULL;
}

/* Wait for more bytes, or the end. A terminal's user takes his time. */
static struct err *wait_for_more(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	struct err *err = NULL;

	for (unsigned ms = 0; !err && poll(&poll_fd, 1, LOOK_MS) <= 0; ms += LOOK_MS) {
		err = cancel_check();
		if (!err && ms >= INPUT_SILENCE_S * 1000 && !isatty(fd))
			err = err_hint(err_create(ERR_TIMEOUT, "nothing came for %u s",
						  INPUT_SILENCE_S),
				       "write it to a file first");
	}
	return err;
}

/* Has a writer been there, and gone? */
static bool was_written(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) > 0 && poll_fd.revents & POLLHUP;
}

static struct err *read_all(int fd, mode_t mode, uint64_t most, struct str *ret)
{
	size_t before = ret->len;
	struct err *err = NULL;
	char bytes[4096];
	ssize_t len;

	while (!err && (len = read(fd, bytes, sizeof(bytes)))) {
		if (len > 0)
			err = str_add_bytes(ret, bytes, (size_t)len);
		else if (errno == EAGAIN)
			err = wait_for_more(fd);
		else if (errno != EINTR)
			err = failed(errno);
		if (!err)
			err = cancel_check();
		if (!err && ret->len - before > most)
			err = limit_err("its length", "too many bytes", most);
	}
	if (!err && S_ISFIFO(mode) && ret->len == before && !was_written(fd))
		err = err_hint(refuse("a FIFO that nobody writes to"), "start its writer first");
	return err;
}

struct err *input_read(const char *path, uint64_t most, struct str *ret)
{
	AUTO_CLOSE int fd = -1;
	mode_t mode = 0;
	struct err *err = open_it(path, &mode, &fd);

	return err ? err : read_all(fd, mode, most, ret);
}

bool input_may_wait(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}
