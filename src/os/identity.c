/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the user, the namespaces and the program of a process (identity.h). */

#include "os/identity.h"

#include <sys/stat.h>

#include "base/cleanup.h"
#include "os/procfs.h"

#define LEVELS	33	/* the kernel's MAX_PID_NS_LEVEL, and the first one */

static const char *const space_names[IDENTITY_SPACES] = { "user", "mnt", "pid" };

/* Read the numbers behind a line's name. Returns how many there were. */
static size_t numbers(const char *status, const char *name, uint64_t *ret, size_t room)
{
	const char *at = strstr(status, name);
	size_t nr = 0;

	if (!at)
		return 0;
	for (at += strlen(name); nr < room; nr++) {
		at += strspn(at, " \t");
		if (*at < '0' || *at > '9')
			break;
		ret[nr] = strtoull(at, (char **)&at, 10);
	}
	return nr;
}

static struct err *read_ids(pid_t tid, struct identity *ret)
{
	AUTO_FREE char *text = NULL;
	uint64_t uid[IDENTITY_IDS], gid[IDENTITY_IDS];
	struct err *err = procfs_file(tid, "status", &text, NULL);

	if (err)
		return err;
	/* A newline in the process name, which comes first, is escaped. */
	if (numbers(text, "\nUid:", uid, IDENTITY_IDS) < IDENTITY_IDS ||
	    numbers(text, "\nGid:", gid, IDENTITY_IDS) < IDENTITY_IDS)
		return err_create(ERR_FORMAT, "/proc/%d/status: no user ids", tid);
	for (size_t i = 0; i < IDENTITY_IDS; i++) {
		ret->uid[i] = (uid_t)uid[i];
		ret->gid[i] = (gid_t)gid[i];
	}
	return NULL;
}

static struct err *look(pid_t tid, const char *name, struct stat *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
	return stat(path, ret) ? err_sys("%s", path) : NULL;
}

static struct err *read_spaces(pid_t tid, struct identity *ret)
{
	struct err *err = NULL;

	for (size_t i = 0; i < IDENTITY_SPACES && !err; i++) {
		struct stat st;
		char name[16];

		snprintf(name, sizeof(name), "ns/%s", space_names[i]);
		err = look(tid, name, &st);
		if (!err)
			ret->space[i] = st.st_ino;
	}
	return err;
}

struct err *identity_read(pid_t tid, struct identity *ret)
{
	struct identity identity = { .start_brk = 0 };
	struct proc_stat proc;
	struct stat exe;
	struct err *err = read_ids(tid, &identity);

	if (!err)
		err = read_spaces(tid, &identity);
	if (!err)
		err = procfs_stat(tid, &proc);
	if (!err)
		err = look(tid, "exe", &exe);
	if (err)
		return err;
	identity.start_brk = proc.start_brk;
	identity.exe_dev = exe.st_dev;
	identity.exe_inode = exe.st_ino;
	*ret = identity;
	return NULL;
}

const char *identity_difference(const struct identity *a, const struct identity *b)
{
	if (memcmp(a->uid, b->uid, sizeof(a->uid)) || memcmp(a->gid, b->gid, sizeof(a->gid)))
		return "it is another user's";
	if (memcmp(a->space, b->space, sizeof(a->space)))
		return "it lives in other namespaces";
	if (a->exe_dev != b->exe_dev || a->exe_inode != b->exe_inode ||
	    a->start_brk != b->start_brk)
		return "it executes another program";
	return NULL;
}

bool identity_has_uid(const struct identity *identity, uid_t uid)
{
	bool has = false;

	for (size_t i = 0; i < IDENTITY_IDS; i++)
		has |= identity->uid[i] == uid;
	return has;
}

/*
 * Read the ids of the process in all namespaces where it has one, the outermost first. Returns how
 * many there are.
 */
static size_t read_levels(pid_t pid, uint64_t id[LEVELS])
{
	AUTO_FREE char *text = NULL;

	if (procfs_file(pid, "status", &text, NULL))
		return 0;
	return numbers(text, "\nNSpid:", id, LEVELS);
}

bool identity_proc_is_own(void)
{
	uint64_t id[LEVELS];
	char self[32] = "";

	/* Ids are told from the namespace of /proc inwards: there is one. An old kernel has none. */
	return readlink("/proc/self", self, sizeof(self) - 1) > 0 && atoi(self) == getpid() &&
	       read_levels(getpid(), id) <= 1;
}

pid_t identity_inside(pid_t pid)
{
	uint64_t id[LEVELS];
	size_t levels = read_levels(pid, id);

	return levels ? (pid_t)id[levels - 1] : pid;
}

static bool is_child(pid_t pid, pid_t parent, size_t level, uint64_t inside)
{
	uint64_t id[LEVELS];
	struct proc_stat stat;

	return !procfs_stat(pid, &stat) && stat.ppid == parent && read_levels(pid, id) >= level &&
	       id[level - 1] == inside;
}

struct err *identity_find_child(pid_t parent, uint64_t inside, pid_t *ret)
{
	uint64_t id[LEVELS];
	size_t level = read_levels(parent, id);
	struct proc_tasks all;
	pid_t found = 0;
	struct err *err = procfs_numbers("/proc", &all);

	if (err)
		return err;
	vec_each_while(pid, &all.vec, level && inside && !found)
		if (is_child(*pid, parent, level, inside))
			found = *pid;
	vec_free(&all.vec);
	if (!found)
		return err_create(ERR_NOTFOUND, "process %d has no such child", parent);
	*ret = found;
	return NULL;
}
