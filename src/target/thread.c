/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads of a target: taking them over, their stops, letting them go (theory in target.h). */

#include <errno.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/trace.h"
#include "base/vec.h"
#include "os/procfs.h"
#include "os/tracer.h"
#include "target/target.h"

#define SYSCALL_STOP	(SIGTRAP | 0x80)

struct thread *target_thread(const struct target *target, pid_t tid)
{
	return map_get(&target->threads, (uint64_t)tid);
}

/*
 * Do the two tasks share their memory? One that ends has none any more, long before that is known:
 * a target is better asked by target_shares.
 */
static bool same_memory(pid_t a, pid_t b)
{
	long order = syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);

	/* Where the kernel cannot tell, never treat memory as if it were a child's own. */
	return order == 0 || (order < 0 && errno != ESRCH);
}

static void pick_sharer(uint64_t tid, void *value, void *ctx)
{
	pid_t *pid = ctx;

	if (*pid && ((struct thread *)value)->tgid != *pid && same_memory(*pid, (pid_t)tid))
		*pid = 0;
}

bool target_shares(const struct target *target, pid_t pid)
{
	struct proc_status status;

	if (same_memory(pid, target->mem.tid))
		return true;
	if (!procfs_status(target->mem.tid, &status) && status.has_vm)
		return false;
	map_each(&target->threads, pick_sharer, &pid);
	return !pid;
}

struct each {
	void (*fn)(struct thread *thread, void *ctx);
	void *ctx;
};

static void each_thread(uint64_t tid UNUSED, void *value, void *ctx)
{
	struct each *each = ctx;

	each->fn(value, each->ctx);
}

void target_each_thread(struct target *target, void (*fn)(struct thread *thread, void *ctx),
			void *ctx)
{
	struct each each = { fn, ctx };

	map_each(&target->threads, each_thread, &each);
}

static struct err *thread_add(struct target *target, pid_t tid, pid_t tgid, struct thread **ret)
{
	struct thread *thread = calloc(1, sizeof(*thread));
	struct err *err;

	if (!thread)
		return err_nomem;
	thread->target = target;
	thread->tid = tid;
	thread->tgid = tgid;
	err = map_put(&target->threads, (uint64_t)tid, thread);
	if (err) {
		free(thread);
		return err;
	}
	tracer_count(target->tracer, 1);
	*ret = thread;
	return NULL;
}

static void thread_drop(struct thread *thread)
{
	struct target *target = thread->target;

	target->ops->thread_gone(target->ctx, thread);
	map_remove(&target->threads, (uint64_t)thread->tid);
	tracer_count(target->tracer, -1);
	free(thread);
}

/* The memory is read under the id of a thread that lives. */
static void pick_other(uint64_t tid, void *value UNUSED, void *ctx)
{
	procmem_set_tid(ctx, (pid_t)tid);
}

static void pick_thread(uint64_t tid UNUSED, void *value, void *ctx)
{
	*(struct thread **)ctx = value;
}

static struct thread *any_thread(const struct target *target)
{
	struct thread *thread = NULL;

	map_each(&target->threads, pick_thread, &thread);
	return thread;
}

/*
 * The last traced thread has ended, but not the process: its first thread was not traced yet, and
 * executes another program, perhaps, which ends all others.
 */
static bool leads_on(const struct target *target, pid_t tid)
{
	struct proc_stat stat;

	return tid != target->pid && !procfs_stat(target->pid, &stat) &&
	       stat.start_time == target->start_time && stat.state != 'Z' && stat.state != 'X';
}

static void thread_exited(struct thread *thread, int status)
{
	struct target *target = thread->target;
	pid_t tid = thread->tid;
	bool ours = thread->tgid == target->pid;

	thread_drop(thread);
	if (target->mem.tid == tid)
		map_each(&target->threads, pick_other, &target->mem);
	if ((tid != target->pid && map_count(&target->threads) > 0) || leads_on(target, tid))
		return;
	target->ended = true;
	target->ops->ended(target->ctx, status, ours);
}

struct err *thread_flush_regs(struct thread *thread)
{
	uint8_t pc = thread->target->arch->pc;
	struct err *err = NULL;

	if (thread->regs_changed)
		err = tracer_set_regs(thread->tid, &thread->regs);
	else if (thread->pc_changed)
		err = tracer_set_reg(thread->tid, pc, regs_get(&thread->regs, pc));
	if (!err)
		thread->regs_changed = thread->pc_changed = false;
	return err;
}

/*
 * A tracee that was killed meanwhile answers ESRCH to everything; its end is reported by a wait
 * soon.
 */
void thread_resume(struct thread *thread, int signal)
{
	struct err *err = thread_flush_regs(thread);

	thread->state = THREAD_RUNNING;
	if (!err)
		err = thread->group_signal ? tracer_listen(thread->tid)
					   : tracer_cont(thread->tid, signal);
	thread->group_signal = 0;
	if (err)
		trace_line("resume %d: %s", thread->tid, err->msg);
}

/*
 * EVENT_STOP with the signal of our own trap still queued: let the thread report it. It then comes
 * by stop_for_signal, which interrupts it again.
 */
static bool flush_trap(struct thread *thread)
{
	struct target *target = thread->target;
	bool pending = false;

	if (!target->ops->is_trap(target->ctx, regs_get(&thread->regs, target->arch->pc)))
		return false;
	err_ignore(tracer_trap_pending(thread->tid, &pending));
	if (pending)
		thread_resume(thread, 0);
	return pending;
}

static void stop_by_event(struct thread *thread, int signal)
{
	struct target *target = thread->target;

	thread->stuck = thread->asked = false;
	thread->group_signal = signal == SIGTRAP ? 0 : signal;
	if (tracer_get_regs(thread->tid, &thread->regs))
		return;		/* killed: its exit follows */
	thread->busy = (int64_t)regs_get(&thread->regs, target->arch->orig_syscall) < 0;
	if (target->stopping) {
		if (!flush_trap(thread))
			thread->state = THREAD_STOPPED;
		return;
	}
	if (!thread->group_signal)
		thread_restart_syscall(thread, 0);
	thread_resume(thread, 0);
}

/*
 * After a stop that is not EVENT_STOP. Any stop clears the trap of an interrupt that came before it
 * (ptrace_stop in the kernel: "any trap clears pending STOP trap"), so that while the target is
 * being stopped each of them asks for it anew.
 */
static void go_on(struct thread *thread, int signal)
{
	if (thread->target->stopping)
		err_ignore(tracer_interrupt(thread->tid));	/* fails only if it was killed */
	thread_resume(thread, signal);
}

static void stop_for_signal(struct thread *thread, int signal)
{
	struct target *target = thread->target;

	if (tracer_get_regs(thread->tid, &thread->regs))
		return;
	if (signal == SIGTRAP && target->ops->trap(target->ctx, thread)) {
		signal = 0;
	} else {
		target->ops->signal(target->ctx, thread, signal);
		thread_restart_syscall(thread, signal);
	}
	go_on(thread, signal);
}

struct survivor {
	struct thread *thread;
	struct thread *other;
};

static void find_other(struct thread *thread, void *ctx)
{
	struct survivor *survivor = ctx;

	if (thread != survivor->thread && thread->tgid == survivor->thread->tgid)
		survivor->other = thread;
}

/* All other threads of the process are gone, whether their ends were reported or not. */
static void stop_by_exec(struct thread *thread)
{
	struct target *target = thread->target;
	struct survivor survivor = { .thread = thread };

	do {
		survivor.other = NULL;
		target_each_thread(target, find_other, &survivor);
		if (survivor.other)
			thread_drop(survivor.other);
	} while (survivor.other);
	/* a vfork child: it has its own memory now, a clean one */
	if (thread->tgid != target->pid) {
		pid_t tid = thread->tid;

		thread_drop(thread);
		err_ignore(tracer_detach(tid, 0));
		return;
	}
	thread->regs_changed = false;
	target->ops->exec(target->ctx, thread);
}

void target_forget(struct target *target)
{
	struct thread *thread;

	while ((thread = any_thread(target)))
		thread_drop(thread);
}

/*
 * Who makes a child reports that (PTRACE_EVENT_CLONE and its kin), and so does the child (its first
 * stop), in any order. newborn has those of whom one report is still due, and of which kind the
 * other was.
 */
static char by_maker, by_child;

static void newborn_add(struct target *target, pid_t tid, char *by)
{
	struct err *err = map_put(&target->newborn, (uint64_t)tid, by);

	if (err)	/* it is not waited for, then */
		trace_line("child %d: %s", tid, err->msg);
	else
		target->expected += by == &by_maker;
}

static void expect_child(struct thread *thread)
{
	struct target *target = thread->target;
	unsigned long tid;

	if (tracer_event_message(thread->tid, &tid))
		return;		/* killed */
	if (!map_remove(&target->newborn, tid))
		newborn_add(target, (pid_t)tid, &by_maker);
}

bool target_expects(const struct target *target, pid_t tid)
{
	return map_get(&target->newborn, (uint64_t)tid) == &by_maker;
}

static void child_came(struct target *target, pid_t tid, bool stopped)
{
	if (target_expects(target, tid)) {
		map_remove(&target->newborn, (uint64_t)tid);
		target->expected--;
	} else if (stopped) {
		newborn_add(target, tid, &by_child);
	}
}

/*
 * Somebody whom the kernel attached for us: a new thread, a process that shares our memory, or a
 * forked child.
 */
static struct thread *adopt_clone(struct target *target, pid_t tid)
{
	struct proc_status status;
	struct thread *thread = NULL;
	struct err *err = procfs_status(tid, &status);

	if (!err && status.tgid != target->pid && !target_shares(target, tid)) {
		target->ops->fork_child(target->ctx, tid);
		return NULL;
	}
	if (!err)
		err = thread_add(target, tid, status.tgid, &thread);
	if (err) {
		/* No descriptor, no memory: nobody else would ever let it run. */
		trace_line("thread %d is not traced: %s", tid, err->msg);
		err_ignore(tracer_detach(tid, 0));
		return NULL;
	}
	thread->busy = true;
	/*
	 * (libc makes threads with all signals blocked: only a trap will tell whether SIGTRAP is.)
	 */
	target->ops->thread_new(target->ctx, thread);
	return thread;
}

/* It did not stop when the others did, and they were let go: its turn. */
static void let_go_late(struct thread *thread, int status)
{
	pid_t tid = thread->tid;

	if (WIFSTOPPED(status)) {
		thread->regs_changed = thread->pc_changed = false;
		if (status >> 16 == PTRACE_EVENT_STOP && !tracer_get_regs(tid, &thread->regs))
			thread_restart_syscall(thread, 0);
		/* These fail only if it was killed. */
		err_ignore(thread_flush_regs(thread));
		err_ignore(tracer_detach(tid, status >> 16 ? 0 : WSTOPSIG(status)));
	}
	thread_drop(thread);
}

bool target_dispatch(struct target *target, pid_t tid, int status)
{
	struct thread *thread = target_thread(target, tid);
	int event = status >> 16;

	if (target->released || target->hands_off) {
		if (thread)
			let_go_late(thread, status);
		return thread;
	}
	if (!thread) {
		child_came(target, tid, WIFSTOPPED(status));
		if (!WIFSTOPPED(status))
			return false;
		thread = adopt_clone(target, tid);
		if (!thread)
			return true;
	}
	if (!WIFSTOPPED(status)) {
		thread_exited(thread, status);
		return true;
	}
	switch (event) {
	case 0:
		if (WSTOPSIG(status) == SYSCALL_STOP)
			go_on(thread, 0);
		else
			stop_for_signal(thread, WSTOPSIG(status));
		break;
	case PTRACE_EVENT_STOP:
		stop_by_event(thread, WSTOPSIG(status));
		break;
	case PTRACE_EVENT_EXEC:
		stop_by_exec(thread);
		break;
	case PTRACE_EVENT_EXIT:
		thread_stop_at_exit(thread);
		break;
	default:		/* fork, vfork, clone */
		expect_child(thread);
		go_on(thread, 0);
	}
	return true;
}

static void prefer(uint64_t tid, void *value, void *ctx)
{
	struct thread *thread = value, **best = ctx;
	pid_t pid = thread->target->pid;

	if (thread->state != THREAD_STOPPED)
		return;
	/*
	 * The first thread has the largest stack. A vfork child has signal dispositions and
	 * descriptors of its own: only if there is no other.
	 */
	if (!*best || (pid_t)tid == pid || ((*best)->tgid != pid && thread->tgid == pid))
		*best = thread;
}

struct thread *target_any_stopped(const struct target *target)
{
	struct thread *best = NULL;

	map_each(&target->threads, prefer, &best);
	return best;
}

/* The kernel attaches for us what a seized thread makes; its first stop is not seen yet. */
static bool is_ours(pid_t tracer)
{
	struct proc_status status;

	return tracer && !procfs_status(tracer, &status) && status.tgid == getpid();
}

static bool is_dead(const struct proc_status *status)
{
	return status->state == 'Z' || status->state == 'X';
}

/*
 * A first thread that has ended, and cannot be traced, may be followed under its id by one that
 * executes another program: it is asked again then.
 */
static struct err *seize(struct target *target, pid_t tid)
{
	struct proc_status status;
	struct err *err = tracer_seize(target->tracer, tid);

	if (err && err->code == ERR_PERM && !procfs_status(tid, &status) && !status.tracer &&
	    !is_dead(&status))
		err = tracer_seize(target->tracer, tid);
	return err;
}

void thread_note_runs(struct thread *thread)
{
	err_ignore(procfs_runs(thread->tid, &thread->runs));
	thread->runs_seen = tracer_now();
}

/*
 * *nr counts who was not known before: also who has ended since it was listed, as it may have made
 * another first.
 */
static struct err *seize_one(struct target *target, pid_t tid, pid_t tgid, unsigned *nr)
{
	struct proc_status status;
	struct thread *thread;
	struct err *err = seize(target, tid);

	if (err) {
		bool ended = err->code == ERR_GONE || procfs_status(tid, &status) ||
			     is_dead(&status);

		if (!ended && !is_ours(status.tracer))
			return err;
		/* (A first thread is a zombie as long as others run, and cannot be traced.) */
		*nr += ended && tid != tgid;
		return NULL;
	}
	err = thread_add(target, tid, tgid, &thread);
	if (err)
		return err;
	(*nr)++;
	if (!procfs_status(tid, &status)) {
		thread->blocks_sigtrap = status.sig_blocked >> (SIGTRAP - 1) & 1;
		thread->busy = status.state == 'R';
		thread_note_runs(thread);
	}
	return NULL;
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
	for (size_t i = 0; i < children.vec.nr && !err; i++) {
		pid_t child = children.vec.at[i];

		if (!target_shares(target, child))
			continue;
		if (!target_thread(target, child))
			err = seize_one(target, child, child, nr);
		if (!err)
			err = seize_sharers(target, child, nr);
	}
	vec_free(&children.vec);
	return err;
}

/*
 * One pass over /proc; how many were new. The kernel ends the list at a thread that ends just then,
 * and leaves out who comes behind it (proc_task_readdir): a list too short counts as one more.
 */
static struct err *seize_pass(struct target *target, unsigned *nr)
{
	struct proc_tasks tasks = { VEC_INIT };
	uint32_t threads;
	struct err *err = procfs_tasks(target->pid, &tasks);

	*nr = 0;
	if (!err && !procfs_nr_threads(target->pid, &threads))
		*nr += tasks.vec.nr < threads;
	for (size_t i = 0; i < tasks.vec.nr && !err; i++) {
		pid_t tid = tasks.vec.at[i];

		if (!target_thread(target, tid))
			err = seize_one(target, tid, target->pid, nr);
		if (!err)
			err = seize_sharers(target, tid, nr);
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

static void count_own(struct thread *thread, void *ctx)
{
	uint32_t *count = ctx;

	*count += thread->tgid == thread->target->pid;
}

struct err *target_seize_missed(struct target *target, unsigned *nr_ret)
{
	uint32_t count = !target_thread(target, target->pid), threads;
	struct err *err = procfs_nr_threads(target->pid, &threads);

	*nr_ret = 0;
	target_each_thread(target, count_own, &count);
	if (err ? err->code == ERR_GONE : threads == count)
		return NULL;
	return seize_pass(target, nr_ret);
}

/* Undo what seize_passes did before it failed: let go as `let_go` does. */
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

struct err *target_seize_all(struct target *target)
{
	struct err *err = seize_passes(target);

	return err ? unseize(target, err, target_release) : NULL;
}

/*
 * While nobody looked the process may have ended, and another have got its id; or it runs another
 * program. Of a thread that is traced neither goes unseen.
 */
static struct err *check_same(const struct target *target)
{
	struct proc_stat stat;

	if (procfs_stat(target->pid, &stat) || stat.start_time != target->start_time)
		return err_create(ERR_GONE, "process %d has ended", target->pid);
	if (!procmem_lives(&target->mem))
		return err_create(ERR_GONE, "process %d has ended, or runs another program",
				  target->pid);
	return NULL;
}

struct err *target_hands_on(struct target *target)
{
	struct err *err;

	if (!target->hands_off)
		return NULL;
	target->hands_off = false;
	err = seize_passes(target);
	if (!err)
		err = check_same(target);
	if (err) {
		err = unseize(target, err, target_hands_off);
		target->hands_off = true;
		return err;
	}
	if (!target_thread(target, target->mem.tid))
		map_each(&target->threads, pick_other, &target->mem);
	return NULL;
}

struct err *target_adopt(struct target *target, pid_t tid)
{
	struct thread *thread;
	struct err *err = thread_add(target, tid, target->pid, &thread);

	if (err)
		return err;
	thread->state = THREAD_STOPPED;
	target->stopping = target->stopped = true;
	return tracer_get_regs(tid, &thread->regs);
}

static void release_one(struct thread *thread)
{
	struct err *err;
	pid_t tid = thread->tid;

	if (thread->state != THREAD_STOPPED && !thread->at_end)
		return;		/* stuck: see let_go_late */
	if (!thread->group_signal && !thread->at_end)
		thread_restart_syscall(thread, 0);
	err = thread_flush_regs(thread);
	thread_drop(thread);
	if (!err)
		err = tracer_detach(tid, 0);
	if (err)
		trace_line("detach %d: %s", tid, err->msg);
}

void target_release(struct target *target)
{
	target_each_to_go_on(target, release_one);
	target->stopping = target->stopped = false;
	target->released = true;
}

void target_hands_off(struct target *target)
{
	target_each_to_go_on(target, release_one);
	/* A child that did not come in time is let go when it does: see target_dispatch. */
	map_free(&target->newborn, NULL);
	target->newborn = (struct map)MAP_INIT;
	target->expected = 0;
	target->stopping = target->stopped = false;
	target->hands_off = true;
}
