/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that may be in a call (late_calls.h). */

#include "growth/late_calls.h"

#include <sys/syscall.h>

#include "base/err.h"
#include "os/procfs.h"

void late_calls_free(struct late_calls *late)
{
	vec_free(&late->threads);
}

void late_calls_begin(struct late_calls *late, pid_t tid)
{
	struct proc_tasks tasks = { VEC_INIT };
	struct late_thread thread;
	struct err *err = procfs_tasks(tid, &tasks);

	vec_clear(&late->threads);
	for (size_t i = 0; !err && i < tasks.vec.nr; i++) {
		thread.tid = tasks.vec.at[i];
		if (!procfs_ran(thread.tid, &thread.ran))	/* otherwise it has ended */
			err = vec_push(&late->threads, thread);
	}
	vec_free(&tasks.vec);
	late->unknown = err != NULL;
}

static bool is_of_growth(long nr)
{
	switch (nr) {
	case SYS_brk:
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mremap:
	case SYS_shmat:
	case SYS_shmdt:
	case SYS_shmget:
	case SYS_shmctl:
		return true;
	default:
		return false;
	}
}

static bool is_over(const struct late_thread *thread)
{
	uint64_t ran;
	long nr;

	if (procfs_ran(thread->tid, &ran))
		return true;
	return ran - thread->ran >= LATE_CALL_NS ||
	       (!procfs_syscall(thread->tid, &nr) && nr >= 0 && !is_of_growth(nr));
}

bool late_calls_are_over(struct late_calls *late)
{
	size_t nr = 0;

	vec_each(thread, &late->threads)
		if (!is_over(thread))
			late->threads.at[nr++] = *thread;
	late->threads.nr = nr;
	return !nr && !late->unknown;
}
