/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the processes that belong together, and what each of them holds. */

#include "os/machine/machine_family.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "os/memory_groups.h"
#include "os/memory_lock.h"

#define COMM_LEN	15u	/* of a name in the kernel */

struct shares {
	uint64_t pss, private, swap;
};

static const struct kernel_key keys[] = {
	{ "Pss", offsetof(struct shares, pss), false },
	{ "Private_Clean", offsetof(struct shares, private), false },
	{ "Private_Dirty", offsetof(struct shares, private), false },
	{ "Private_Hugetlb", offsetof(struct shares, private), false },
	{ "Swap", offsetof(struct shares, swap), false },
};

static void read_shares(const char *proc, struct machine_holder *process)
{
	struct shares shares = { KERNEL_UNKNOWN, KERNEL_UNKNOWN, KERNEL_UNKNOWN };
	struct err *locked = memory_lock_check(process->pid);
	char folder[4096];

	snprintf(folder, sizeof(folder), "%s/%d", proc, process->pid);
	if (!locked)
		kernel_text_table_file(folder, "smaps_rollup", keys, ARRAY_SIZE(keys), &shares);
	err_ignore(locked);
	process->pss = shares.pss;
	process->private = shares.private;
	process->swap = shares.swap;
}

/* The group of a process. False: it is not known. */
static bool read_group(const char *proc, pid_t pid, char ret[MEMORY_GROUP_PATH])
{
	AUTO_FREE char *text = NULL;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%d/cgroup", proc, pid);
	return !kernel_text(path, &text) && memory_groups_parse(text, ret);
}

static bool in_group(const char *proc, const struct machine_holder *process, const char *group)
{
	char own[MEMORY_GROUP_PATH];

	return read_group(proc, process->pid, own) && memory_groups_below(own, group);
}

static const struct machine_holder *find_pid(const struct machine_holders *processes, pid_t pid)
{
	size_t at = LOWER_BOUND(i, 0, processes->vec.nr, processes->vec.at[i].pid < pid);

	return at < processes->vec.nr && processes->vec.at[at].pid == pid ?
		&processes->vec.at[at] : NULL;
}

/* Is it pid, or below it? Ids that are taken anew while /proc is read could make a ring. */
static bool is_below(const struct machine_holders *processes, const struct machine_holder *process,
		     pid_t pid)
{
	for (size_t i = 0; process && i <= processes->vec.nr; i++) {
		if (process->pid == pid)
			return true;
		process = find_pid(processes, process->parent);
	}
	return false;
}

struct err *machine_family_find(const char *proc, pid_t pid, enum machine_family family,
				struct machine_holders *processes)
{
	char group[MEMORY_GROUP_PATH];

	if (family == FAMILY_GROUP && !read_group(proc, pid, group))
		return err_create(ERR_NOTFOUND, "the control group of process %d is not known", pid);
	vec_each(process, &processes->vec) {
		process->stranger = family == FAMILY_GROUP ? !in_group(proc, process, group) :
				    family == FAMILY_CHILDREN &&
				    !is_below(processes, process, pid);
		if (family != FAMILY_ALL && !process->stranger)
			read_shares(proc, process);
	}
	return NULL;
}

static bool has_name(const char *proc, const struct machine_holder *process, const char *name)
{
	char link[64], exe[4096];
	ssize_t len;

	if (!strncmp(process->name.bytes, name, COMM_LEN) &&
	    strnlen(name, COMM_LEN) == strlen(process->name.bytes))
		return true;
	snprintf(link, sizeof(link), "%.40s/%d/exe", proc, process->pid);
	len = readlink(link, exe, sizeof(exe) - 1);
	if (len <= 0)
		return false;
	exe[len] = '\0';
	path_cut_deleted(exe);
	return !strcmp(path_base(exe), name);
}

/* Is NAME the last part of the path of its group, or of a group above it? */
static bool in_named_group(const char *proc, const struct machine_holder *process,
			   const char *name)
{
	char group[MEMORY_GROUP_PATH], *part, *rest = group;

	if (!read_group(proc, process->pid, group))
		return false;
	while ((part = strsep(&rest, "/")))
		if (!strcmp(part, name))
			return true;
	return false;
}

typedef bool belongs_fn(const char *proc, const struct machine_holder *process, const char *what);

/* Returns how many of them belong to it. */
static size_t mark(const char *proc, belongs_fn *belongs, const char *what,
		   struct machine_holders *processes)
{
	size_t nr = 0;

	vec_each(process, &processes->vec) {
		process->stranger = process->pid == getpid() || !belongs(proc, process, what);
		nr += !process->stranger;
	}
	return nr;
}

void machine_family_service(const char *proc, const char *what, struct machine_holders *processes)
{
	if (*what == '/')
		mark(proc, in_group, what, processes);
	else if (!mark(proc, has_name, what, processes))
		mark(proc, in_named_group, what, processes);
	vec_each(process, &processes->vec)
		if (!process->stranger)
			read_shares(proc, process);
}
