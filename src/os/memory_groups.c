/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Control groups with memory limits: cgroups(7), cgroup_namespaces(7).
 *
 * The path in /proc/PID/cgroup begins at the root of the reader's cgroup namespace, and so does the
 * root of a mount in mountinfo. A mount may show only a part of the tree, as in a container:
 *
 *	path /docker/ab/job   root /            folder MOUNT/docker/ab/job
 *	path /docker/ab/job   root /docker/ab   folder MOUNT/job
 *	path /job             root /..          the mount begins above the namespace; the names
 *						between are not known, but MOUNT is above the process
 *	path /../other        root /            outside of what is mounted
 *
 * A name `..` is never looked up: it would lead out of the mount.
 */

#include "os/memory_groups.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "os/kernel_text.h"
#include "os/procfs.h"

#define PATH_ROOM	MEMORY_GROUP_PATH
/* Version 1 has a number of pages of LONG_MAX bytes for "no limit". */
#define NO_LIMIT_V1	((uint64_t)INT64_MAX - (1 << 20))
#define FIGURES		((sizeof(struct memory_group) - offsetof(struct memory_group, limit)) / \
			 sizeof(uint64_t))

#define KEY(member, name)	{ name, offsetof(struct memory_group, member), false }

/* The file of one number for each figure. */
struct number_file {
	const char *name;
	size_t offset;
};

#define FILE_OF(member, name)	{ name, offsetof(struct memory_group, member) }

static const struct number_file files_v1[] = {
	FILE_OF(limit, "memory.limit_in_bytes"),
	FILE_OF(use, "memory.usage_in_bytes"),
	FILE_OF(swap_limit, "memory.memsw.limit_in_bytes"),
	FILE_OF(swap_use, "memory.memsw.usage_in_bytes"),
	FILE_OF(kernel, "memory.kmem.usage_in_bytes"),
	FILE_OF(at_limit, "memory.failcnt"),
};

static const struct number_file files_v2[] = {
	FILE_OF(limit, "memory.max"),
	FILE_OF(high, "memory.high"),
	FILE_OF(use, "memory.current"),
	FILE_OF(swap_limit, "memory.swap.max"),
	FILE_OF(swap_use, "memory.swap.current"),
};

static const struct kernel_key stat_v1[] = {
	KEY(anonymous, "total_rss"),
	KEY(file, "total_cache"),
	KEY(shared, "total_shmem"),
	KEY(inactive_file, "total_inactive_file"),
	KEY(least_limit, "hierarchical_memory_limit"),
	KEY(least_swap_limit, "hierarchical_memsw_limit"),
};

static const struct kernel_key stat_v2[] = {
	KEY(anonymous, "anon"),
	KEY(file, "file"),
	KEY(shared, "shmem"),
	KEY(kernel, "kernel"),
	KEY(sockets, "sock"),
	KEY(slab, "slab"),
	KEY(page_tables, "pagetables"),
	KEY(kernel_stacks, "kernel_stack"),
	KEY(inactive_file, "inactive_file"),
};

static const struct kernel_key events_v1[] = { KEY(oom_kills, "oom_kill") };
static const struct kernel_key events_v2[] = {
	KEY(at_limit, "max"),
	KEY(at_limit, "high"),
	KEY(oom_kills, "oom_kill"),
};

static uint64_t limit_v1(uint64_t limit)
{
	return kernel_is_number(limit) && limit >= NO_LIMIT_V1 ? KERNEL_NO_LIMIT : limit;
}

static void read_v1(const char *folder, struct memory_group *ret)
{
	kernel_text_table_file(folder, "memory.stat", stat_v1, ARRAY_SIZE(stat_v1), ret);
	kernel_text_table_file(folder, "memory.oom_control", events_v1, ARRAY_SIZE(events_v1), ret);
	ret->limit = limit_v1(ret->limit);
	ret->swap_limit = limit_v1(ret->swap_limit);
	ret->least_limit = limit_v1(ret->least_limit);
	ret->least_swap_limit = limit_v1(ret->least_swap_limit);
}

static void read_pressure(const char *folder, struct pressure *ret)
{
	AUTO_FREE char *path = NULL, *text = NULL;
	struct err *err;

	if (asprintf(&path, "%s/memory.pressure", folder) < 0) {
		path = NULL;
		return;
	}
	err = kernel_text(path, &text);
	if (err)
		err_ignore(err);
	else
		pressure_parse(text, ret);
}

static void read_v2(const char *folder, struct memory_group *ret)
{
	kernel_text_table_file(folder, "memory.stat", stat_v2, ARRAY_SIZE(stat_v2), ret);
	kernel_text_table_file(folder, "memory.events", events_v2, ARRAY_SIZE(events_v2), ret);
	read_pressure(folder, &ret->pressure);
}

static void read_figures(const char *folder, unsigned version, struct memory_group *ret)
{
	const struct number_file *files = version == 1 ? files_v1 : files_v2;
	size_t nr = version == 1 ? ARRAY_SIZE(files_v1) : ARRAY_SIZE(files_v2);

	kernel_text_unknown(&ret->limit, FIGURES);
	for (size_t i = 0; i < nr; i++)
		*(uint64_t *)((char *)ret + files[i].offset) =
			kernel_text_number_file(folder, files[i].name);
	if (!kernel_is_number(ret->use))
		return;
	if (version == 1)
		read_v1(folder, ret);
	else
		read_v2(folder, ret);
}

static void free_names(struct memory_group *group)
{
	free(group->path);
	free(group->folder);
}

/*
 * Read a group and add it. Nothing is added if it has no use: the folder is not there, or it is the
 * root of version 2, which has no limit.
 */
static struct err *add_group(const char *folder, const char *path, struct memory_groups *to)
{
	struct memory_group group;
	struct err *err = err_nomem;

	read_figures(folder, to->version, &group);
	if (!kernel_is_number(group.use))
		return NULL;
	group.path = strdup(path);
	group.folder = strdup(folder);
	if (group.path && group.folder)
		err = vec_push(&to->vec, group);
	if (err)
		free_names(&group);
	return err;
}

void memory_groups_again(struct memory_groups *groups)
{
	vec_each(group, &groups->vec)
		read_figures(group->folder, groups->version, group);
}

/*
 * Before 5.11 a group of version 1 counts those below it only if it is told to. The file says so,
 * and is missing or 1 in later kernels.
 */
static bool counts_those_below(const char *folder)
{
	return kernel_text_number_file(folder, "memory.use_hierarchy") != 0;
}

/* A mount of the hierarchy that has the memory controller. */
struct mount {
	char root[PATH_ROOM], folder[PATH_ROOM];
};

/* Cut the last name off. */
static void go_up(struct str *path)
{
	char *last = strrchr(path->at, '/');

	*last = '\0';
	path->len = (size_t)(last - path->at);
}

/* Add the group at `below` (empty, or "/a/b") in the mount, and those above it in the mount. */
static struct err *add_upwards(const struct mount *mount, const char *below,
			       struct memory_groups *to)
{
	const char *root = strcmp(mount->root, "/") ? mount->root : "";
	AUTO_STR struct str folder = STR_INIT, path = STR_INIT;
	size_t top = strlen(mount->folder);
	struct err *err = str_addf(&folder, "%s%s", mount->folder, below);
	bool own = true;

	if (!err)
		err = str_addf(&path, "%s%s", root, below);
	while (!err) {
		if (own || to->version == 2 || counts_those_below(folder.at))
			err = add_group(folder.at, path.len ? path.at : "/", to);
		if (folder.len <= top)
			break;
		own = false;
		go_up(&folder);
		go_up(&path);
	}
	return err;
}

static bool has_dots(const char *path)
{
	for (const char *at = strstr(path, "/.."); at; at = strstr(at + 1, "/.."))
		if (!at[3] || at[3] == '/')
			return true;
	return false;
}

/* Is every name of the path `..`? */
static bool is_only_dots(const char *path)
{
	while (!strncmp(path, "/..", 3))
		path += 3;
	return !*path;
}

const char *memory_groups_below(const char *path, const char *root)
{
	size_t len = strcmp(root, "/") ? strlen(root) : 0;

	if (strncmp(path, root, len) || (path[len] && path[len] != '/'))
		return NULL;
	path += len;
	if (has_dots(path))
		return NULL;
	return strcmp(path, "/") ? path : "";
}

/* Copy the next word of a line of mountinfo, in which \040 stands for a blank, and so on. */
static const char *take_word(const char *at, char *ret, size_t room)
{
	size_t len = 0;

	while (*at && *at != ' ' && *at != '\n') {
		char c = *at++;

		if (c == '\\' && at[0] >= '0' && at[0] <= '3' && at[1] >= '0' && at[1] <= '7' &&
		    at[2] >= '0' && at[2] <= '7') {
			c = (char)((at[0] - '0') << 6 | (at[1] - '0') << 3 | (at[2] - '0'));
			at += 3;
		}
		if (len + 1 < room)
			ret[len++] = c;
	}
	ret[len] = '\0';
	return at + (*at == ' ');
}

static bool has_option(const char *options, const char *name)
{
	size_t len = strlen(name);

	for (; *options; options += strcspn(options, ",") + (strchr(options, ',') != NULL))
		if (!strncmp(options, name, len) && (!options[len] || options[len] == ','))
			return true;
	return false;
}

/* "36 35 98:0 ROOT FOLDER rw,noatime shared:1 - TYPE SOURCE OPTIONS" */
static bool parse_mount(const char *line, unsigned version, struct mount *ret)
{
	char type[16], options[1024], word[PATH_ROOM];
	const char *at = line;

	for (unsigned i = 0; i < 3; i++)
		at = take_word(at, word, sizeof(word));
	at = take_word(at, ret->root, sizeof(ret->root));
	at = take_word(at, ret->folder, sizeof(ret->folder));
	do {
		at = take_word(at, word, sizeof(word));
	} while (*word && strcmp(word, "-"));
	at = take_word(at, type, sizeof(type));
	at = take_word(at, word, sizeof(word));
	take_word(at, options, sizeof(options));
	if (*ret->root != '/' || *ret->folder != '/')
		return false;
	if (version == 2)
		return !strcmp(type, "cgroup2");
	return !strcmp(type, "cgroup") && has_option(options, "memory");
}

/*
 * Find the mount to look into: one that the process's group is below, or else one that begins above
 * the namespace. Returns the path below the mount; NULL if there is none.
 */
static const char *find_mount(const char *mountinfo, unsigned version, const char *path,
			      struct mount *ret, bool *any_ret)
{
	AUTO_FREE struct mount *mount = malloc(sizeof(*mount));
	const char *found = NULL;

	*any_ret = false;
	for (; mount && *mountinfo && !found; mountinfo += *mountinfo == '\n') {
		if (parse_mount(mountinfo, version, mount)) {
			*any_ret = true;
			found = memory_groups_below(path, mount->root);
			if (found)
				*ret = *mount;
			else if (is_only_dots(mount->root) && !has_dots(path))
				*ret = *mount;
		}
		mountinfo += strcspn(mountinfo, "\n");
	}
	return found;
}

unsigned memory_groups_parse(const char *text, char path[PATH_ROOM])
{
	unsigned version = 0;

	*path = '\0';
	while (*text) {
		size_t len = strcspn(text, "\n");
		const char *list = memchr(text, ':', len);
		const char *at = list ? memchr(list + 1, ':', len - (size_t)(list + 1 - text)) : NULL;
		char names[256];
		bool first = false, second = false;

		if (at) {
			snprintf(names, sizeof(names), "%.*s", (int)(at - list - 1), list + 1);
			first = has_option(names, "memory");
			second = !*names && text[0] == '0' && list == text + 1 && !version;
		}
		if (first || second) {
			snprintf(path, PATH_ROOM, "%.*s", (int)(text + len - at - 1), at + 1);
			version = first ? 1 : 2;
		}
		text += len + (text[len] == '\n');
	}
	return *path == '/' && strlen(path) < PATH_ROOM - 256 ? version : 0;
}

static void say(struct memory_groups *groups, const char *why)
{
	snprintf(groups->why, sizeof(groups->why), "%s", why);
}

/*
 * The mount is below the root of another process, which may have put anything there: only a file
 * system of control groups is looked into, by a descriptor.
 */
static void enter_mount(pid_t pid, struct mount *mount, struct memory_groups *groups)
{
	AUTO_FREE char *path = NULL;
	struct statfs is;
	int fd = -1;

	if (asprintf(&path, "/proc/%d/root%s", pid, mount->folder) < 0)
		path = NULL;
	*mount->folder = '\0';
	if (path)
		fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	groups->mount = fd + 1;
	if (fd >= 0 && !fstatfs(fd, &is) &&
	    (is.f_type == CGROUP_SUPER_MAGIC || is.f_type == CGROUP2_SUPER_MAGIC))
		snprintf(mount->folder, sizeof(mount->folder), "/proc/self/fd/%d", fd);
}

/* pid is 0, or that of the process whose mountinfo it is. */
static struct err *read_groups(const char *path, const char *mountinfo, pid_t pid,
			       struct memory_groups *groups)
{
	AUTO_FREE struct mount *mount = calloc(1, sizeof(*mount));
	const char *at;
	bool any;

	if (!mount)
		return err_nomem;
	at = find_mount(mountinfo, groups->version, path, mount, &any);
	if (pid && *mount->folder)
		enter_mount(pid, mount, groups);
	if (!any)
		say(groups, "no control groups with memory are mounted here");
	else if (!at && !*mount->folder)
		say(groups, "its control group is outside of those that are mounted here");
	else if (!at)
		say(groups, "its control groups below this one have names that cannot be known "
			      "here");
	return *mount->folder ? add_upwards(mount, at ? at : "", groups) : NULL;
}

static struct err *groups_of(const char *cgroup, const char *mountinfo, pid_t pid,
			     struct memory_groups *ret)
{
	struct memory_groups groups = { .vec = VEC_INIT };
	AUTO_FREE char *path = malloc(PATH_ROOM);
	struct err *err;

	if (!path)
		return err_nomem;
	groups.version = memory_groups_parse(cgroup, path);
	if (!groups.version) {
		say(&groups, "it is in no control group with memory");
		*ret = groups;
		return NULL;
	}
	err = read_groups(path, mountinfo, pid, &groups);
	if (err) {
		memory_groups_free(&groups);
		return err;
	}
	if (!groups.vec.nr && !*groups.why)
		say(&groups, "its control groups have no limits of memory");
	*ret = groups;
	return NULL;
}

struct err *memory_groups_of(const char *cgroup, const char *mountinfo, struct memory_groups *ret)
{
	return groups_of(cgroup, mountinfo, 0, ret);
}

/* What the process sees of its own groups, if mdbg sees none of them. */
static void read_below_root(pid_t pid, const char *cgroup, struct memory_groups *groups)
{
	AUTO_FREE char *mountinfo = NULL;
	struct memory_groups there;
	struct err *err = procfs_file(pid, "mountinfo", &mountinfo, NULL);

	if (!err)
		err = groups_of(cgroup, mountinfo, pid, &there);
	if (err) {
		err_ignore(err);
		return;
	}
	if (there.vec.nr) {
		memory_groups_free(groups);
		say(&there, "of its control groups only those that it sees itself can be seen here");
		*groups = there;
	} else {
		memory_groups_free(&there);
	}
}

struct err *memory_groups_read(pid_t pid, struct memory_groups *ret)
{
	AUTO_FREE char *cgroup = NULL, *mountinfo = NULL;
	struct err *err = procfs_file(pid, "cgroup", &cgroup, NULL);

	if (!err)
		err = kernel_text("/proc/self/mountinfo", &mountinfo);
	if (!err)
		err = memory_groups_of(cgroup, mountinfo, ret);
	if (!err && !ret->vec.nr && ret->version)
		read_below_root(pid, cgroup, ret);
	return err;
}

void memory_groups_free(struct memory_groups *groups)
{
	vec_each(group, &groups->vec)
		free_names(group);
	vec_free(&groups->vec);
	if (groups->mount)
		close(groups->mount - 1);
	groups->mount = 0;
}

/* KERNEL_UNKNOWN is larger than any limit: where one of them is not known, the other holds. */
uint64_t memory_group_limit(const struct memory_group *group)
{
	return MIN(group->limit, group->high);
}

uint64_t memory_group_hard_use(const struct memory_group *group)
{
	if (!kernel_is_number(group->use) || !kernel_is_number(group->inactive_file))
		return group->use;
	return group->use - MIN(group->use, group->inactive_file);
}

static uint64_t left_of(uint64_t limit, uint64_t use)
{
	if (!kernel_is_number(limit))
		return limit;
	if (!kernel_is_number(use))
		return KERNEL_UNKNOWN;
	return limit > use ? limit - use : 0;
}

uint64_t memory_group_left(const struct memory_group *group)
{
	return left_of(memory_group_limit(group), memory_group_hard_use(group));
}

uint64_t memory_group_least_left(const struct memory_groups *groups,
				 const struct memory_group *group)
{
	uint64_t use = memory_group_hard_use(group), swapped = 0;
	uint64_t both = MIN(group->swap_limit, group->least_swap_limit);
	uint64_t left = MIN(memory_group_left(group), left_of(group->least_limit, use));

	if (groups->version != 1 || !kernel_is_number(group->swap_use))
		return left;
	if (kernel_is_number(group->use) && group->swap_use > group->use)
		swapped = group->swap_use - group->use;
	return MIN(left, left_of(both, kernel_text_sum(use, swapped)));
}

const struct memory_group *memory_groups_nearest(const struct memory_groups *groups)
{
	const struct memory_group *nearest = NULL;
	uint64_t least = KERNEL_NO_LIMIT;

	vec_each(group, &groups->vec) {
		if (memory_group_left(group) < least) {
			least = memory_group_left(group);
			nearest = group;
		}
	}
	return nearest;
}
