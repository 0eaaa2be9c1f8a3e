/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of a process, observed through its pidfd. */

#include "os/pidfd.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/procfs.h"

/* This is the first version of the structure, <linux/pidfd.h> of Linux 6.15. */
struct info {
	uint64_t mask;
	uint64_t cgroupid;
	uint32_t ids[11];
	int32_t exit_code;
};

#define INFO_EXIT	(1ull << 3)
#define GET_INFO	_IOWR(0xff, 11, struct info)

_Static_assert(sizeof(struct info) == 64, "PIDFD_INFO_SIZE_VER0");

struct err *pidfd_open_process(pid_t pid, int *ret)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return errno == ESRCH ? err_create(ERR_GONE, "no process %d", pid)
				      : err_sys("pidfd_open %d", pid);
	*ret = fd;
	return NULL;
}

bool pidfd_keeps_id(int fd)
{
	return !syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) || errno != ESRCH;
}

struct err *pidfd_kill(int fd, int signal)
{
	if (!syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0))
		return NULL;
	return errno == ESRCH ? err_create(ERR_GONE, "the process has ended")
			      : err_sys("pidfd_send_signal");
}

bool pidfd_ended(int fd, pid_t pid, int *status_ret, bool *known_ret)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	struct info info = { .mask = INFO_EXIT };
	struct proc_stat stat;

	if (poll(&wait, 1, 0) <= 0)
		return false;
	*known_ret = true;
	/*
	 * Until it is reaped, the process is a zombie; after that the kernel keeps its exit status.
	 */
	if (!procfs_stat(pid, &stat) && stat.state == 'Z')
		*status_ret = stat.exit_code;
	else if (!ioctl(fd, GET_INFO, &info) && info.mask & INFO_EXIT)
		*status_ret = info.exit_code;
	else
		*known_ret = false;
	return true;
}
