/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a task (a process or thread, by its id) is. An id says nothing for long: when its task has
 * ended, the next new one may get it, of any user. So what is asked here about a task that mdbg has
 * just seized is true as long as it is traced: a traced task that ends keeps its id until its tracer
 * has heard of the end.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "os/procfs.h"

/*
 * Is tid a thread of this process? One system call (0.5 us), and no file. While a thread of the
 * process is traced, the process keeps its id as well: the id of a first thread is not free before
 * all others of its process are gone.
 */
bool task_is_of(pid_t tid, pid_t process);
/*
 * Is it a task that never runs code of its process? A thread of the kernel, or one that the kernel
 * has made inside the process: a worker of io_uring (iou-wrk, iou-sqp) or of vhost. stat is the
 * task's. A name is no evidence, since a process chooses the names of its threads; neither is a flag
 * alone, as older kernels have flags of another meaning in the same places.
 */
bool task_is_kernels(pid_t tid, const struct proc_stat *stat);
/*
 * Do the two tasks share their memory? Also if the kernel does not say (kcmp(2) needs the right to
 * trace both). A task that ends loses its memory long before its end is reported.
 */
bool task_may_share(pid_t a, pid_t b);
/*
 * List the processes, other than this one, that are known to have the memory of tid. All of /proc is
 * gone through (some 5 us a process); those that mdbg may not trace are left out, and so are those
 * whose first thread has ended.
 */
struct err *task_sharers(pid_t process, pid_t tid, struct proc_tasks *ret) MUST_CHECK;
