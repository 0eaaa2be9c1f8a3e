/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making and freeing a struct target. */

#include "tracee/target.h"

#include <unistd.h>

#include "os/identity.h"
#include "os/pidfd.h"
#include "os/tracer.h"
#include "tracee/sharers.h"

static bool lives(pid_t tid)
{
	struct proc_stat stat;

	return !procfs_stat(tid, &stat) && stat.state != 'Z' && stat.state != 'X';
}

/* A thread of the process that lives; 0: there is none. */
static pid_t find_alive(pid_t pid)
{
	struct proc_tasks tasks = { VEC_INIT };
	pid_t found = 0;

	err_ignore(procfs_tasks(pid, &tasks));	/* gone: the list is empty */
	vec_each_while(tid, &tasks.vec, !found)
		found = lives(*tid) ? *tid : 0;
	vec_free(&tasks.vec);
	return found;
}

/*
 * If the first thread of a process has ended, its memory is reached by another thread; but that one
 * may end at any moment.
 */
static struct err *open_memory(pid_t pid, struct procmem *ret)
{
	pid_t tid = lives(pid) ? pid : find_alive(pid);

	return procmem_open(tid ? tid : pid, ret);
}

struct err *target_create(struct tracer *tracer, pid_t pid, const char *cache_dir,
			  const struct target_ops *ops, void *ctx, struct target **ret)
{
	struct target *target = calloc(1, sizeof(*target));
	struct proc_stat stat;
	struct err *err;

	if (!target)
		return err_nomem;
	target->kind = &target_kind_process;
	target->pidfd = -1;
	target->mem.fd = -1;
	modules_init(&target->modules, cache_dir);
	/* First: if it keeps its id, all that is looked up by that id later is this process's. */
	err = pidfd_open_process(pid, &target->pidfd);
	if (!err || err->code != ERR_GONE)
		err = procfs_stat(pid, &stat);
	if (!err)
		err = open_memory(pid, &target->mem);
	if (err) {
		target_destroy(target);
		return err;
	}
	target->pid = pid;
	target->memory = &target->mem.memory;
	target->start_time = stat.start_time;
	target->arch = arch_host();
	target->tracer = tracer;
	target->ops = ops;
	target->ctx = ctx;
	*ret = target;
	return NULL;
}

struct err *target_reopen(struct target *target)
{
	struct procmem mem;
	struct proc_stat stat;
	struct err *err = procfs_stat(target->pid, &stat);

	if (!err && stat.start_time != target->start_time)
		err = err_create(ERR_GONE, "process %d has ended", target->pid);
	if (!err)
		err = open_memory(target->pid, &mem);
	if (err)
		return err;
	procmem_close(&target->mem);
	target->mem = mem;
	return target_refresh(target, NULL);
}

static struct err *process_maps(const struct target *target, struct proc_maps *ret)
{
	struct err *err = procfs_maps(target->mem.tid, ret);

	if (!err)
		procmem_take_maps(&target->mem, ret);
	return err;
}

static struct err *process_refresh(struct target *target, bool *changed_ret)
{
	return modules_refresh(&target->modules, target->mem.tid, &target->mem.bring, changed_ret);
}

static struct err *process_tasks(const struct target *target, struct proc_tasks *ret)
{
	return procfs_tasks(target->mem.tid, ret);
}

static struct err *process_status(const struct target *target UNUSED, pid_t tid,
				  struct proc_status *ret)
{
	return procfs_status(tid, ret);
}

static struct err *process_vector(const struct thread *thread, void *buf, size_t room,
				  size_t *len_ret)
{
	return ptrace_get_xstate(thread->tid, buf, room, len_ret);
}

static bool process_same_ids(const struct target *target)
{
	return identity_inside(target->pid) == target->pid;
}

static bool process_walk_area(const struct target *target UNUSED, struct walk_area *ret UNUSED)
{
	return false;
}

static void process_walk_start(const struct target *target UNUSED, const struct regs *regs,
			       struct regs *ret)
{
	*ret = *regs;
}

static void process_close(struct target *target)
{
	procmem_close(&target->mem);
}

const struct target_kind target_kind_process = {
	.live = true,
	.maps = process_maps,
	.refresh = process_refresh,
	.tasks = process_tasks,
	.status = process_status,
	.vector = process_vector,
	.same_ids = process_same_ids,
	.walk_area = process_walk_area,
	.walk_start = process_walk_start,
	.close = process_close,
};

struct err *target_maps(const struct target *target, struct proc_maps *ret)
{
	return target->kind->maps(target, ret);
}

struct err *target_refresh(struct target *target, bool *changed_ret)
{
	return target->kind->refresh(target, changed_ret);
}

struct err *target_vector(const struct thread *thread, void *buf, size_t room, size_t *len_ret)
{
	return thread->target->kind->vector(thread, buf, room, len_ret);
}

static bool is_thread_of(pid_t tid, pid_t pid)
{
	struct proc_status status;

	return lives(tid) && !procfs_status(tid, &status) && status.tgid == pid;
}

bool target_lives(struct target *target)
{
	struct proc_stat stat;
	pid_t tid;

	/* Ids are used again. */
	if (procfs_stat(target->pid, &stat) || stat.start_time != target->start_time)
		return false;
	if (is_thread_of(target->mem.tid, target->pid))
		return true;
	tid = find_alive(target->pid);
	if (tid)
		procmem_set_tid(&target->mem, tid);
	return tid;
}

void target_destroy(struct target *target)
{
	if (!target)
		return;
	sharers_end(target);
	map_free(&target->threads, free);
	map_free(&target->newborn, NULL);
	map_free(&target->strangers, NULL);
	if (target->pidfd >= 0)
		close(target->pidfd);
	modules_deinit(&target->modules);
	target->kind->close(target);
	free(target);
}
