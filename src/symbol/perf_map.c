/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * /tmp/perf-PID.map. The file is in a directory that everybody may write to: it must belong to the
 * target's user, root or ourselves, and be no symbolic link. A line that does not fit is skipped. A
 * file that is over a limit gives no names at all: a later line replaces the earlier ones at its
 * addresses, so only some of the lines might give wrong names.
 */

#include "symbol/perf_map.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "os/file.h"
#include "os/procfs.h"
#include "symbol/debug_file.h"

/* bytes that are read at once; no line is as long as that */
#define PIECE		(1u << 20)

/* Returns the target's pid in its own namespace, which is in the name of its file. */
static pid_t inner_pid(pid_t pid)
{
	char *status AUTO_FREE = NULL;
	const char *line, *last;

	if (procfs_file(pid, "status", &status, NULL))
		return pid;
	line = strstr(status, "\nNSpid:");
	if (!line)
		return pid;
	last = memrchr(line, '\t', 1 + strcspn(line + 1, "\n"));
	return last ? atoi(last) : pid;
}

void perf_map_init(struct perf_map *map, pid_t pid, const struct debug_search *search)
{
	*map = (struct perf_map){
		.pid = pid, .inner_pid = pid > 0 ? inner_pid(pid) : 0, .search = search, .fd = -1,
	};
}

static void forget(struct perf_map *map)
{
	str_free(&map->text);
	vec_free(&map->entries);
	spans_free(&map->spans);
}

void perf_map_deinit(struct perf_map *map)
{
	if (map->fd >= 0)
		close(map->fd);
	forget(map);
}

void perf_map_begin(struct perf_map *map)
{
	map->looked = false;
}

/* Was the file written by somebody who may, and not by an earlier process with this number? */
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

	if (map->search->root_fd >= 0) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", map->inner_pid);
		/* A missing file is no error: few programs have one. */
		err_ignore(file_open(map->search->root_fd, path, true, UINT64_MAX, &fd));
	}
	if (fd < 0) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", map->pid);
		err_ignore(file_open(AT_FDCWD, path, true, UINT64_MAX, &fd));
	}
	if (fd >= 0 && !is_of_target(fd, map->pid)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Add one line; a NUL replaces its newline. */
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
	if (map->entries.nr == LIMIT_PERF_LINES)
		return limit_err("perf map", "too many lines", LIMIT_PERF_LINES);
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

static struct err *add_lines(struct perf_map *map, char *text, size_t len, size_t *taken_ret)
{
	struct err *err = NULL;
	size_t taken = 0;
	char *end;

	while (!err && (end = memchr(text + taken, '\n', len - taken))) {
		*end = '\0';
		err = add_line(map, text + taken);
		taken = (size_t)(end - text) + 1;
	}
	*taken_ret = taken;
	return err;
}

/* Take the whole lines of the part that was appended, up to room bytes at once. */
static struct err *read_more(struct perf_map *map, char *buf, size_t room)
{
	struct err *err = NULL;
	size_t taken;
	ssize_t len;

	while (!err && (len = pread(map->fd, buf, room, map->read)) > 0) {
		err = add_lines(map, buf, (size_t)len, &taken);
		/* The rest of the last line has not been written yet. */
		if (!taken && len < (ssize_t)PIECE)
			break;
		map->read += (off_t)(taken ? taken : (size_t)len);
		if (!err && (uint64_t)map->read > LIMIT_PERF_BYTES)
			err = limit_err("perf map", "too many bytes", LIMIT_PERF_BYTES);
		if (!err)
			err = cancel_check();
	}
	return err;
}

/*
 * This happens once in each answer. The last line may be a megabyte long and never be finished: it
 * is read again only if the size of the file has changed.
 */
static void update(struct perf_map *map)
{
	AUTO_FREE char *buf = NULL;
	struct stat st;
	struct err *err;
	size_t room;

	if (fstat(map->fd, &st) || st.st_size <= map->read || st.st_size == map->seen)
		return;
	room = (size_t)MIN(st.st_size - map->read, (off_t)PIECE);
	buf = malloc(room);
	err = buf ? read_more(map, buf, room) : err_nomem;
	if (err && err->code != ERR_CANCELLED) {
		map->dropped = true;
		forget(map);
		debug_file_warn(map->search,
				err_wrap(err, "no names of JIT code: process %d", map->pid));
		return;
	}
	spans_sort(&map->spans);
	if (!err)
		map->seen = st.st_size;
}

bool perf_map_find(struct perf_map *map, uint64_t addr, const char **name_ret, uint64_t *start_ret)
{
	const struct span *span = NULL, *last = NULL;

	if (!map->pid || map->dropped)
		return false;
	if (map->fd < 0 && !map->looked)
		map->fd = open_map(map);
	/* Code with a known name may have been replaced since the last answer. */
	if (map->fd >= 0 && !map->looked)
		update(map);
	map->looked = true;
	while ((span = spans_find(&map->spans, addr, span)))
		if (!last || span->value > last->value)
			last = span;
	if (!last)
		return false;
	*name_ret = map->text.at + map->entries.at[last->value].name;
	*start_ret = map->entries.at[last->value].start;
	return true;
}
