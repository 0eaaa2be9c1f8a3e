/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Refusals that this machine's kernel may not give: from facts made here. */

#include "tracee/refuse_facts.h"

#include <linux/capability.h>

#include "unit.h"

#define PTRACE_CAP	(1ull << CAP_SYS_PTRACE)

/* User 1000 and a process of the same user. */
static struct refuse_facts plain(void)
{
	struct refuse_facts facts = {
		.self = { .pid = 50, .uid = 1000, .euid = 1000, .gid = 1000 },
		.target = { .pid = 123, .uid = 1000, .euid = 1000, .gid = 1000, .state = 'S' },
		.name = "redis-server",
		.errnum = EPERM,
		.uid = 1000,
		.gid = 1000,
		.exe_readable = true,
	};

	return facts;
}

static struct refuse_facts as_root(uint64_t caps)
{
	struct refuse_facts facts = plain();

	facts.self.uid = facts.self.euid = facts.uid = 0;
	facts.self.gid = facts.gid = 0;
	facts.self.cap_effective = caps;
	return facts;
}

static bool says(const struct refuse_facts *facts, const char *why, const char *hint)
{
	struct err *err = refuse_facts_check(facts);
	static const char start[] = "cannot attach to process 123 (redis-server): ";
	bool good = err && err->code == ERR_ATTACH &&
		    !strncmp(err->msg, start, sizeof(start) - 1) && strstr(err->msg, why) &&
		    strstr(err->hint, hint);

	if (!good)
		printf("[%s | %s] ", err ? err->msg : "no error", err ? err->hint : "");
	return good;
}

TEST("yama")
{
	struct refuse_facts facts = plain();

	facts.yama = 1;
	CU_ASSERT_TRUE(says(&facts, "yama's ptrace_scope is 1", "echo 0 | sudo tee"));
	facts.yama = 2;
	CU_ASSERT_TRUE(says(&facts, "yama's ptrace_scope is 2", "sudo mdbg -p 123"));
	facts.yama = 3;
	CU_ASSERT_TRUE(says(&facts, "yama's ptrace_scope is 3", "reboot"));
	facts = as_root(PTRACE_CAP);
	facts.yama = 3;
	CU_ASSERT_TRUE(says(&facts, "yama's ptrace_scope is 3", "reboot"));
}

TEST("ids")
{
	struct refuse_facts facts = plain();

	facts.target.uid = facts.target.euid = 999999;
	facts.yama = 1;		/* not what it is about */
	CU_ASSERT_TRUE(says(&facts, "it runs as user number 999999", "sudo mdbg -p 123"));
	facts = plain();
	facts.target.euid = 0;
	CU_ASSERT_TRUE(says(&facts, "it runs as user root", "sudo mdbg -p 123"));
	facts = plain();
	facts.target.gid = 2000;
	CU_ASSERT_TRUE(says(&facts, "its group (2000)", "sudo mdbg -p 123"));
	facts = plain();
	facts.target.cap_permitted = 1;
	CU_ASSERT_TRUE(says(&facts, "capabilities that mdbg has not", "sudo mdbg -p 123"));
	facts = plain();
	facts.exe_readable = false;
	facts.proc_of_root = true;
	CU_ASSERT_TRUE(says(&facts, "not dumpable", "sudo mdbg -p 123"));
}

TEST("containers")
{
	struct refuse_facts facts = as_root(0);

	CU_ASSERT_TRUE(
		says(&facts, "without the capability CAP_SYS_PTRACE", "--cap-add SYS_PTRACE"));
	facts = as_root(PTRACE_CAP);
	facts.exe_readable = false;
	facts.border = BORDER_UNKNOWN;
	CU_ASSERT_TRUE(says(&facts, "user namespace", "inside that container"));
	facts = as_root(PTRACE_CAP);
	facts.target.uid = facts.target.euid = 1000;
	facts.errnum = EACCES;
	CU_ASSERT_TRUE(says(&facts, "without the capability CAP_DAC_OVERRIDE", "--cap-add DAC_OVERRIDE"));
	facts.self.cap_effective |= 1ull << CAP_DAC_OVERRIDE;
	CU_ASSERT_TRUE(says(&facts, "a security module", "dmesg"));
	facts = plain();
	facts.self.seccomp = 2;
	CU_ASSERT_TRUE(says(&facts, "seccomp", "seccomp=unconfined"));
}

TEST("the rest")
{
	struct refuse_facts facts = plain();

	CU_ASSERT_TRUE(says(&facts, "a security module", "dmesg"));
	facts.target.state = 't';
	CU_ASSERT_TRUE(says(&facts, "cannot be seen", "container"));
	facts = plain();
	facts.errnum = ESRCH;
	CU_ASSERT_TRUE(says(&facts, "it has ended", ""));
	facts.errnum = EIO;
	CU_ASSERT_TRUE(says(&facts, strerror(EIO), "again"));
}

