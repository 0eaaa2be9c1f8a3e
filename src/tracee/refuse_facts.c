/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why the kernel refused PTRACE_SEIZE: __ptrace_may_access() of the kernel, played again. In its
 * order: the ids of mdbg must be all those of the target, or CAP_SYS_PTRACE held in the target's
 * user namespace; a target that is not dumpable takes the capability in any case; then the
 * security modules: capabilities (those of the target must be among those of mdbg, unless it holds
 * CAP_SYS_PTRACE), yama, others.
 */

#include "tracee/refuse_facts.h"

#include <errno.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>

#define NAME_ROOM	80

/* There is no special hint: it works as root. */
static struct err *refused(const struct refuse_facts *facts, const char *why, const char *hint)
{
	struct err *err = err_create(ERR_ATTACH, "cannot attach to process %d (%s): %s",
				     facts->target.pid, facts->name, why);

	return hint ? err_hint(err, "%s", hint) :
		      err_hint(err, "sudo mdbg -p %d", facts->target.pid);
}

static void user_name(uid_t uid, char *name, size_t room)
{
	struct passwd entry, *found = NULL;
	char text[1024];

	if (!getpwuid_r(uid, &entry, text, sizeof(text), &found) && found)
		snprintf(name, room, "%s", found->pw_name);
	else
		snprintf(name, room, "number %u", uid);
}

static struct err *no_capability(const struct refuse_facts *facts)
{
	return refused(facts, "mdbg is root, but without the capability CAP_SYS_PTRACE, as root of a "
			      "container is",
		       "start the container with --cap-add SYS_PTRACE, or run mdbg outside of it");
}

static struct err *other_user(const struct refuse_facts *facts)
{
	char owner[NAME_ROOM], self[NAME_ROOM], why[3 * NAME_ROOM];
	uid_t uid = facts->target.uid != facts->uid ? facts->target.uid : facts->target.euid;

	user_name(uid, owner, sizeof(owner));
	user_name(facts->uid, self, sizeof(self));
	snprintf(why, sizeof(why), "it runs as user %s, and mdbg as user %s", owner, self);
	return refused(facts, why, NULL);
}

static struct err *other_group(const struct refuse_facts *facts)
{
	char why[NAME_ROOM];

	snprintf(why, sizeof(why), "its group (%u) is not that of mdbg (%u)", facts->target.gid,
		 facts->gid);
	return refused(facts, why, NULL);
}

static struct err *by_yama(const struct refuse_facts *facts)
{
	switch (facts->yama) {
	case 1:
		return err_hint(refused(facts, "yama's ptrace_scope is 1: a process may trace only "
					       "those that it started", NULL),
				"sudo mdbg -p %d; or, to allow it to all: echo 0 | sudo tee "
				"/proc/sys/kernel/yama/ptrace_scope", facts->target.pid);
	case 2:
		return refused(facts, "yama's ptrace_scope is 2: only root (CAP_SYS_PTRACE) may "
				      "trace", NULL);
	default:
		return refused(facts, "yama's ptrace_scope is 3: nobody may trace, until the "
				      "machine is started anew",
			       "take kernel.yama.ptrace_scope = 3 out of /etc/sysctl.d and reboot");
	}
}

static struct err *by_border(const struct refuse_facts *facts)
{
	return refused(facts, "it is in a user namespace (container) in which mdbg has no rights",
		       "run mdbg inside that container, or as root of the machine");
}

static struct err *by_policy(const struct refuse_facts *facts)
{
	if (facts->self.seccomp)
		return refused(facts, "mdbg runs under a seccomp filter (a container's?), which seems "
				      "to forbid ptrace",
			       "run mdbg outside, or start the container with --cap-add SYS_PTRACE "
			       "--security-opt seccomp=unconfined");
	if (facts->target.state == 't')
		return refused(facts, "it is stopped by a tracer that cannot be seen from here",
			       "look for a debugger outside of this container");
	return refused(facts, "a security module (SELinux, AppArmor), or a tracer that cannot be seen "
			      "from here, forbids it",
		       "the kernel's log (dmesg, journalctl -k) may name the rule: SELinux has "
		       "deny_ptrace, AppArmor has ptrace rules");
}

/* Check the case without CAP_SYS_PTRACE. */
static struct err *without_capability(const struct refuse_facts *facts)
{
	const struct proc_status *target = &facts->target;
	uint64_t more = target->cap_permitted & ~facts->self.cap_effective;
	bool root = facts->self.euid == 0;

	if (target->uid != facts->uid || target->euid != facts->uid)
		return root ? no_capability(facts) : other_user(facts);
	if (target->gid != facts->gid)
		return root ? no_capability(facts) : other_group(facts);
	if (more)
		return root ? no_capability(facts) :
			      refused(facts, "it has capabilities that mdbg has not", NULL);
	if (!facts->exe_readable && facts->border == BORDER_OTHER)
		return by_border(facts);
	if (!facts->exe_readable || (facts->proc_of_root && target->euid))
		return root ? no_capability(facts) :
			      refused(facts, "it is not dumpable: a set-user-ID program, one that its "
					     "user may not read, or one that asked for it by "
					     "prctl(PR_SET_DUMPABLE)", NULL);
	if (facts->yama && (!root || facts->yama == 3))
		return by_yama(facts);
	return root && facts->yama ? no_capability(facts) : by_policy(facts);
}

struct err *refuse_facts_check(const struct refuse_facts *facts)
{
	if (facts->errnum == ESRCH)
		return refused(facts, "it has ended", "ps -e lists the processes there are");
	if (facts->errnum != EPERM && facts->errnum != EACCES)
		return refused(facts, strerror(facts->errnum), "this is not expected: try again");
	if (!(facts->self.cap_effective & (1ull << CAP_SYS_PTRACE)))
		return without_capability(facts);
	if (facts->yama >= 3)
		return by_yama(facts);
	/* ptrace is allowed, but /proc/PID/mem is a file of the target's user. */
	if (facts->errnum == EACCES && facts->target.euid != facts->self.euid &&
	    !(facts->self.cap_effective & (1ull << CAP_DAC_OVERRIDE)))
		return refused(facts, "mdbg may not open the memory of another user's process without "
				      "the capability CAP_DAC_OVERRIDE",
			       "start the container with --cap-add DAC_OVERRIDE, or as the user of "
			       "the process");
	if (!facts->exe_readable && facts->border != BORDER_NONE)
		return by_border(facts);
	return by_policy(facts);
}
