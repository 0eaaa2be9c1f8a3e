/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The limit on tasks of control groups: cgroups(7).
 *
 * The path in /proc/PID/cgroup starts at the root of the reader's cgroup namespace, but the mount
 * may show another part of the tree (a container's own group is at its root). So folders that do
 * not exist are skipped on the way up, and the mount's own root is always read.
 */

#include "os/cgroup.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "os/file.h"
#include "os/procfs.h"

#define MOUNT	"/sys/fs/cgroup"

/* False: there is no such file, or it says "max". */
static bool read_number(const char *folder, const char *name, uint64_t *ret)
{
	char path[4352];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return file_number(path, "", ret);
}

static uint64_t room_in(const char *folder)
{
	uint64_t limit, used;

	if (!read_number(folder, "pids.max", &limit) || !read_number(folder, "pids.current", &used))
		return UINT64_MAX;
	return limit > used ? limit - used : 0;
}

/* Take the room that is left, from the group up to the root of the mount. */
static void take_room(const char *mount, const char *path, uint64_t *ret)
{
	size_t root = strlen(mount);
	char folder[4096];
	uint64_t room;

	snprintf(folder, sizeof(folder), "%s%s", mount, path);
	for (;; *strrchr(folder, '/') = '\0') {
		room = room_in(folder);
		*ret = MIN(*ret, room);
		if (strlen(folder) <= root)
			return;
	}
}

static bool has_controller(const char *list, size_t len, const char *name)
{
	size_t want = strlen(name);

	for (const char *at = list; at + want <= list + len; at++)
		if (!memcmp(at, name, want) && (at == list || at[-1] == ',') &&
		    (at + want == list + len || at[want] == ','))
			return true;
	return false;
}

/* "4:pids:/a/b"; "0::/a/b" is version 2. */
static void take_line(const char *line, const char *mount, uint64_t *ret)
{
	const char *list = strchr(line, ':'), *path = list ? strchr(++list, ':') : NULL;
	size_t len = path ? (size_t)(path++ - list) : 0;
	char at[512];

	if (!path)
		return;
	if (!len) {
		snprintf(at, sizeof(at), "%s/unified", mount);
		take_room(mount, path, ret);
		take_room(at, path, ret);
	} else if (has_controller(list, len, "pids")) {
		snprintf(at, sizeof(at), "%s/%.*s", mount, (int)len, list);
		take_room(at, path, ret);
	}
}

uint64_t cgroup_tasks_of(const char *text, const char *mount)
{
	uint64_t room = UINT64_MAX;
	char line[4096];

	while (*text) {
		size_t len = strcspn(text, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)MIN(len, sizeof(line) - 1), text);
		take_line(line, mount, &room);
		text += len + (text[len] == '\n');
	}
	return room;
}

uint64_t cgroup_tasks(pid_t pid)
{
	AUTO_FREE char *text = NULL;
	struct err *err = procfs_file(pid, "cgroup", &text, NULL);

	if (!err)
		return cgroup_tasks_of(text, MOUNT);
	err_ignore(err);
	return UINT64_MAX;
}
