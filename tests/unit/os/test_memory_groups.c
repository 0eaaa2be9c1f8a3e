/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Control groups of both versions, in hand-made trees. */

#include "os/memory_groups.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "os/kernel_text.h"
#include "tree.h"
#include "unit.h"

#define V1(root, folder) \
	"31 23 0:28 / " folder " rw,relatime - tmpfs tmpfs rw,mode=755\n" \
	"32 31 0:29 " root " " folder "/cpu rw - cgroup cgroup rw,cpu\n" \
	"35 31 0:32 " root " " folder "/memory rw,relatime shared:9 master:1 - cgroup none rw,memory\n"
#define V2(root, folder) \
	"31 23 0:28 " root " " folder " rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"

/* The text with each `@` replaced by the tree's path. */
static char *with_path(const struct tree *tree, const char *text)
{
	AUTO_STR struct str made = STR_INIT;

	CU_ASSERT_PTR_NULL_FATAL(str_add(&made, ""));
	for (; *text; text++)
		CU_ASSERT_PTR_NULL_FATAL(*text == '@' ? str_add(&made, tree->at) :
					 str_add_bytes(&made, text, 1));
	return take(made.at);
}

static void read_tree(const struct tree *tree, const char *cgroup, const char *mountinfo,
		      struct memory_groups *ret)
{
	AUTO_FREE char *mounts = with_path(tree, mountinfo);

	memory_groups_free(ret);
	CU_ASSERT_PTR_NULL_FATAL(memory_groups_of(cgroup, mounts, ret));
}

static void put_v1(const struct tree *tree, const char *group, const char *limit, const char *use)
{
	char name[TREE_PATH];

	snprintf(name, sizeof(name), "memory%s/memory.limit_in_bytes", group);
	tree_put(tree, name, limit);
	snprintf(name, sizeof(name), "memory%s/memory.usage_in_bytes", group);
	tree_put(tree, name, use);
}

static void put_v2(const struct tree *tree, const char *group, const char *limit, const char *use)
{
	char name[TREE_PATH];

	snprintf(name, sizeof(name), "%s/memory.max", group);
	tree_put(tree, name, limit);
	snprintf(name, sizeof(name), "%s/memory.current", group);
	tree_put(tree, name, use);
}

static struct tree tree_;
static struct memory_groups groups_;

static void begin(void)
{
	groups_ = (struct memory_groups){ .vec = VEC_INIT };
	tree_make(&tree_);
}

static void end(void)
{
	memory_groups_free(&groups_);
	tree_remove(&tree_);
}

EACH(begin, end);

TEST("version 1")
{
	const struct memory_group *group;

	put_v1(&tree_, "", "9223372036854771712\n", "900000\n");
	put_v1(&tree_, "/a", "100000\n", "60000\n");
	put_v1(&tree_, "/a/b", "90000\n", "50000\n");
	tree_put(&tree_, "memory/a/b/memory.stat",
		 "cache 1\nrss 2\ninactive_file 3\ntotal_cache 9000\ntotal_rss 40000\n"
		 "total_shmem 500\ntotal_inactive_file 4000\n");
	tree_put(&tree_, "memory/a/b/memory.oom_control",
		 "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	tree_put(&tree_, "memory/a/b/memory.failcnt", "17\n");
	tree_put(&tree_, "memory/a/b/memory.kmem.usage_in_bytes", "1000\n");
	read_tree(&tree_, "9:name=systemd:/x\n4:cpu,memory:/a/b\n0::/\n", V1("/", "@"), &groups_);
	CU_ASSERT_EQUAL(groups_.version, 1);
	CU_ASSERT_FALSE(*groups_.why);
	CU_ASSERT_EQUAL_FATAL(groups_.vec.nr, 3);
	group = &groups_.vec.at[0];
	CU_ASSERT_STRING_EQUAL(group->path, "/a/b");
	CU_ASSERT_EQUAL(group->limit, 90000);
	CU_ASSERT_EQUAL(group->high, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(group->anonymous, 40000);
	CU_ASSERT_EQUAL(group->shared, 500);
	CU_ASSERT_EQUAL(group->kernel, 1000);
	CU_ASSERT_EQUAL(group->sockets, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(group->oom_kills, 2);
	CU_ASSERT_EQUAL(group->at_limit, 17);
	CU_ASSERT_EQUAL(memory_group_hard_use(group), 46000);
	CU_ASSERT_EQUAL(memory_group_left(group), 44000);
	CU_ASSERT_STRING_EQUAL(groups_.vec.at[1].path, "/a");
	CU_ASSERT_STRING_EQUAL(groups_.vec.at[2].path, "/");
	CU_ASSERT_EQUAL(groups_.vec.at[2].limit, KERNEL_NO_LIMIT);
	CU_ASSERT_EQUAL(memory_group_left(&groups_.vec.at[2]), KERNEL_NO_LIMIT);
	/* The group above has less left: 40000. */
	CU_ASSERT_PTR_EQUAL(memory_groups_nearest(&groups_), &groups_.vec.at[1]);
}

/* A group above that does not count those below it has no say. */
TEST("version 1 without hierarchy")
{
	put_v1(&tree_, "/a", "100000\n", "60000\n");
	put_v1(&tree_, "/a/b", "90000\n", "50000\n");
	tree_put(&tree_, "memory/a/memory.use_hierarchy", "0\n");
	tree_put(&tree_, "memory/a/b/memory.use_hierarchy", "0\n");
	read_tree(&tree_, "4:memory:/a/b\n", V1("/", "@"), &groups_);
	CU_ASSERT_EQUAL_FATAL(groups_.vec.nr, 1);
	CU_ASSERT_STRING_EQUAL(groups_.vec.at[0].path, "/a/b");
}

TEST("version 2")
{
	const struct memory_group *group;

	put_v2(&tree_, "a", "max\n", "70000\n");
	put_v2(&tree_, "a/b", "90000\n", "50000\n");
	tree_put(&tree_, "a/b/memory.high", "60000\n");
	tree_put(&tree_, "a/b/memory.swap.max", "max\n");
	tree_put(&tree_, "a/b/memory.stat",
		 "anon 40000\nfile 9000\nkernel 900\nkernel_stack 10\npagetables 20\nsock 30\n"
		 "shmem 500\nslab 800\ninactive_file 4000\n");
	tree_put(&tree_, "a/b/memory.events", "low 0\nhigh 9\nmax 4\noom 1\noom_kill 1\n");
	tree_put(&tree_, "a/b/memory.pressure",
		 "some avg10=1.25 avg60=0.07 avg300=0.00 total=12\n"
		 "full avg10=0.50 avg60=0.00 avg300=0.00 total=3\n");
	tree_put(&tree_, "memory.stat", "anon 1\n");
	read_tree(&tree_, "0::/a/b\n", V2("/", "@"), &groups_);
	CU_ASSERT_EQUAL(groups_.version, 2);
	/* The root has no use and no limit. */
	CU_ASSERT_EQUAL_FATAL(groups_.vec.nr, 2);
	group = &groups_.vec.at[0];
	CU_ASSERT_EQUAL(group->limit, 90000);
	CU_ASSERT_EQUAL(memory_group_limit(group), 60000);
	CU_ASSERT_EQUAL(memory_group_left(group), 14000);
	CU_ASSERT_EQUAL(group->swap_limit, KERNEL_NO_LIMIT);
	CU_ASSERT_EQUAL(group->swap_use, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(group->sockets, 30);
	CU_ASSERT_EQUAL(group->kernel, 900);
	CU_ASSERT_EQUAL(group->at_limit, 4 + 9);
	CU_ASSERT_EQUAL(group->oom_kills, 1);
	CU_ASSERT_EQUAL(group->pressure.some_10, 125);
	CU_ASSERT_EQUAL(group->pressure.some_60, 7);
	CU_ASSERT_EQUAL(group->pressure.full_10, 50);
	CU_ASSERT_EQUAL(groups_.vec.at[1].pressure.some_10, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(groups_.vec.at[1].limit, KERNEL_NO_LIMIT);
	CU_ASSERT_PTR_EQUAL(memory_groups_nearest(&groups_), group);
}

/* Version 1 has the memory, version 2 is mounted beside it; and the other way round. */
TEST("both versions")
{
	put_v1(&tree_, "/a", "100000\n", "60000\n");
	put_v2(&tree_, "unified/a", "5000\n", "1\n");
	read_tree(&tree_, "4:memory:/a\n0::/a\n", V1("/", "@") V2("/", "@/unified"), &groups_);
	CU_ASSERT_EQUAL(groups_.version, 1);
	CU_ASSERT_EQUAL_FATAL(groups_.vec.nr, 1);
	CU_ASSERT_EQUAL(groups_.vec.at[0].limit, 100000);
	read_tree(&tree_, "0::/a\n4:memory:/a\n", V1("/", "@") V2("/", "@/unified"), &groups_);
	CU_ASSERT_EQUAL(groups_.version, 1);
	read_tree(&tree_, "4:cpu:/a\n0::/a\n", V1("/", "@") V2("/", "@/unified"), &groups_);
	CU_ASSERT_EQUAL(groups_.version, 2);
	CU_ASSERT_EQUAL_FATAL(groups_.vec.nr, 1);
	CU_ASSERT_EQUAL(groups_.vec.at[0].limit, 5000);
}

/* A container: the mount begins at its own group, and the path as well if it has a namespace. */
TEST("namespaces")
{
	put_v2(&tree_, "mnt", "80000\n", "70000\n");
	put_v2(&tree_, "mnt/job", "max\n", "50000\n");
	put_v2(&tree_, "other", "1\n", "1\n");
	read_tree(&tree_, "0::/docker/ab/job\n", V2("/docker/ab", "@/mnt"), &groups_);
	CU_ASSERT_EQUAL_FATAL(groups_.vec.nr, 2);
	CU_ASSERT_STRING_EQUAL(groups_.vec.at[0].path, "/docker/ab/job");
	CU_ASSERT_STRING_EQUAL(groups_.vec.at[1].path, "/docker/ab");
	CU_ASSERT_EQUAL(groups_.vec.at[1].limit, 80000);
	read_tree(&tree_, "0::/job\n", V2("/", "@/mnt"), &groups_);
	CU_ASSERT_EQUAL_FATAL(groups_.vec.nr, 2);
	CU_ASSERT_STRING_EQUAL(groups_.vec.at[1].path, "/");
	/* `/docker/abc` is not below `/docker/ab`. */
	read_tree(&tree_, "0::/docker/abc\n", V2("/docker/ab", "@/mnt"), &groups_);
	CU_ASSERT_EQUAL(groups_.vec.nr, 0);
	CU_ASSERT_TRUE(*groups_.why);
	/* The mount of the namespace above: its root is above the process. */
	read_tree(&tree_, "0::/job\n", V2("/../..", "@/mnt"), &groups_);
	CU_ASSERT_EQUAL_FATAL(groups_.vec.nr, 1);
	CU_ASSERT_EQUAL(groups_.vec.at[0].limit, 80000);
	CU_ASSERT_TRUE(*groups_.why);
	/* A group beside the namespace, whose `..` must not lead out of the mount. */
	read_tree(&tree_, "0::/../other\n", V2("/", "@/mnt"), &groups_);
	CU_ASSERT_EQUAL(groups_.vec.nr, 0);
	CU_ASSERT_TRUE(*groups_.why);
	read_tree(&tree_, "0::/../other\n", V2("/..", "@"), &groups_);
	CU_ASSERT_EQUAL_FATAL(groups_.vec.nr, 1);
	CU_ASSERT_STRING_EQUAL(groups_.vec.at[0].path, "/../other");
}

/* The same hierarchy is mounted twice; names with blanks are written as octal digits. */
TEST("mounts")
{
	put_v2(&tree_, "part", "1\n", "1\n");
	put_v2(&tree_, "a b/c", "7000\n", "1\n");
	read_tree(&tree_, "0::/c\n", V2("/elsewhere", "@/part") V2("/", "@/a\\040b"), &groups_);
	CU_ASSERT_EQUAL_FATAL(groups_.vec.nr, 1);
	CU_ASSERT_EQUAL(groups_.vec.at[0].limit, 7000);
}

static void expect_none(const struct tree *tree, const char *cgroup, const char *mountinfo)
{
	CLEANUP(memory_groups_free) struct memory_groups groups = { .vec = VEC_INIT };

	read_tree(tree, cgroup, mountinfo, &groups);
	CU_ASSERT_EQUAL(groups.vec.nr, 0);
	CU_ASSERT_TRUE(*groups.why);
	CU_ASSERT_PTR_NULL(memory_groups_nearest(&groups));
}

TEST("missing")
{
	expect_none(&tree_, "", "");
	expect_none(&tree_, "0::/a\n", "");
	expect_none(&tree_, "0::/a\n", V1("/", "@"));
	expect_none(&tree_, "4:memory:/a\n", V2("/", "@"));
	expect_none(&tree_, "4:memory:/gone (deleted)\n", V1("/", "@"));
	expect_none(&tree_, "4:cpu:/a\n", V1("/", "@"));
	expect_none(&tree_, "4:memory\n0\n::\n:::\n0:\n", V1("/", "@") V2("/", "@"));
	expect_none(&tree_, "0::a\n", V2("/", "@"));
	expect_none(&tree_, "0::/a\n", "1 2 3\n - cgroup2\n36 35 0:1 / @");
}

TEST("malformed")
{
	put_v2(&tree_, "a/b", "some\n", "50000\n");
	put_v2(&tree_, "a", "99999999999999999999\n", "60000 bytes\n");
	tree_put(&tree_, "a/b/memory.stat", "anon\nfile -1\ninactive_file 60000\n");
	read_tree(&tree_, "0::/a/b\n", V2("/", "@"), &groups_);
	CU_ASSERT_EQUAL_FATAL(groups_.vec.nr, 1);
	CU_ASSERT_EQUAL(groups_.vec.at[0].limit, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(groups_.vec.at[0].anonymous, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(memory_group_left(&groups_.vec.at[0]), KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(memory_group_hard_use(&groups_.vec.at[0]), 0);
	CU_ASSERT_PTR_NULL(memory_groups_nearest(&groups_));
}

TEST("its own")
{
	CU_ASSERT_PTR_NULL_FATAL(memory_groups_read(getpid(), &groups_));
	CU_ASSERT_TRUE(groups_.vec.nr || *groups_.why);
	vec_each(group, &groups_.vec)
		CU_ASSERT_TRUE(kernel_is_number(group->use));
	CU_ASSERT_PTR_NOT_NULL(memory_groups_read(0x7ffffffe, &groups_));
}
