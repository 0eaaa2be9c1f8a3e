/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * /tmp/perf-PID.map. The file is in a directory that everybody may write to: it must belong to the
 * target's user, root or ourselves, it is read up to a limit, and a line that does not fit is
 * skipped.
 */

#include "symbol/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/procfs.h"
#include "symbol/debug_file.h"

#define PERF_MAP_MAX	(256L << 20)
#define LINE_MAX_LEN	65536

/* The target's pid in its own namespace, by which it names its file. */
static pid_t inner_pid(pid_t pid)
{
	char *status AUTO_FREE = NULL;
	const char *line, *last = NULL;

	if (procfs_file(pid, "status", &status, NULL))
		return pid;
	line = strstr(status, "\nNSpid:");
	if (!line)
		return pid;
	line += strlen("\nNSpid:");
	for (; *line && *line != '\n'; line++)
		if (*line == '\t')
			last = line + 1;
	return last ? atoi(last) : pid;
}

void perf_map_init(struct perf_map *map, pid_t pid, int root_fd)
{
	*map = (struct perf_map){
		.pid = pid, .inner_pid = pid > 0 ? inner_pid(pid) : 0, .root_fd = root_fd, .fd = -1,
	};
}

void perf_map_deinit(struct perf_map *map)
{
	if (map->fd >= 0)
		close(map->fd);
	str_free(&map->text);
	vec_free(&map->entries);
	spans_free(&map->spans);
}

/* Written by somebody who may, and not by an earlier process of this number. */
static bool is_of_target(int fd, pid_t pid)
{
	struct proc_status status;
	struct stat st;
	uint64_t start;

	if (fstat(fd, &st))
		return false;
	if (!procfs_start_realtime(pid, &start) && (uint64_t)st.st_mtime + 1 < start / 1000000000)
		return false;
	if (st.st_uid == 0 || st.st_uid == geteuid())
		return true;
	return !procfs_status(pid, &status) &&
	       (st.st_uid == status.uid || st.st_uid == status.euid);
}

static int open_map(const struct perf_map *map)
{
	char path[64];
	int fd = -1;

	if (map->root_fd >= 0) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", map->inner_pid);
		fd = debug_open_below(map->root_fd, path);
	}
	if (fd < 0) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", map->pid);
		fd = debug_open_below(AT_FDCWD, path);
	}
	if (fd >= 0 && !is_of_target(fd, map->pid)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* One line without its newline, which is a NUL. */
static struct err *add_line(struct perf_map *map, const char *line)
{
	struct perf_entry entry;
	uint64_t size;
	char *rest;
	struct err *err;

	entry.start = strtoull(line, &rest, 16);
	if (rest == line || *rest != ' ')
		return NULL;
	size = strtoull(rest + 1, &rest, 16);
	if (*rest != ' ' || !rest[1] || entry.start + size < entry.start)
		return NULL;
	entry.name = map->text.len;
	err = vec_reserve(&map->entries, 1);
	if (!err)
		err = str_add_bytes(&map->text, rest + 1, strlen(rest + 1) + 1);
	if (!err)
		err = spans_add(&map->spans, entry.start, entry.start + size,
				(uint32_t)map->entries.nr);
	if (!err)
		map->entries.at[map->entries.nr++] = entry;
	return err;
}

/* Take the whole lines of what was appended. */
static void read_more(struct perf_map *map)
{
	char *buf AUTO_FREE = NULL;
	struct stat st;
	size_t room, taken = 0;
	ssize_t len;
	char *end;

	if (fstat(map->fd, &st) || st.st_size <= map->read || map->read >= PERF_MAP_MAX)
		return;
	room = (size_t)MIN((off_t)st.st_size, (off_t)PERF_MAP_MAX) - (size_t)map->read;
	buf = malloc(room + 1);
	len = buf ? pread(map->fd, buf, room, map->read) : -1;
	if (len <= 0)
		return;
	while ((end = memchr(buf + taken, '\n', (size_t)len - taken))) {
		*end = '\0';
		if (add_line(map, buf + taken))
			break;
		taken = (size_t)(end - buf) + 1;
	}
	/* No line is as long as that. */
	if (!taken && len > LINE_MAX_LEN)
		taken = (size_t)len;
	map->read += (off_t)taken;
	spans_sort(&map->spans);
}

static bool find(const struct perf_map *map, uint64_t addr, const char **name_ret,
		 uint64_t *start_ret)
{
	const struct span *span = NULL, *last = NULL;
	const struct perf_entry *entry;

	while ((span = spans_find(&map->spans, addr, span)))
		if (!last || span->value > last->value)
			last = span;
	if (!last)
		return false;
	entry = &map->entries.at[last->value];
	*name_ret = map->text.at + entry->name;
	*start_ret = entry->start;
	return true;
}

bool perf_map_find(struct perf_map *map, uint64_t addr, const char **name_ret, uint64_t *start_ret)
{
	if (!map->pid)
		return false;
	if (map->fd < 0)
		map->fd = open_map(map);
	if (map->fd < 0)
		return false;
	/* What is known already may have been compiled anew since. */
	read_more(map);
	return find(map, addr, name_ret, start_ret);
}
