/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Descriptors that are kept for long. */

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int fd_keep(int fd)
{
	int kept = fcntl(fd, F_DUPFD_CLOEXEC, FD_KEPT);

	if (kept < 0 && errno == EINVAL)	/* the limit is FD_KEPT or less */
		errno = EMFILE;
	return kept;
}

size_t fd_read_at(int fd, uint64_t offset, void *buf, size_t len)
{
	size_t got = 0;
	ssize_t n = 1;

	while (got < len && n && offset + got <= INT64_MAX) {
		n = pread(fd, (char *)buf + got, len - got, (off_t)(offset + got));
		if (n < 0 && errno != EINTR)
			return got;
		got += n > 0 ? (size_t)n : 0;
	}
	errno = 0;
	return got;
}

bool fd_lacking(const struct err *err)
{
	return err->errnum == EMFILE || err->errnum == ENFILE;
}
