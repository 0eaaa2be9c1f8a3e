/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Control groups: cgroups(7), Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst.
 *
 * The path in /proc/PID/cgroup starts at the root of the reader's cgroup namespace, but the mount
 * may show another part of the tree (a container's own group is at its root). So folders that do
 * not exist are skipped on the way up, and the mount's own root is always read.
 */

#include "os/cgroup.h"

#include "base/cleanup.h"
#include "os/file.h"
#include "os/procfs.h"

#define MOUNT	"/sys/fs/cgroup"

/* Names of the files of a controller. */
struct names {
	const char *limit, *soft, *usage, *idle;	/* soft, idle: may be NULL */
};

static const struct names memory_v2 = { "memory.max", "memory.high", "memory.current",
					"inactive_file " };
static const struct names memory_v1 = { "memory.limit_in_bytes", NULL, "memory.usage_in_bytes",
					"total_inactive_file " };
static const struct names pids = { "pids.max", NULL, "pids.current", NULL };

/* False: there is no such file, or it says "max". */
static bool read_number(const char *folder, const char *name, const char *key, uint64_t *ret)
{
	char path[4352];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return file_number(path, key, ret);
}

static uint64_t room_in(const char *folder, const struct names *names)
{
	uint64_t limit = UINT64_MAX, soft, usage, idle = 0;

	if (!read_number(folder, names->limit, "", &limit))
		limit = UINT64_MAX;
	if (names->soft && read_number(folder, names->soft, "", &soft))
		limit = MIN(limit, soft);
	if (limit == UINT64_MAX || !read_number(folder, names->usage, "", &usage))
		return UINT64_MAX;
	if (names->idle && read_number(folder, "memory.stat", names->idle, &idle))
		usage -= MIN(usage, idle);
	return limit > usage ? limit - usage : 0;
}

/* Take the room that is left, from the group up to the root of the mount. */
static void take_room(const char *mount, const char *path, const struct names *names, uint64_t *ret)
{
	size_t root = strlen(mount);
	char folder[4096];
	uint64_t room;

	snprintf(folder, sizeof(folder), "%s%s", mount, path);
	for (;; *strrchr(folder, '/') = '\0') {
		room = room_in(folder, names);
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

/* "4:memory:/a/b"; "0::/a/b" is version 2. */
static void take_line(const char *line, const char *mount, struct cgroup_room *ret)
{
	const char *list = strchr(line, ':'), *path = list ? strchr(++list, ':') : NULL;
	size_t len = path ? (size_t)(path++ - list) : 0;
	char at[512];

	if (!path)
		return;
	if (!len) {
		snprintf(at, sizeof(at), "%s/unified", mount);
		take_room(mount, path, &memory_v2, &ret->memory);
		take_room(at, path, &memory_v2, &ret->memory);
		take_room(mount, path, &pids, &ret->tasks);
		take_room(at, path, &pids, &ret->tasks);
		return;
	}
	snprintf(at, sizeof(at), "%s/%.*s", mount, (int)len, list);
	if (has_controller(list, len, "memory"))
		take_room(at, path, &memory_v1, &ret->memory);
	if (has_controller(list, len, "pids"))
		take_room(at, path, &pids, &ret->tasks);
}

void cgroup_room_of(const char *text, const char *mount, struct cgroup_room *ret)
{
	char line[4096];

	*ret = (struct cgroup_room){ UINT64_MAX, UINT64_MAX };
	while (*text) {
		size_t len = strcspn(text, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)MIN(len, sizeof(line) - 1), text);
		take_line(line, mount, ret);
		text += len + (text[len] == '\n');
	}
}

void cgroup_room(pid_t pid, struct cgroup_room *ret)
{
	AUTO_FREE char *text = NULL;

	*ret = (struct cgroup_room){ UINT64_MAX, UINT64_MAX };
	if (!procfs_file(pid, "cgroup", &text, NULL))
		cgroup_room_of(text, MOUNT, ret);
}
