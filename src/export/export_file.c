/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file that an export writes: beside, then renamed (export_file.h). */

#include "export/export_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "os/file.h"
#include "os/output.h"

#define ROOM	(256u << 10)
#define LOOK_MS	100	/* the signal that asks mdbg to end may come just before a wait */

struct export_file {
	char *name;		/* as the user has it, for errors */
	struct path_end end;	/* where it leads */
	bool beside;		/* the text goes to a file beside it, which exists */
	char beside_name[64];	/* in the folder of end */
	char *path;		/* of that one, for libraries */
	int fd;
	char *buf;		/* ROOM bytes */
	size_t len;
	bool failed;
	struct err error;	/* if failed */
};

void export_file_fail(struct export_file *file, struct err *err)
{
	if (file->failed)
		return;
	file->failed = true;
	err_copy(&file->error, err);
}

struct err *export_file_check(struct export_file *file)
{
	if (!file->failed && cancel_requested())
		export_file_fail(file, err_wrap(cancel_check(), "write to %s", file->name));
	return file->failed ? err_adopt(&file->error) : NULL;
}

const char *export_file_path(const struct export_file *file)
{
	return file->path;
}

const char *export_file_name(const struct export_file *file)
{
	return file->name;
}

/* Writing */

/* Wait until there is room. If the reader has gone, the next write says so. */
static void wait_writable(struct export_file *file)
{
	struct pollfd poll_fd = { .fd = file->fd, .events = POLLOUT };

	while (!export_file_check(file) && poll(&poll_fd, 1, LOOK_MS) == 0)
		;
}

static void flush(struct export_file *file)
{
	const char *bytes = file->buf;
	size_t len = file->len;

	file->len = 0;
	while (len && !export_file_check(file)) {
		ssize_t n = write(file->fd, bytes, len);

		if (n >= 0) {
			bytes += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			wait_writable(file);
		} else if (errno != EINTR) {
			export_file_fail(file, err_recode(err_sys("write to %s", file->name),
							  ERR_SYS));
		}
	}
}

void export_file_bytes(struct export_file *file, const void *bytes, size_t len)
{
	const char *from = bytes;

	while (len && !file->failed) {
		size_t part = MIN(len, ROOM - file->len);

		memcpy(file->buf + file->len, from, part);
		file->len += part;
		from += part;
		len -= part;
		if (file->len == ROOM)
			flush(file);
	}
}

void export_file_f(struct export_file *file, const char *fmt, ...)
{
	AUTO_STR struct str text = STR_INIT;
	struct err *err;
	va_list ap;

	va_start(ap, fmt);
	err = str_addv(&text, fmt, ap);
	va_end(ap);
	if (err)
		export_file_fail(file, err);
	else
		export_file_bytes(file, str_text(&text), text.len);
}

void export_file_number(struct export_file *file, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	export_file_bytes(file, digits + at, sizeof(digits) - at);
}

/* Begin */

static struct err *refuse(const struct export_file *file, const char *why)
{
	return err_create(ERR_USAGE, "write to %s: it is %s", file->name, why);
}

/*
 * Where a link of the kernel's leads to a regular file (/dev/fd/3), its name is looked up anew: it
 * must still be the name of that file.
 */
static struct err *find_name(struct export_file *file)
{
	CLEANUP(path_walk_end_free) struct path_end link = file->end;
	char text[32], path[PATH_MAX];
	struct err *err;

	file->end = (struct path_end)PATH_END_INIT;
	snprintf(text, sizeof(text), "/proc/self/fd/%d", link.fd);
	if (!file_link(AT_FDCWD, text, path, sizeof(path)))
		return err_sys("write to %s", file->name);
	err = output_find(path, &file->end);
	if (!err && file->end.fd >= 0 && file->end.st.st_dev == link.st.st_dev &&
	    file->end.st.st_ino == link.st.st_ino)
		return NULL;
	return refuse(file, "a file that has no name any more");
}

/* A rename needs no right to write to the old file, but mdbg does. */
static struct err *check_writable(const struct export_file *file)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->end.fd);
	if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS))
		return err_sys("write to %s", file->name);
	return NULL;
}

static struct err *needs_plain(const struct export_file *file)
{
	return err_hint(err_create(ERR_UNSUPPORTED, "write to %s: it is no regular file, and this "
				   "format needs one", file->name),
			"name a file that is there, or is not there yet");
}

/* Open the very FIFO or device that was looked at. This does not wait for a reader. */
static struct err *open_stream(struct export_file *file, bool plain)
{
	struct err *err = plain ? needs_plain(file) :
				  output_open_found(&file->end, 0, &file->fd);

	return err && !plain ? err_wrap(err, "write to %s", file->name) : err;
}

/* Returns the descriptor of mdbg's own output if it leads to this file, else -1. */
static int own_output(const struct stat *st)
{
	struct stat own;

	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (!fstat(fd, &own) && own.st_dev == st->st_dev && own.st_ino == st->st_ino)
			return fd;
	return -1;
}

/* Other commands may have printed to this file, so it must not be replaced. */
static struct err *open_own_output(struct export_file *file, int fd, bool plain)
{
	if (plain)
		return needs_plain(file);
	file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return file->fd < 0 ? err_sys("write to %s", file->name) : NULL;
}

static struct err *look_at(struct export_file *file, bool plain)
{
	const struct stat *old = &file->end.st;
	struct err *err = output_find(file->name, &file->end);

	if (err)
		return err_wrap(err, "write to %s", file->name);
	if (file->end.fd < 0)
		return file->end.linked ? refuse(file, "a symbolic link that leads nowhere") : NULL;
	if (!S_ISREG(old->st_mode))
		return open_stream(file, plain);
	if (own_output(old) >= 0)
		return open_own_output(file, own_output(old), plain);
	if (file->end.dir_fd < 0)
		err = find_name(file);
	return err ? err : check_writable(file);
}

/* The path of the new file, by the folder's own. */
static struct err *make_path(struct export_file *file)
{
	char text[32], folder[PATH_MAX];

	snprintf(text, sizeof(text), "/proc/self/fd/%d", file->end.dir_fd);
	if (!file_link(AT_FDCWD, text, folder, sizeof(folder)))
		return err_sys("write to %s", file->name);
	if (asprintf(&file->path, "%s/%s", strcmp(folder, "/") ? folder : "",
		     file->beside_name) < 0) {
		file->path = NULL;
		return err_nomem;
	}
	return NULL;
}

/* Create the new file in the same folder, because a rename cannot lead to another file system. */
static struct err *open_beside(struct export_file *file)
{
	uint64_t number[2];

	if (getrandom(number, sizeof(number), 0) != sizeof(number))
		return err_sys("getrandom");
	snprintf(file->beside_name, sizeof(file->beside_name),
		 ".mdbg-%016" PRIx64 "%016" PRIx64, number[0], number[1]);
	/* If others may not read the old file, they may never read the new one. */
	file->fd = openat(file->end.dir_fd, file->beside_name,
			  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			  file->end.fd >= 0 ? 0600 : 0666);
	file->beside = file->fd >= 0;
	if (file->beside)
		return make_path(file);
	return err_hint(err_sys("write to %s", file->name),
			"it is written beside, and then renamed: its folder must be there, and "
			"writable");
}

static void file_free(struct export_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	if (file->beside)
		unlinkat(file->end.dir_fd, file->beside_name, 0);
	path_walk_end_free(&file->end);
	free(file->name);
	free(file->path);
	free(file->buf);
	free(file);
}

struct err *export_file_begin(const char *name, bool plain, struct export_file **ret)
{
	struct export_file *file = calloc(1, sizeof(*file));
	struct err *err = NULL;

	if (!file)
		return err_nomem;
	file->fd = -1;
	file->end = (struct path_end)PATH_END_INIT;
	file->name = strdup(name);
	file->buf = malloc(ROOM);
	if (!file->name || !file->buf)
		err = err_nomem;
	if (!err)
		err = look_at(file, plain);
	if (!err && file->fd < 0)
		err = open_beside(file);
	if (err)
		file_free(file);
	else
		*ret = file;
	return err;
}

/* End */

/* The owner is changed first, because that takes bits of the mode away. */
static struct err *keep_mode(struct export_file *file)
{
	const struct stat *old = &file->end.st;

	if (file->end.fd < 0)
		return NULL;
	/* Only root may give a file away. For other users the new file stays their own. */
	if (fchown(file->fd, old->st_uid, old->st_gid))
		errno = 0;
	if (fchmod(file->fd, old->st_mode & 0777))
		return err_sys("write to %s", file->name);
	return NULL;
}

static struct err *publish(struct export_file *file)
{
	struct err *err = keep_mode(file);

	if (!err && fsync(file->fd))
		err = err_recode(err_sys("write to %s", file->name), ERR_SYS);
	/* A network file system may report here that it could not keep the data. */
	if (!err && close(take_fd(file->fd)))
		err = err_recode(err_sys("write to %s", file->name), ERR_SYS);
	if (!err && renameat(file->end.dir_fd, file->beside_name, file->end.dir_fd, file->end.name))
		err = err_sys("write to %s", file->name);
	if (!err)
		file->beside = false;
	return err;
}

struct err *export_file_end(struct export_file *file, struct err *err)
{
	if (!err)
		flush(file);
	err = err_first(err, export_file_check(file));
	if (!err && file->beside)
		err = publish(file);
	file_free(file);
	return err;
}
