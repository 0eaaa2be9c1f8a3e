/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that somebody else delivers (theory in far_file.h). */

#include "os/far_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "os/errand.h"
#include "os/file.h"
#include "os/local_files.h"
#include "os/pidfd.h"
#include "os/procfs.h"

#define ANSWER_NS	1000000000ull	/* for one call */
#define COPY_NS		10000000000ull	/* for a file */
#define TURN_SECONDS	2		/* how long a thread waits for the one that is before it */

/* Facts about this process and its machine, which no session owns. */
static struct {
	pthread_mutex_t files_lock;
	struct local_files files;
	pthread_mutex_t lock;		/* of the errands */
	struct errands errands;
} far = {
	.files_lock = PTHREAD_MUTEX_INITIALIZER, .files = LOCAL_FILES_INIT,
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

/* The mount of a descriptor, by the number that mountinfo has for it; 0: not known. */
static uint64_t mount_of(int fd)
{
	char path[40];
	uint64_t id;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	return file_number(path, "mnt_id:", &id) ? id : 0;
}

/* statx without a question to a file system that somebody else serves. */
bool far_file_is(int path_fd)
{
	struct statx stx;
	enum file_place place;

	if (statx(path_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &stx))
		return true;
	pthread_mutex_lock(&far.files_lock);
	place = local_files_place(&far.files, getpid(), stx.stx_dev_major, stx.stx_dev_minor);
	if (place == FILE_UNKNOWN)	/* btrfs: a part of a file system has its own number */
		place = local_files_mounted(&far.files, mount_of(path_fd));
	pthread_mutex_unlock(&far.files_lock);
	return place != FILE_LOCAL;
}

/* An errand's process has the descriptors of when it was made. `done` must follow a success. */
static struct err *begin(uint8_t **bytes_ret)
{
	struct timespec until;
	struct err *err;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += TURN_SECONDS;
	if (pthread_mutex_timedlock(&far.lock, &until))
		return err_create(ERR_BUSY, "another file is being copied");
	errands_end_idle(&far.errands);
	err = errands_ready(&far.errands, bytes_ret);
	if (err)
		pthread_mutex_unlock(&far.lock);
	return err;
}

static void done(void)
{
	errands_end_idle(&far.errands);
	pthread_mutex_unlock(&far.lock);
}

/* *ret: what the call returns, which is no error. */
static struct err *call(long *ret, long nr, const long arg[6])
{
	struct err *err = errands_call(&far.errands, ANSWER_NS, ret, nr, arg);

	if (!err && *ret < 0) {
		errno = (int)-*ret;
		err = err_sys("read");
	}
	return err ? err : cancel_check();
}

static void take_stat(const struct statx *stx, struct stat *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->st_dev = makedev(stx->stx_dev_major, stx->stx_dev_minor);
	ret->st_ino = stx->stx_ino;
	ret->st_mode = stx->stx_mode;
	ret->st_nlink = stx->stx_nlink;
	ret->st_uid = stx->stx_uid;
	ret->st_gid = stx->stx_gid;
	ret->st_size = (off_t)stx->stx_size;
	ret->st_mtim.tv_sec = stx->stx_mtime.tv_sec;
	ret->st_mtim.tv_nsec = stx->stx_mtime.tv_nsec;
}

static struct err *look_at(int path_fd, uint8_t *bytes, struct stat *ret)
{
	struct statx *stx = (struct statx *)(bytes + 64);
	struct err *err;
	long got;

	*bytes = '\0';
	err = call(&got, SYS_statx, (long[6]){ path_fd, (long)bytes, AT_EMPTY_PATH,
					       STATX_BASIC_STATS, (long)stx });
	if (!err)
		take_stat(stx, ret);
	return err;
}

static struct err *copy_bytes(long from, uint64_t size, uint8_t *bytes, int to)
{
	uint64_t at = 0, deadline = procfs_clock(CLOCK_MONOTONIC) + COPY_NS;
	struct err *err = NULL;
	long got = 1;

	while (!err && got && at < size) {
		if (procfs_clock(CLOCK_MONOTONIC) > deadline) {
			errands_refuse(&far.errands);
			return err_create(ERR_TIMEOUT, "its file system is too slow");
		}
		err = call(&got, SYS_pread64, (long[6]){ from, (long)bytes,
			   (long)MIN((uint64_t)ERRAND_BYTES, size - at), (long)at });
		if (!err && pwrite(to, bytes, (size_t)got, (off_t)at) != got)
			err = err_sys("write");
		at += err ? 0 : (uint64_t)got;
	}
	return err;
}

static struct err *copy(int path_fd, const struct stat *st, uint8_t *bytes, int *fd_ret)
{
	AUTO_CLOSE int to = memfd_create("mdbg-copy", MFD_CLOEXEC);
	struct err *err;
	long from, unused;

	if (to < 0)
		return err_sys("memfd_create");
	snprintf((char *)bytes, 40, "/proc/self/fd/%d", path_fd);
	err = call(&from, SYS_openat, (long[6]){ AT_FDCWD, (long)bytes,
						 O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC });
	if (!err)
		err = copy_bytes(from, (uint64_t)st->st_size, bytes, to);
	/* Closing asks the server as well. */
	if (!err)
		err = call(&unused, SYS_close, (long[6]){ from });
	if (!err)
		*fd_ret = take_fd(to);
	return err;
}

struct err *far_file_copy(int path_fd, uint64_t most, struct stat *st_ret, int *fd_ret)
{
	uint8_t *bytes;
	struct err *err;

	err = begin(&bytes);
	if (err)
		return err;
	err = look_at(path_fd, bytes, st_ret);
	if (!err && !S_ISREG(st_ret->st_mode))
		err = err_create(ERR_FORMAT, "not a regular file");
	most = MIN(most, (uint64_t)FAR_FILE_MOST);
	if (!err && (uint64_t)st_ret->st_size > most)
		err = limit_err("its length", "too many bytes", most);
	if (!err)
		err = copy(path_fd, st_ret, bytes, fd_ret);
	done();
	return err;
}

/* Take a descriptor out of the errand's process. */
static int fetch(int fd)
{
	AUTO_CLOSE int process = -1;

	if (pidfd_open_process(errands_pid(&far.errands), &process))
		return -1;
	return (int)syscall(SYS_pidfd_getfd, process, fd, 0);
}

static int look_by_errand(int dir_fd, const char *path, const struct open_how *how)
{
	size_t len = strlen(path) + 1;
	int fd = -1, failed = ETIMEDOUT;
	uint8_t *bytes;
	long got;

	if (len > PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (begin(&bytes)) {
		errno = ETIMEDOUT;
		return -1;
	}
	memcpy(bytes, how, sizeof(*how));
	memcpy(bytes + sizeof(*how), path, len);
	if (!errands_call(&far.errands, ANSWER_NS, &got, SYS_openat2,
			  (long[6]){ dir_fd, (long)(bytes + sizeof(*how)), (long)bytes,
				     sizeof(*how) })) {
		fd = got < 0 ? -1 : fetch((int)got);
		failed = got < 0 ? (int)-got : errno;
	}
	done();
	errno = failed;
	return fd;
}

int far_file_look(int dir_fd, const char *path, const struct open_how *how)
{
	struct open_how cached = *how;
	int fd;

	/* Nobody is asked for what the kernel knows of all names on the way. */
	cached.resolve |= RESOLVE_CACHED;
	fd = (int)syscall(SYS_openat2, dir_fd, path, &cached, sizeof(cached));
	if (fd >= 0 || (errno != EAGAIN && errno != EINVAL))
		return fd;
	return look_by_errand(dir_fd, path, how);
}
