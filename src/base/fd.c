/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Descriptors that are kept for long. */

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>

int fd_keep(int fd)
{
	int kept = fcntl(fd, F_DUPFD_CLOEXEC, FD_KEPT);

	if (kept < 0 && errno == EINVAL)	/* the limit is FD_KEPT or less */
		errno = EMFILE;
	return kept;
}

bool fd_lacking(const struct err *err)
{
	return err->errnum == EMFILE || err->errnum == ENFILE;
}
