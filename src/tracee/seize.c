/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Seizes all threads of a target, and releases them (theory in target.h).
 *
 * The kernel seizes by id, and an id that was listed may be another task's when it is seized: of
 * another process, of another user. So every task is looked at again while it is held, before
 * anything else is done to it:
 *
 *	thread		its id is one of the process's (task_is_of)
 *	process		with its first thread: the process still has its id (its pidfd), which it keeps
 *			as long as one of its threads is traced
 *	sharer		it has the target's memory
 *
 * What does not pass is a stranger, and is let go of. A tracee is released only when it stands, so
 * the stranger is interrupted, and released at its stop with its signal, or in the system call that
 * it was in. If it does not stop soon (it sleeps uninterruptibly, or the machine is busy), it is
 * released whenever it does; at the release of the target it is waited for once more, since mdbg may
 * end then, and the kernel would release it in the middle of its system call (EINTR).
 * If it forks meanwhile, the kernel attaches the child for us as well, which is a stranger, too.
 *
 * Threads that never run code of the process (workers of io_uring) are not seized at all: their
 * stop would end the requests that they work on with an error that no program knows (ERESTARTSYS),
 * and nothing that mdbg does to the process's code concerns them. None comes by itself either: the
 * kernel makes them past the events of ptrace (create_io_thread).
 */

#include <sys/wait.h>
#include <unistd.h>

#include "base/trace.h"
#include "os/pidfd.h"
#include "os/task.h"
#include "os/tracer.h"
#include "tracee/patch.h"
#include "tracee/refuse.h"
#include "tracee/target.h"

/* How often the first thread is tried to be seized while it executes another program. */
#define FIRST_TRIES	5u
/* How long a stranger is waited for. */
#define STRANGER_NS	20000000ull
/* How long all of them are when nobody stands meanwhile. */
#define STRANGERS_NS	1000000000ull

/*
 * The kernel attaches the children of a seized thread for us; this one's first stop is not seen
 * yet.
 */
static bool is_ours(pid_t tracer)
{
	struct proc_status status;

	return tracer && !procfs_status(tracer, &status) && status.tgid == getpid();
}

static bool is_dead(char state)
{
	return state == 'Z' || state == 'X';
}

/*
 * A first thread that has ended cannot be traced; but a thread that executes another program takes
 * over its id. So it is tried again then. Who executes another program is waited for if no thread
 * of the process is traced yet, since then he does not wait for mdbg: on a busy machine it takes
 * some time.
 */
static struct err *seize(struct target *target, pid_t tid)
{
	struct proc_status status;
	struct err *err = ptrace_seize(target->tracer, tid);

	for (unsigned i = 1; err && err->code == ERR_BUSY && !map_count(&target->threads) &&
	     i < FIRST_TRIES; i++)
		err = ptrace_seize(target->tracer, tid);
	if (err && err->code == ERR_PERM && !procfs_status(tid, &status) && !status.tracer &&
	    !is_dead(status.state))
		err = ptrace_seize(target->tracer, tid);
	return err;
}

void seize_note_runs(struct thread *thread)
{
	err_ignore(procfs_runs(thread->tid, &thread->runs));
	thread->runs_seen = tracer_now();
}

static void let_go_of_stranger(struct target *target, pid_t tid)
{
	struct err *err = tracer_interrupt(tid);
	int status;

	trace_line("task %d is none of process %d: it is let go", tid, target->pid);
	if (!err)
		err = tracer_wait_for(tid, tracer_now() + STRANGER_NS, &status);
	if (!err)
		thread_let_go_stranger(target, tid, status);
	else if (err->code == ERR_TIMEOUT)
		thread_await_stranger(target, tid);	/* else it is gone */
}

/* Asked while a thread that is of this id is traced: is it the process that was looked up? */
static struct err *check_process(const struct target *target)
{
	struct proc_stat stat;
	bool same = target->pidfd >= 0 ? pidfd_keeps_id(target->pidfd) :
		    !procfs_stat(target->pid, &stat) && stat.start_time == target->start_time;

	return same ? NULL : err_create(ERR_GONE, "process %d has ended", target->pid);
}

/* tid is traced. *is_ret: it is a thread of the process tgid, which belongs to the target. */
static struct err *check_thread(struct target *target, pid_t tid, pid_t tgid, bool *is_ret)
{
	struct err *err = NULL;

	*is_ret = task_is_of(tid, tgid) && (tgid == target->pid || thread_shares(target, tid));
	if (*is_ret && !map_count(&target->threads))
		err = check_process(target);
	if (err || !*is_ret)
		let_go_of_stranger(target, tid);
	return err;
}

/* It could not be seized. NULL: it need not be. */
static struct err *not_seized(pid_t tid, pid_t tgid, struct err *err, unsigned *nr)
{
	struct proc_status status;
	bool ended = err->code == ERR_GONE || procfs_status(tid, &status) ||
		     status.tgid != tgid || is_dead(status.state);

	if (!ended && !is_ours(status.tracer))
		return err->code == ERR_PERM && status.tracer ? refuse_traced(tgid, status.tracer) : err;
	/* (A first thread is a zombie as long as others run, and cannot be traced.) */
	*nr += ended && tid != tgid;
	return NULL;
}

/*
 * *nr counts the threads that were not known before, including those that have ended since they
 * were listed, because such a thread may have made another one first.
 */
static struct err *seize_one(struct target *target, pid_t tid, pid_t tgid, unsigned *nr)
{
	struct thread *thread;
	struct proc_stat stat;
	struct err *err = procfs_task_stat(tgid, tid, &stat);
	bool is_thread;

	if (err && err->code != ERR_GONE && err->code != ERR_NOTFOUND)
		return err;
	if (err || is_dead(stat.state)) {
		*nr += tid != tgid;
		return NULL;
	}
	if (task_is_kernels(tid, &stat))
		return NULL;
	err = seize(target, tid);
	if (err)
		return not_seized(tid, tgid, err, nr);
	err = check_thread(target, tid, tgid, &is_thread);
	if (!err && is_thread)
		err = thread_add(target, tid, tgid, &thread);
	/* A process that does not share the memory (any more) has made none of ours. */
	*nr += is_thread || tgid == target->pid;
	if (err || !is_thread)
		return err;
	thread->blocks_sigtrap = stat.blocked >> (SIGTRAP - 1) & 1;
	thread->busy = stat.state == 'R';
	seize_note_runs(thread);
	return NULL;
}

/*
 * All threads of a process that shares the memory, until a pass finds no more. Its first thread may
 * have ended.
 */
struct err *seize_process(struct target *target, pid_t pid, unsigned *nr)
{
	uint64_t end = tracer_now() + TARGET_TIMEOUT_NS;
	struct err *err = NULL;
	unsigned more = 1;

	while (!err && more > 0 && tracer_now() < end) {
		struct proc_tasks tasks = { VEC_INIT };

		more = 0;
		err_ignore(procfs_tasks(pid, &tasks));	/* gone: the list is empty */
		vec_each_while(tid, &tasks.vec, !err)
			if (!thread_find(target, *tid))
				err = seize_one(target, *tid, pid, &more);
		vec_free(&tasks.vec);
		*nr += more;
	}
	return err;
}

/*
 * Processes, made by a thread of ours, that run in the same memory (a vfork child), and those that
 * they have made.
 */
static struct err *seize_sharers(struct target *target, pid_t tid, unsigned *nr)
{
	struct proc_tasks children = { VEC_INIT };
	struct err *err = procfs_children(tid, &children);

	if (err)	/* no CONFIG_PROC_CHILDREN, or the thread is gone */
		return NULL;
	vec_each_while(child, &children.vec, !err) {
		if (!thread_shares(target, *child))
			continue;
		err = seize_process(target, *child, nr);
		if (!err)
			err = seize_sharers(target, *child, nr);
	}
	vec_free(&children.vec);
	return err;
}

/*
 * One pass over /proc; returns how many threads were new. The kernel ends the list at a thread that
 * ends at that moment, and leaves out those behind it (proc_task_readdir), so a list that is too
 * short counts as one more.
 */
static struct err *seize_pass(struct target *target, unsigned *nr)
{
	struct proc_tasks tasks = { VEC_INIT };
	uint32_t threads;
	struct err *err = procfs_tasks(target->pid, &tasks);

	*nr = 0;
	if (!err && !procfs_nr_threads(target->pid, &threads))
		*nr += tasks.vec.nr < threads;
	vec_each_while(tid, &tasks.vec, !err) {
		if (!thread_find(target, *tid))
			err = seize_one(target, *tid, target->pid, nr);
		if (!err)
			err = seize_sharers(target, *tid, nr);
	}
	vec_free(&tasks.vec);
	return err;
}

static struct err *seize_passes(struct target *target)
{
	uint64_t end = tracer_now() + TARGET_TIMEOUT_NS;
	struct err *err;
	unsigned nr;

	do
		err = seize_pass(target, &nr);
	while (!err && nr > 0 && tracer_now() < end);
	if (!err && map_count(&target->threads) == 0)
		err = err_create(ERR_GONE, "process %d has ended", target->pid);
	return err;
}

/* The threads of the process that are the kernel's own, and not traced. */
static uint32_t count_workers(const struct target *target)
{
	struct proc_tasks tasks = { VEC_INIT };
	struct proc_stat stat;
	uint32_t count = 0;

	err_ignore(procfs_tasks(target->pid, &tasks));	/* gone: the list is empty */
	vec_each(tid, &tasks.vec)
		count += !thread_find(target, *tid) &&
			 !procfs_task_stat(target->pid, *tid, &stat) &&
			 task_is_kernels(*tid, &stat);
	vec_free(&tasks.vec);
	return count;
}

struct err *seize_missed(struct target *target, unsigned *nr_ret)
{
	uint32_t count = !thread_find(target, target->pid), threads;
	struct err *err = procfs_nr_threads(target->pid, &threads);
	struct thread *thread;

	*nr_ret = 0;
	for_each_thread(thread, target)
		count += thread->tgid == target->pid;
	if (err ? err->code == ERR_GONE :
		  threads == count || threads == count + count_workers(target))
		return NULL;
	return seize_pass(target, nr_ret);
}

/* Undo what seize_passes did before it failed: release the threads by `let_go`. */
static struct err *unseize(struct target *target, struct err *cause,
			   void (*let_go)(struct target *target))
{
	struct err kept;

	if (map_count(&target->threads) == 0)
		return cause;
	err_copy(&kept, cause);
	if (!target_stop(target, NULL))
		let_go(target);
	return err_adopt(&kept);
}

struct err *seize_all(struct target *target)
{
	struct err *err = seize_passes(target);

	return err ? unseize(target, err, seize_release) : NULL;
}

/*
 * While the target was untraced the process may have ended, and another process may have its id; or
 * it runs another program. While a thread is traced mdbg sees both.
 */
static struct err *check_same(const struct target *target)
{
	struct err *err = check_process(target);

	if (err || procmem_lives(&target->mem))
		return err;
	return err_create(ERR_GONE, "process %d has ended, or runs another program", target->pid);
}

struct err *seize_retrace(struct target *target)
{
	struct err *err;

	if (target->state != TARGET_UNTRACED)
		return NULL;
	target->state = TARGET_RUNNING;
	err = seize_passes(target);
	if (!err)
		err = check_same(target);
	if (err) {
		err = unseize(target, err, seize_untrace);
		if (target->state != TARGET_ENDED)
			target->state = TARGET_UNTRACED;
		return err->code == ERR_PERM ? refuse_explain(target->pid, err->errnum) : err;
	}
	if (!thread_find(target, target->mem.tid))
		thread_pick_reader(target);
	if (target->region && !target->lost)
		patch_look(target);
	return NULL;
}

struct err *seize_adopt(struct target *target, pid_t tid)
{
	struct thread *thread;
	struct err *err = thread_add(target, tid, target->pid, &thread);

	if (err)
		return err;
	thread->state = THREAD_STOPPED;
	target->state = TARGET_STOPPED;
	return ptrace_get_regs(tid, &thread->regs);
}

/*
 * A thread that was killed must be waited for: a thread that has killed it by executing another
 * program waits until its end was taken. So it stays in the table, as a stuck one does.
 */
void seize_release_thread(struct thread *thread)
{
	struct err *err;

	if (!thread->group_signal && thread->state != THREAD_AT_END)
		thread_restart_syscall(thread, 0);
	err = thread_flush_regs(thread);
	if (!err)
		err = tracer_detach(thread->tid, 0);
	if (!err) {
		thread_drop(thread);
		return;
	}
	trace_line("detach %d: %s", thread->tid, err->msg);
	thread->state = THREAD_STUCK;
}

static void release_one(struct thread *thread)
{
	if (thread_is_stopped(thread))
		seize_release_thread(thread);	/* else stuck: see let_go_late in thread.c */
}

static void await_strangers(struct target *target)
{
	const uint64_t deadline = tracer_now() + STRANGERS_NS;

	for (;;) {
		struct map_at at = map_begin(&target->strangers);
		int status;

		if (!map_next(&at) || tracer_wait_for((pid_t)at.key, deadline, &status))
			return;
		thread_dispatch(target, (pid_t)at.key, status);
	}
}

void seize_release(struct target *target)
{
	stop_each_to_go_on(target, release_one);
	target->state = TARGET_RELEASED;
	await_strangers(target);
}

void seize_untrace(struct target *target)
{
	stop_each_to_go_on(target, release_one);
	/* A child that did not stop in time is released when it does: see thread_dispatch. */
	map_free(&target->newborn, NULL);
	target->expected = 0;
	if (target->state != TARGET_ENDED)
		target->state = TARGET_UNTRACED;
}
