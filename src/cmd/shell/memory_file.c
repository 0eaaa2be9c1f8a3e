/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files in memory (memory_file.h). */

#include "cmd/shell/memory_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

int memory_file_create(const char *text, size_t len)
{
	AUTO_CLOSE int fd = memfd_create("mdbg-script", MFD_CLOEXEC);

	while (fd >= 0 && len) {
		ssize_t written = write(fd, text, len);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -1;
		text += written;
		len -= (size_t)written;
	}
	if (fd < 0 || lseek(fd, 0, SEEK_SET))
		return -1;
	return take_fd(fd);
}
