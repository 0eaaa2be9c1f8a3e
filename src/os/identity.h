/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The user, the namespaces and the program of a process. A forked child has them in common with its
 * parent, until one of the two changes its user, enters another namespace or executes a program.
 * They decide whether two processes are alike, but never about rights.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define IDENTITY_IDS	3	/* real, effective, saved */
#define IDENTITY_SPACES	3	/* user, mnt, pid */

struct identity {
	uid_t uid[IDENTITY_IDS];
	gid_t gid[IDENTITY_IDS];
	uint64_t space[IDENTITY_SPACES];
	uint64_t exe_dev, exe_inode;
	uint64_t start_brk;	/* start of its heap, which differs for each program */
};

/* Errors: ERR_GONE, ERR_PERM. */
struct err *identity_read(pid_t tid, struct identity *ret) MUST_CHECK;
/* Returns a text that says what differs between a and b ("its user"), or NULL. */
const char *identity_difference(const struct identity *a, const struct identity *b);
/* Is uid one of its user ids? */
bool identity_has_uid(const struct identity *identity, uid_t uid);

/*
 * Does the /proc that is mounted number processes as mdbg's own pid namespace does? Otherwise an id
 * means one process in system calls, and another one in /proc (`nsenter -p` without -m).
 */
bool identity_proc_is_own(void);

/*
 * Find the child of parent whose id is `inside` in parent's own pid namespace; a zombie counts.
 * ERR_NOTFOUND: it has no such child. This reads all of /proc.
 */
struct err *identity_find_child(pid_t parent, uint64_t inside, pid_t *ret) MUST_CHECK;

/*
 * Returns the id that the process has in its own namespace; pid itself if the kernel does not tell.
 */
pid_t identity_inside(pid_t pid);
