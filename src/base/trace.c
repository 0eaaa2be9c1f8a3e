/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mdbg's own log file. */

#include "base/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int trace_fd = -1;

void trace_to(int fd)
{
	trace_fd = fd;
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
