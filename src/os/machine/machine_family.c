/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the processes that belong together, and what each of them holds. */

#include "os/machine/machine_family.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "os/memory_groups.h"
#include "os/memory_lock.h"

struct shares {
	uint64_t pss, private;
};

static const struct kernel_key keys[] = {
	{ "Pss", offsetof(struct shares, pss), false },
	{ "Private_Clean", offsetof(struct shares, private), false },
	{ "Private_Dirty", offsetof(struct shares, private), false },
	{ "Private_Hugetlb", offsetof(struct shares, private), false },
};

static void read_shares(const char *proc, struct machine_holder *process)
{
	struct shares shares = { KERNEL_UNKNOWN, KERNEL_UNKNOWN };
	struct err *locked = memory_lock_check(process->pid);
	char folder[4096];

	snprintf(folder, sizeof(folder), "%s/%d", proc, process->pid);
	if (!locked)
		kernel_text_table_file(folder, "smaps_rollup", keys, ARRAY_SIZE(keys), &shares);
	err_ignore(locked);
	process->pss = shares.pss;
	process->private = shares.private;
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
