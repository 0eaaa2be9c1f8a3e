/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mdbg's own log file. */

#include "base/trace.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int trace_fd = -1;

void trace_open(void)
{
	const char *name = getenv("MDBG_TRACE");

	if (name && *name)
		trace_fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

void trace_line(const char *fmt, ...)
{
	struct timespec now;
	char line[1024];
	int len;
	va_list ap;

	if (trace_fd < 0)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	len = snprintf(line, sizeof(line), "%ld.%06ld %ld ", (long)now.tv_sec, now.tv_nsec / 1000,
		       (long)syscall(SYS_gettid));
	va_start(ap, fmt);
	len += vsnprintf(line + len, sizeof(line) - (size_t)len - 1, fmt, ap);
	va_end(ap);
	if (len > (int)sizeof(line) - 2)
		len = sizeof(line) - 2;
	line[len++] = '\n';
	/* If the trace cannot be written, the traced code must not notice. */
	if (write(trace_fd, line, (size_t)len) < 0)
		return;
}
