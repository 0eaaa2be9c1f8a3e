/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the kernel's messages about OOM kills. */

#include "os/machine/oom_kills.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MESSAGES	1000000u	/* more than any buffer has, should somebody write all the time */

/* "anon-rss:98048kB": the bytes of one figure; 0 where it is not there. */
static uint64_t kilobytes(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) << 10 : 0;
}

/* The text between `from` and the first of `ends`, cut to what there is room for. */
static void copy(char *to, size_t size, const char *from, size_t len)
{
	snprintf(to, size, "%.*s", (int)MIN(len, size - 1), from);
}

/* "oom-kill:constraint=CONSTRAINT_MEMCG,…,oom_memcg=/a/b,task_memcg=…": the group; empty: none. */
static void take_group(const char *text, char *group)
{
	static const char name[] = ",oom_memcg=";
	const char *at = strstr(text, name), *end;

	*group = '\0';
	if (!at)
		return;
	at += strlen(name);
	end = strstr(at, ",task_memcg=");
	copy(group, sizeof(((struct oom_kill *)NULL)->group), at,
	     end ? (size_t)(end - at) : strcspn(at, ","));
}

struct err *oom_kills_take(struct oom_kills *kills, const char *message, char *group)
{
	static const char begins[] = "oom-kill:", killed[] = "illed process ";
	unsigned long long priority, us;
	const char *text = strchr(message, ';'), *at, *end;
	struct oom_kill kill = { .pid = 0 };
	char *name;

	/* A priority of 8 and more has the facility of whoever has written it: 0 is the kernel. */
	if (!text || sscanf(message, "%llu,%*u,%llu", &priority, &us) != 2 || priority > 7)
		return NULL;
	text++;
	if (!strncmp(text, begins, strlen(begins))) {
		take_group(text, group);
		return NULL;
	}
	at = strstr(text, killed);
	end = at ? strstr(at, ") total-vm:") : NULL;
	if (!end)
		return NULL;
	kill.pid = (pid_t)strtol(at + strlen(killed), &name, 10);
	if (strncmp(name, " (", 2))
		return NULL;
	copy(kill.name.bytes, sizeof(kill.name.bytes), name + 2, (size_t)(end - name - 2));
	kill.time_ns = us * 1000;
	kill.anonymous = kilobytes(end, "anon-rss:");
	kill.file = kilobytes(end, "file-rss:");
	kill.shared = kilobytes(end, "shmem-rss:");
	snprintf(kill.group, sizeof(kill.group), "%s", group);
	*group = '\0';
	return vec_push(&kills->vec, kill);
}

/* Containers have a link to their console there, whose input is not ours. */
static int open_messages(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	struct stat stat;

	if (fd >= 0 && (fstat(fd, &stat) || !S_ISCHR(stat.st_mode) ||
			stat.st_rdev != makedev(1, 11))) {
		close(fd);
		errno = ENODEV;
		fd = -1;
	}
	return fd;
}

struct err *oom_kills_read(struct oom_kills *ret)
{
	AUTO_CLOSE int fd = open_messages();
	char message[8193], group[sizeof(((struct oom_kill *)NULL)->group)] = "";
	struct oom_kills kills = { .vec = VEC_INIT };
	struct err *err = NULL;

	if (fd < 0)
		snprintf(kills.why, sizeof(kills.why), "/dev/kmsg: %s", strerror(errno));
	for (unsigned i = 0; fd >= 0 && !err && i < MESSAGES; i++) {
		ssize_t nr = read(fd, message, sizeof(message) - 1);

		/* What was written over before it could be read is passed over. */
		if (nr < 0 && (errno == EPIPE || errno == EINTR || errno == EINVAL))
			continue;
		if (nr <= 0)
			break;
		message[nr] = '\0';
		err = oom_kills_take(&kills, message, group);
	}
	if (err)
		vec_free(&kills.vec);
	*ret = kills;
	return err;
}
