/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The children of a process that have ended since it was attached to, summed up by program
 * (os/machine/task_exits.h). A million of them take no more memory, and no more of a recording, than the
 * few programs that they run: names beyond RECORD_CHILDREN_MOST are one row.
 */
#pragma once

#include "base/vec.h"
#include "os/machine/task_exits.h"
#include "record/record.h"

struct recorder_child {
	char name[sizeof(((struct task_exit *)0)->name)];
	uint64_t value[RECORD_CHILD_COLUMNS];
};

struct recorder_children {
	int fd;				/* -1: nothing is heard of them */
	pid_t parent;
	VEC(struct recorder_child) vec;
	bool changed;			/* since the caller has cleared it */
	bool lost;			/* not all were heard of */
};

#define RECORDER_CHILDREN_INIT	{ .fd = -1 }

/* Begin anew, with the children of another process. ERR_PERM, ERR_UNSUPPORTED. */
struct err *recorder_children_begin(struct recorder_children *children, pid_t parent) MUST_CHECK;
/* Add up what has come since. */
struct err *recorder_children_read(struct recorder_children *children) MUST_CHECK;
/* Add one, of whichever process. */
void recorder_children_add(void *children, const struct task_exit *exit);
void recorder_children_end(struct recorder_children *children);
