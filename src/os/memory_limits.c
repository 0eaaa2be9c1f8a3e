/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The limits on memory that hold for a process, and for mdbg (memory_limits.h). */

#include "os/memory_limits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/file.h"
#include "os/kernel_text.h"
#include "os/procfs.h"

#define OVERCOMMIT_NEVER	2

static void PRINTF(2, 3) name(struct memory_limit *limit, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(limit->name, sizeof(limit->name), fmt, ap);
	va_end(ap);
}

static void PRINTF(2, 3) hint(struct memory_limit *limit, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(limit->hint, sizeof(limit->hint), fmt, ap);
	va_end(ap);
}

static uint64_t file_figure(const struct memory_limits *limits, const char *file, const char *key)
{
	char path[320];
	uint64_t value;

	snprintf(path, sizeof(path), "%s/%s", limits->proc, file);
	return file_number(path, key, &value) ? value : UINT64_MAX;
}

static bool is_strict(const struct memory_limits *limits)
{
	return file_figure(limits, "sys/vm/overcommit_memory", "") == OVERCOMMIT_NEVER;
}

static uint64_t minus(uint64_t limit, uint64_t used)
{
	return limit > used ? limit - used : 0;
}

/* The bytes that the process once had beyond those that it has now. */
static uint64_t given_back(const struct memory_limits *limits)
{
	struct proc_status status;
	struct err *err = limits->pid ? procfs_status(limits->pid, &status) : NULL;

	if (err || !limits->pid) {
		err_ignore(err);
		return 0;
	}
	return minus(status.peak_kb, status.rss_kb) << 10;
}

static void left_of_addresses(struct memory_limits *limits, struct memory_limit *ret)
{
	char file[32];
	struct proc_status status;
	uint64_t limit;
	struct err *err = limits->pid ? procfs_status(limits->pid, &status) : NULL;

	if (err || !limits->pid) {
		err_ignore(err);
		return;
	}
	snprintf(file, sizeof(file), "%d/limits", limits->pid);
	limit = file_figure(limits, file, "Max address space");
	if (limit == UINT64_MAX)
		return;
	ret->left = minus(limit, status.vm_kb << 10);
	name(ret, "the address space of process %d is limited to %" PRIu64 "M (RLIMIT_AS)",
	     limits->pid, limit >> 20);
	hint(ret, "prlimit --pid %d --as=unlimited, then attach again", limits->pid);
}

static void left_to_commit(struct memory_limits *limits, struct memory_limit *ret)
{
	uint64_t limit, used;

	if (!is_strict(limits))
		return;
	limit = file_figure(limits, "meminfo", "CommitLimit:");
	used = file_figure(limits, "meminfo", "Committed_AS:");
	if (limit == UINT64_MAX)
		return;
	ret->left = minus(limit << 10, used == UINT64_MAX ? 0 : used << 10);
	name(ret, "memory is never overcommitted here (vm.overcommit_memory)");
	hint(ret, "vm.overcommit_memory = 0, or a larger vm.overcommit_ratio");
}

static void left_of_groups(struct memory_groups *groups, const char *whose,
			   struct memory_limit *ret)
{
	vec_each(group, &groups->vec) {
		uint64_t left = memory_group_least_left(groups, group);

		if (!kernel_is_number(left) || left >= ret->left)
			continue;
		ret->left = left;
		name(ret, "the control group %.100s%s has a limit of memory", group->path, whose);
		hint(ret, groups->version == 1 ? "a larger memory.limit_in_bytes of the group" :
		     "a larger memory.max, or memory.high, of the group");
	}
}

static void left_of_its_groups(struct memory_limits *limits, struct memory_limit *ret)
{
	left_of_groups(&limits->groups, "", ret);
	if (ret->left != UINT64_MAX)
		ret->left = minus(ret->left, given_back(limits));
}

static void left_of_own_groups(struct memory_limits *limits, struct memory_limit *ret)
{
	left_of_groups(&limits->own, " of mdbg", ret);
}

static void left_of_machine(struct memory_limits *limits, struct memory_limit *ret)
{
	uint64_t available = file_figure(limits, "meminfo", "MemAvailable:");

	if (available == UINT64_MAX)
		return;
	ret->left = minus(available << 10, given_back(limits));
	name(ret, "the machine has little memory available");
	hint(ret, "`memory system` says who has it");
}

static void left_of_own(struct memory_limits *limits, struct memory_limit *ret)
{
	static const struct {
		int resource;
		const char *name;
		bool data;
	} rows[] = { { RLIMIT_AS, "RLIMIT_AS", false }, { RLIMIT_DATA, "RLIMIT_DATA", true } };
	uint64_t used[] = { file_figure(limits, "self/status", "VmSize:"),
			    file_figure(limits, "self/status", "VmData:") };
	struct rlimit limit;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t left;

		if (getrlimit(rows[i].resource, &limit) || limit.rlim_cur == RLIM_INFINITY ||
		    used[rows[i].data] == UINT64_MAX)
			continue;
		left = minus(limit.rlim_cur, used[rows[i].data] << 10);
		if (left >= ret->left)
			continue;
		ret->left = left;
		name(ret, "mdbg itself is limited to %" PRIu64 "M (%s)",
		     (uint64_t)limit.rlim_cur >> 20, rows[i].name);
		hint(ret, "ulimit -v unlimited; ulimit -d unlimited");
	}
}

static const struct {
	unsigned kind;
	void (*left)(struct memory_limits *limits, struct memory_limit *ret);
} table[] = {
	{ MEMORY_LIMIT_ADDRESSES, left_of_addresses },
	{ MEMORY_LIMIT_COMMIT, left_to_commit },
	{ MEMORY_LIMIT_GROUPS, left_of_its_groups },
	{ MEMORY_LIMIT_OWN_GROUPS, left_of_own_groups },
	{ MEMORY_LIMIT_MACHINE, left_of_machine },
	{ MEMORY_LIMIT_OWN, left_of_own },
};

void memory_limits_least(struct memory_limits *limits, unsigned kinds, struct memory_limit *ret)
{
	*ret = (struct memory_limit){ .left = UINT64_MAX };
	if (!limits->fresh && kinds & MEMORY_LIMIT_GROUPS)
		memory_groups_again(&limits->groups);
	if (!limits->fresh && kinds & MEMORY_LIMIT_OWN_GROUPS)
		memory_groups_again(&limits->own);
	if (kinds & (MEMORY_LIMIT_GROUPS | MEMORY_LIMIT_OWN_GROUPS))
		limits->fresh = false;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct memory_limit one = { .left = UINT64_MAX, .kind = table[i].kind };

		if (!(table[i].kind & kinds))
			continue;
		table[i].left(limits, &one);
		if (one.left < ret->left)
			*ret = one;
	}
}

static void find_groups(pid_t pid, struct memory_groups *ret)
{
	struct err *err = memory_groups_read(pid, ret);

	if (!err)
		return;
	err_ignore(err);
	*ret = (struct memory_groups){ .vec = VEC_INIT };
}

static bool is_in_own_groups(pid_t pid)
{
	AUTO_FREE char *its = NULL, *own = NULL;
	struct err *err = procfs_file(pid, "cgroup", &its, NULL);

	if (!err)
		err = procfs_file(getpid(), "cgroup", &own, NULL);
	if (!err)
		return !strcmp(its, own);
	err_ignore(err);
	return false;
}

void memory_limits_open(pid_t pid, struct memory_limits *ret)
{
	*ret = (struct memory_limits){ .pid = pid, .proc = "/proc", .fresh = true };
	if (pid)
		find_groups(pid, &ret->groups);
	if (!pid || !is_in_own_groups(pid))
		find_groups(getpid(), &ret->own);
}

void memory_limits_close(struct memory_limits *limits)
{
	memory_groups_free(&limits->groups);
	memory_groups_free(&limits->own);
}

void memory_limits_of(pid_t pid, unsigned kinds, struct memory_limit *ret)
{
	struct memory_limits limits = { .pid = pid, .proc = "/proc" };

	if (kinds & (MEMORY_LIMIT_GROUPS | MEMORY_LIMIT_OWN_GROUPS))
		memory_limits_open(pid, &limits);
	memory_limits_least(&limits, kinds, ret);
	memory_limits_close(&limits);
}

bool memory_limits_never_overcommitted(void)
{
	const struct memory_limits limits = { .proc = "/proc" };

	return is_strict(&limits);
}
