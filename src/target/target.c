/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making and freeing a struct target. */

#include "target/target.h"

#include "os/tracer.h"
#include "target/core.h"

static bool lives(pid_t tid)
{
	struct proc_stat stat;

	return !procfs_stat(tid, &stat) && stat.state != 'Z' && stat.state != 'X';
}

/*
 * The memory of a process whose first thread has ended is reached by another; but the others may
 * end at any moment.
 */
static struct err *open_memory(pid_t pid, struct procmem *ret)
{
	struct proc_tasks tasks = { VEC_INIT };
	struct err *err = procfs_tasks(pid, &tasks);
	pid_t tid = pid;

	for (size_t i = 0; i < tasks.vec.nr && !err && !lives(tid); i++)
		tid = tasks.vec.at[i];
	vec_free(&tasks.vec);
	return err ? err : procmem_open(tid, ret);
}

struct err *target_create(struct tracer *tracer, pid_t pid, const char *cache_dir,
			  const struct target_ops *ops, void *ctx, struct target **ret)
{
	struct target *target = calloc(1, sizeof(*target));
	struct proc_stat stat;
	struct err *err;

	if (!target)
		return err_nomem;
	err = procfs_stat(pid, &stat);
	if (!err)
		err = open_memory(pid, &target->mem);
	if (err) {
		free(target);
		return err;
	}
	target->pid = pid;
	target->memory = &target->mem.memory;
	target->start_time = stat.start_time;
	target->arch = arch_host();
	target->tracer = tracer;
	target->ops = ops;
	target->ctx = ctx;
	modules_init(&target->modules, cache_dir);
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

struct err *target_maps(const struct target *target, struct proc_maps *ret)
{
	return target->core ? core_copy_maps(target->core, ret) :
			      procfs_maps(target->mem.tid, ret);
}

struct err *target_refresh(struct target *target, bool *changed_ret)
{
	return target->core ? NULL : modules_refresh(&target->modules, target->mem.tid,
						     &target->mem.memory, changed_ret);
}

struct err *thread_vector(const struct thread *thread, void *buf, size_t room, size_t *len_ret)
{
	const struct core *core = thread->target->core;

	return core ? core_vector(core, thread->tid, buf, room, len_ret) :
		      tracer_get_xstate(thread->tid, buf, room, len_ret);
}

static bool is_thread_of(pid_t tid, pid_t pid)
{
	struct proc_status status;

	return lives(tid) && !procfs_status(tid, &status) && status.tgid == pid;
}

bool target_lives(struct target *target)
{
	struct proc_tasks tasks = { VEC_INIT };
	struct proc_stat stat;
	bool found;

	/* Ids are used again. */
	if (procfs_stat(target->pid, &stat) || stat.start_time != target->start_time)
		return false;
	found = is_thread_of(target->mem.tid, target->pid);
	if (found)
		return true;
	err_ignore(procfs_tasks(target->pid, &tasks));	/* gone: the list is empty */
	for (size_t i = 0; i < tasks.vec.nr && !found; i++) {
		found = lives(tasks.vec.at[i]);
		if (found)
			procmem_set_tid(&target->mem, tasks.vec.at[i]);
	}
	vec_free(&tasks.vec);
	return found;
}

static void free_thread(void *value)
{
	free(value);
}

void target_destroy(struct target *target)
{
	if (!target)
		return;
	map_free(&target->threads, free_thread);
	map_free(&target->newborn, NULL);
	modules_deinit(&target->modules);
	procmem_close(&target->mem);
	core_close(target->core);
	free(target);
}
