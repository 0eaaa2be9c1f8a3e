/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Concludes from collected facts why the kernel refused PTRACE_SEIZE. It is kept apart so that all
 * of it can be tested anywhere.
 */
#pragma once

#include "os/procfs.h"

#define REFUSE_NAME_MAX	64

/* Why a user namespace's border matters: capabilities count only on this side of it. */
enum refuse_border {
	BORDER_NONE,		/* both are in one user namespace */
	BORDER_OTHER,		/* the target is in another one */
	BORDER_UNKNOWN,		/* not to be seen */
};

struct refuse_facts {
	struct proc_status self, target;
	char name[REFUSE_NAME_MAX];	/* of the process, printable */
	int errnum;			/* of PTRACE_SEIZE */
	/* /proc/sys/kernel/yama/ptrace_scope; 0 where there is none */
	int yama;
	uid_t uid;			/* real ids of mdbg: what ptrace compares */
	gid_t gid;
	/* /proc/PID/exe could be read as a link, which asks for the same rights less yama's */
	bool exe_readable;
	/* /proc/PID belongs to root: so it is where the target is not dumpable */
	bool proc_of_root;
	enum refuse_border border;
};

/* "cannot attach to process 123 (NAME): WHY", with a hint. Never NULL. */
struct err *refuse_facts_check(const struct refuse_facts *facts) MUST_CHECK;
