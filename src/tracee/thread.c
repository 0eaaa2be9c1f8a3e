/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The threads of a target, and their stops (theory in target.h). */

#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/trace.h"
#include "os/task.h"
#include "os/tracer.h"
#include "tracee/target.h"

#define SYSCALL_STOP	(SIGTRAP | 0x80)

struct thread *thread_find(const struct target *target, pid_t tid)
{
	return map_get(&target->threads, (uint64_t)tid);
}

/*
 * If the kernel cannot say, never treat the memory as a child's own. The thread that is asked first
 * may be one that ends, and has lost the memory.
 */
bool thread_shares(const struct target *target, pid_t pid)
{
	struct proc_status status;
	struct thread *thread;

	if (task_may_share(pid, target->mem.tid))
		return true;
	if (!procfs_status(target->mem.tid, &status) && status.has_vm)
		return false;
	for_each_thread(thread, target)
		if (thread->tgid != pid && task_may_share(pid, thread->tid))
			return true;
	return false;
}

struct err *thread_add(struct target *target, pid_t tid, pid_t tgid, struct thread **ret)
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

void thread_drop(struct thread *thread)
{
	struct target *target = thread->target;

	if (target->ops->thread_gone)
		target->ops->thread_gone(target->ctx, thread);
	map_remove(&target->threads, (uint64_t)thread->tid);
	if (target->spare.tid == thread->tid)
		target->spare.tid = 0;
	tracer_count(target->tracer, -1);
	free(thread);
}

void thread_pick_reader(struct target *target)
{
	struct thread *thread;

	for_each_thread(thread, target)
		procmem_set_tid(&target->mem, thread->tid);
}

/*
 * The last traced thread has ended, but not the process. Its first thread was not traced yet, and
 * may be executing another program, which ends all others.
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
		thread_pick_reader(target);
	if ((tid != target->pid && map_count(&target->threads) > 0) || leads_on(target, tid))
		return;
	target->state = TARGET_ENDED;
	if (target->ops->ended)
		target->ops->ended(target->ctx, status, ours);
}

struct err *thread_flush_regs(struct thread *thread)
{
	uint8_t pc = thread->target->arch->pc;
	struct err *err = NULL;

	if (thread->regs_changed)
		err = ptrace_set_regs(thread->tid, &thread->regs);
	else if (thread->pc_changed)
		err = ptrace_set_reg(thread->tid, pc, regs_get(&thread->regs, pc));
	if (!err)
		thread->regs_changed = thread->pc_changed = false;
	return err;
}

/*
 * For a thread that was killed meanwhile every request fails with ESRCH; a wait soon reports its
 * end.
 */
void thread_resume(struct thread *thread, int signal)
{
	struct err *err = thread_flush_regs(thread);

	thread->state = thread->state == THREAD_AT_END || thread->state == THREAD_LEAVES ?
			THREAD_LEAVES : THREAD_RUNNING;
	if (signal == SIGTRAP)		/* of somebody's; the handler may be ours */
		thread->inside = INSIDE_UNKNOWN;
	if (!err)
		err = thread->group_signal ? tracer_listen(thread->tid)
					   : tracer_cont(thread->tid, signal);
	thread->group_signal = 0;
	if (err)
		trace_line("resume %d: %s", thread->tid, err->msg);
}

/*
 * The thread is in EVENT_STOP while the signal of our own trap is still queued: let it report that.
 * Then stop_for_signal handles it and interrupts the thread again.
 */
static bool flush_trap(struct thread *thread)
{
	struct target *target = thread->target;
	bool pending = false;

	if (!target->ops->is_trap ||
	    !target->ops->is_trap(target->ctx, regs_get(&thread->regs, target->arch->pc)))
		return false;
	err_ignore(ptrace_trap_pending(thread->tid, &pending));
	if (!pending)
		return false;
	/* In a group stop it would stay where it is. It is in it again when it has reported. */
	thread->group_signal = 0;
	thread_resume(thread, 0);
	return true;
}

static void stop_by_event(struct thread *thread, int signal)
{
	struct target *target = thread->target;

	thread->state = THREAD_RUNNING;
	thread->group_signal = signal == SIGTRAP ? 0 : signal;
	if (ptrace_get_regs(thread->tid, &thread->regs))
		return;		/* killed: its exit follows */
	thread->busy = (int64_t)regs_get(&thread->regs, target->arch->orig_syscall) < 0;
	if (target_holds(target)) {
		if (!flush_trap(thread))
			thread->state = THREAD_STOPPED;
		return;
	}
	if (!thread->group_signal)
		thread_restart_syscall(thread, 0);
	thread_resume(thread, 0);
}

/*
 * Resume a thread after a stop that is not EVENT_STOP. Any stop clears an interrupt that came
 * before it (ptrace_stop in the kernel: "any trap clears pending STOP trap"). So while the target
 * is being stopped, the thread is interrupted anew after each such stop.
 */
static void go_on(struct thread *thread, int signal)
{
	bool hold = target_holds(thread->target);

	if (hold)
		err_ignore(tracer_interrupt(thread->tid));	/* fails only if it was killed */
	thread_resume(thread, signal);
	if (hold)
		thread->state = THREAD_ASKED;
}

static void stop_for_signal(struct thread *thread, int signal)
{
	struct target *target = thread->target;
	pid_t tid = thread->tid;

	if (ptrace_get_regs(thread->tid, &thread->regs))
		return;
	if (signal == SIGTRAP && target->ops->trap && target->ops->trap(target->ctx, thread)) {
		if (thread_find(target, tid) != thread)
			return;		/* it ended in a remote call */
		signal = 0;
	} else {
		if (target->ops->signal && thread->death != signal)
			target->ops->signal(target->ctx, thread, signal);
		if (death_stop(thread, signal))
			return;
		thread_restart_syscall(thread, signal);
	}
	go_on(thread, signal);
}

/*
 * Processes that shared the old memory go on in it, and no target has them any more. A thread that
 * runs is asked to stop, and is released by whichever code handles that stop.
 */
static void let_sharers_go(struct thread *thread)
{
	struct target *target = thread->target;
	struct thread *other;

	for_each_thread(other, target) {
		if (other->tgid == thread->tgid)
			continue;
		if (other->state == THREAD_STOPPED) {
			pid_t tid = other->tid;

			seize_release_thread(other);
			if (!thread_find(target, tid))
				continue;
		}
		tracer_count(target->tracer, 1);
		err_ignore(tracer_interrupt(other->tid));
		thread_drop(other);
	}
}

/* The other threads of the process are gone, whether their ends were reported or not. */
static void stop_by_exec(struct thread *thread)
{
	struct target *target = thread->target;
	struct thread *other;

	for_each_thread(other, target)
		if (other != thread && other->tgid == thread->tgid)
			thread_drop(other);
	/* a vfork child: it has its own memory now, a clean one */
	if (thread->tgid != target->pid) {
		pid_t tid = thread->tid;

		thread_drop(thread);
		err_ignore(tracer_detach(tid, 0));
		return;
	}
	thread->regs_changed = thread->pc_changed = false;
	let_sharers_go(thread);
	if (target->ops->exec)
		target->ops->exec(target->ctx, thread);
}

void thread_forget(struct target *target)
{
	struct thread *thread;

	for_each_thread(thread, target)
		thread_drop(thread);
	target->state = TARGET_ENDED;
}

/*
 * Both a thread that makes a child (PTRACE_EVENT_CLONE and the like) and the child itself (its
 * first stop) report that, in any order. newborn has the children of which one report is still
 * missing, with the kind of the other one.
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

	if (ptrace_event_message(thread->tid, &tid))
		return;		/* killed */
	if (!map_remove(&target->newborn, tid))
		newborn_add(target, (pid_t)tid, &by_maker);
}

bool thread_expects(const struct target *target, pid_t tid)
{
	return map_get(&target->newborn, (uint64_t)tid) == &by_maker;
}

static void child_came(struct target *target, pid_t tid, bool stopped)
{
	if (thread_expects(target, tid)) {
		map_remove(&target->newborn, (uint64_t)tid);
		target->expected--;
	} else if (stopped) {
		newborn_add(target, tid, &by_child);
	}
}

/*
 * A task that the kernel has attached for us: a new thread, a process that shares the memory, or a
 * forked child.
 */
static struct thread *adopt_clone(struct target *target, pid_t tid)
{
	struct proc_status status;
	struct thread *thread = NULL;
	struct err *err = procfs_status(tid, &status);

	if (!err && status.tgid != target->pid && !thread_shares(target, tid)) {
		target->ops->fork_child(target->ctx, tid);
		return NULL;
	}
	if (!err)
		err = thread_add(target, tid, status.tgid, &thread);
	if (err) {
		/*
		 * There is no descriptor or no memory left: release it, since nobody else would
		 * ever let it run.
		 */
		trace_line("thread %d is not traced: %s", tid, err->msg);
		err_ignore(tracer_detach(tid, 0));
		return NULL;
	}
	thread->busy = true;
	/*
	 * (libc makes threads with all signals blocked, so only a trap will show whether SIGTRAP
	 * stays blocked.)
	 */
	if (target->ops->thread_new)
		target->ops->thread_new(target->ctx, thread);
	return thread;
}

void thread_let_go(struct thread *thread, int status)
{
	pid_t tid = thread->tid;

	if (!WIFSTOPPED(status))
		return;
	thread->regs_changed = thread->pc_changed = false;
	if (status >> 16 == PTRACE_EVENT_STOP && !ptrace_get_regs(tid, &thread->regs))
		thread_restart_syscall(thread, 0);
	/* These fail only if it was killed. */
	err_ignore(thread_flush_regs(thread));
	err_ignore(tracer_detach(tid, status >> 16 ? 0 : WSTOPSIG(status)));
}

void thread_await_stranger(struct target *target, pid_t tid)
{
	/* Without memory nobody counts on its stop, nor does it run before mdbg ends. */
	if (!map_put(&target->strangers, (uint64_t)tid, target))
		tracer_count(target->tracer, 1);
}

void thread_let_go_stranger(struct target *target, pid_t tid, int status)
{
	struct thread stranger = { .target = target, .tid = tid };
	const int event = status >> 16;
	unsigned long child;

	if ((event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
	     event == PTRACE_EVENT_CLONE) && !ptrace_event_message(tid, &child))
		thread_await_stranger(target, (pid_t)child);
	thread_let_go(&stranger, status);
}

/* A task that is released at its first stop, whenever that comes. */
static bool let_go_late(struct target *target, pid_t tid, int status)
{
	struct thread *thread = thread_find(target, tid);

	if (map_remove(&target->strangers, (uint64_t)tid)) {
		tracer_count(target->tracer, -1);
		thread_let_go_stranger(target, tid, status);
		return true;
	}
	if (target->state != TARGET_RELEASED && target->state != TARGET_UNTRACED)
		return false;
	/* It did not stop with the others, which were released. */
	if (thread) {
		thread_let_go(thread, status);
		thread_drop(thread);
	}
	return thread;
}

bool thread_dispatch(struct target *target, pid_t tid, int status)
{
	struct thread *thread;
	int event = status >> 16;

	if (let_go_late(target, tid, status))
		return true;
	if (target->state == TARGET_RELEASED || target->state == TARGET_UNTRACED)
		return false;
	thread = thread_find(target, tid);
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
		target_end_stop_at_exit(thread);
		break;
	default:		/* fork, vfork, clone */
		expect_child(thread);
		go_on(thread, 0);
	}
	return true;
}

struct thread *thread_any_stopped(const struct target *target)
{
	struct thread *thread, *best = NULL;

	/*
	 * The first thread has the largest stack. A vfork child has signal dispositions and
	 * descriptors of its own: only if there is no other.
	 */
	for_each_thread(thread, target)
		if (thread->state == THREAD_STOPPED &&
		    (!best || thread->tid == target->pid ||
		     (best->tgid != target->pid && thread->tgid == target->pid)))
			best = thread;
	return best;
}
