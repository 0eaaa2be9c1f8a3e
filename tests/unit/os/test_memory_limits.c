/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of limits on memory, in hand-made trees of both versions of control groups. */

#include "os/memory_limits.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include "tree.h"
#include "unit.h"

/* Limits whose control groups are those of the tree, and whose /proc is it. */
static void open_tree(const struct tree *tree, const char *cgroup, const char *version,
		      struct memory_limits *ret)
{
	char mounts[1024];

	*ret = (struct memory_limits){ .proc = tree->at };
	snprintf(mounts, sizeof(mounts), "%s%s%s", !strcmp(version, "1") ?
		 "35 31 0:32 / " : "31 23 0:28 / ", tree->at, !strcmp(version, "1") ?
		 "/memory rw - cgroup none rw,memory\n" : " rw,nosuid - cgroup2 cgroup2 rw\n");
	CU_ASSERT_PTR_NULL_FATAL(memory_groups_of(cgroup, mounts, &ret->groups));
}

static uint64_t left(struct memory_limits *limits, unsigned kinds, const char *name)
{
	struct memory_limit limit;

	memory_limits_least(limits, kinds, &limit);
	CU_ASSERT_PTR_NOT_NULL(strstr(limit.name, name));
	if (limit.left != UINT64_MAX)
		CU_ASSERT_NOT_EQUAL(*limit.hint, '\0');
	return limit.left;
}

TEST("none")
{
	struct memory_limits limits;
	struct tree tree;

	tree_make(&tree);
	open_tree(&tree, "0::/a/b\n", "2", &limits);
	CU_ASSERT_EQUAL(left(&limits, ~0u & ~MEMORY_LIMIT_OWN, ""), UINT64_MAX);
	memory_limits_close(&limits);
	tree_remove(&tree);
}

/* Each level counts, and is read anew. */
TEST("version 2")
{
	struct memory_limits limits;
	struct tree tree;

	tree_make(&tree);
	tree_put(&tree, "a/b/memory.max", "max\n");
	tree_put(&tree, "a/b/memory.current", "1000\n");
	tree_put(&tree, "a/memory.max", "5000\n");
	tree_put(&tree, "a/memory.current", "3000\n");
	tree_put(&tree, "a/memory.stat", "anon 1\ninactive_file 500\n");
	open_tree(&tree, "0::/a/b\n", "2", &limits);
	CU_ASSERT_EQUAL(left(&limits, MEMORY_LIMIT_GROUPS, "group /a "), 2500);
	tree_put(&tree, "a/memory.high", "4000\n");
	CU_ASSERT_EQUAL(left(&limits, MEMORY_LIMIT_GROUPS, "group /a "), 1500);
	tree_put(&tree, "a/b/memory.max", "1700\n");
	CU_ASSERT_EQUAL(left(&limits, MEMORY_LIMITS_SHARED, "group /a/b "), 700);
	tree_put(&tree, "a/b/memory.current", "2000\n");
	CU_ASSERT_EQUAL(left(&limits, MEMORY_LIMIT_GROUPS, "group /a/b "), 0);
	/* A group that is gone has no limit. */
	tree_drop(&tree, "a/b/memory.current");
	CU_ASSERT_EQUAL(left(&limits, MEMORY_LIMIT_GROUPS, "group /a "), 1500);
	CU_ASSERT_EQUAL(left(&limits, MEMORY_LIMIT_OWN_GROUPS, ""), UINT64_MAX);
	memory_limits_close(&limits);
	tree_remove(&tree);
}

/* With the limit of memory and swap, and that of groups which cannot be seen. */
TEST("version 1")
{
	struct memory_limits limits;
	struct tree tree;

	tree_make(&tree);
	tree_put(&tree, "memory/c/memory.limit_in_bytes", "9000\n");
	tree_put(&tree, "memory/c/memory.usage_in_bytes", "6000\n");
	open_tree(&tree, "9:name=systemd:/\n4:memory:/c\n0::/\n", "1", &limits);
	CU_ASSERT_EQUAL(left(&limits, MEMORY_LIMIT_GROUPS, "group /c "), 3000);
	tree_put(&tree, "memory/c/memory.stat", "inactive_file 1\ntotal_inactive_file 700\n");
	CU_ASSERT_EQUAL(left(&limits, MEMORY_LIMIT_GROUPS, "group /c "), 3700);
	/* 1000 bytes of it are swapped out. */
	tree_put(&tree, "memory/c/memory.memsw.limit_in_bytes", "8000\n");
	tree_put(&tree, "memory/c/memory.memsw.usage_in_bytes", "7000\n");
	CU_ASSERT_EQUAL(left(&limits, MEMORY_LIMIT_GROUPS, "group /c "), 1700);
	tree_put(&tree, "memory/c/memory.stat", "total_inactive_file 700\n"
		 "hierarchical_memory_limit 6500\nhierarchical_memsw_limit 9223372036854771712\n");
	CU_ASSERT_EQUAL(left(&limits, MEMORY_LIMIT_GROUPS, "group /c "), 1200);
	memory_limits_close(&limits);
	tree_remove(&tree);
}

TEST("the machine")
{
	struct memory_limits limits;
	struct tree tree;

	tree_make(&tree);
	tree_put(&tree, "meminfo", "MemTotal: 9000 kB\nMemAvailable: 4000 kB\n"
		 "CommitLimit: 5000 kB\nCommitted_AS: 2000 kB\n");
	tree_put(&tree, "sys/vm/overcommit_memory", "0\n");
	limits = (struct memory_limits){ .proc = tree.at };
	CU_ASSERT_EQUAL(left(&limits, MEMORY_LIMIT_MACHINE, "machine"), 4000 << 10);
	CU_ASSERT_EQUAL(left(&limits, MEMORY_LIMIT_COMMIT, ""), UINT64_MAX);
	tree_put(&tree, "sys/vm/overcommit_memory", "2\n");
	CU_ASSERT_EQUAL(left(&limits, MEMORY_LIMIT_COMMIT, "never overcommitted"), 3000 << 10);
	CU_ASSERT_EQUAL(left(&limits, MEMORY_LIMITS_OWN & ~MEMORY_LIMIT_OWN, "never"), 3000 << 10);
	tree_remove(&tree);
}

/* A child whose limits are its own. */
static void limited(void)
{
	const struct rlimit space = { 8ull << 30, 8ull << 30 }, data = { 4ull << 30, 4ull << 30 };
	struct memory_limit limit;

	memory_limits_of(0, MEMORY_LIMIT_OWN, &limit);
	if (limit.left != UINT64_MAX || setrlimit(RLIMIT_AS, &space))
		_exit(77);
	memory_limits_of(0, MEMORY_LIMIT_OWN, &limit);
	if (!limit.left)
		_exit(77);		/* the sanitizer has taken terabytes of addresses */
	if (limit.left >= 8ull << 30 || limit.left < 4ull << 30 || !strstr(limit.name, "RLIMIT_AS"))
		_exit(1);
	if (setrlimit(RLIMIT_DATA, &data))
		_exit(77);
	memory_limits_of(0, MEMORY_LIMITS_OWN & ~MEMORY_LIMIT_MACHINE, &limit);
	_exit(limit.left < 4ull << 30 && limit.left > 3ull << 30 &&
	      strstr(limit.name, "RLIMIT_DATA") ? 0 : 2);
}

TEST("mdbg's own")
{
	struct memory_limit limit;
	pid_t pid = fork();
	int status;

	if (!pid)
		limited();
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		unit_skip("it has limits already, or the sanitizer's addresses");
	else
		CU_ASSERT_EQUAL(status, 0);
	/* What is there on this machine can be read, whatever it is. */
	memory_limits_of(getpid(), ~0u, &limit);
	CU_ASSERT_TRUE(limit.left < UINT64_MAX);
}
