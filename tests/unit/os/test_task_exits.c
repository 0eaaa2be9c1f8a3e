/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of the kernel about the ends of processes. */

#include <linux/acct.h>
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <string.h>

#include "os/machine/task_exits.h"
#include "unit.h"

/* As the kernel sends it: the pid, and what it took, within one attribute. */
struct message {
	struct nlmsghdr head;
	struct genlmsghdr what;
	struct nlattr of_task, pid;
	uint32_t pid_value;
	struct nlattr stats;
	struct taskstats is;
} __attribute__((packed, aligned(8)));

static struct message make(uint16_t version)
{
	struct message message = {
		.head.nlmsg_len = sizeof(message),
		.of_task = { sizeof(message) - offsetof(struct message, of_task), TASKSTATS_TYPE_AGGR_PID },
		.pid = { NLA_HDRLEN + 4, TASKSTATS_TYPE_PID }, .pid_value = 4711,
		.stats = { NLA_HDRLEN + sizeof(struct taskstats), TASKSTATS_TYPE_STATS },
		.is = { .version = version, .ac_ppid = 100, .ac_flag = AGROUP, .ac_exitcode = 256,
			.hiwater_rss = 3, .ac_utime = 5, .ac_stime = 7, .ac_minflt = 11, .ac_majflt = 13,
			.ac_comm = "true" },
	};

	return message;
}

struct seen {
	unsigned nr;
	struct task_exit last;
};

static void see(void *ctx, const struct task_exit *exit)
{
	struct seen *seen = ctx;

	seen->nr++;
	seen->last = *exit;
}

TEST("the end of a process is what the kernel says of it")
{
	struct message message = make(13);
	struct seen seen = { 0 };

	CU_ASSERT_PTR_NULL(task_exits_take(&message, sizeof(message), see, &seen));
	CU_ASSERT_EQUAL_FATAL(seen.nr, 1);
	CU_ASSERT_EQUAL(seen.last.parent, 100);
	CU_ASSERT_STRING_EQUAL(seen.last.name, "true");
	CU_ASSERT(seen.last.last && seen.last.failed);
	CU_ASSERT_EQUAL(seen.last.most, 3 << 10);
	CU_ASSERT_EQUAL(seen.last.cpu_ns, 12000);
	CU_ASSERT_EQUAL(seen.last.faults, 24);
}

TEST("what is cut, or older, is no end")
{
	struct message message = make(13);
	struct seen seen = { 0 };

	for (size_t len = 0; len < sizeof(message); len++)
		CU_ASSERT_PTR_NULL(task_exits_take(&message, len, see, &seen));
	message.of_task.nla_len = 2;
	CU_ASSERT_PTR_NULL(task_exits_take(&message, sizeof(message), see, &seen));
	message = make(13);
	message.stats.nla_len = UINT16_MAX;
	CU_ASSERT_PTR_NULL(task_exits_take(&message, sizeof(message), see, &seen));
	CU_ASSERT_EQUAL(seen.nr, 0);
	message = make(11);
	CU_ASSERT_EQUAL(task_exits_take(&message, sizeof(message), see, &seen)->code, ERR_UNSUPPORTED);
	CU_ASSERT_EQUAL(seen.nr, 0);
}
