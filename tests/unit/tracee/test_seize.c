/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who is seized: what turns out to be a stranger's is let go, and all that share the memory are held. */

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "os/task.h"
#include "os/tracer.h"
#include "tracee/sharers.h"
#include "tracee/target.h"
#include "unit.h"
#include "victim.h"

#define STACK	65536

static struct child child;
static struct victim victim;
static pid_t stranger;

static void idle(void *arg UNUSED)
{
	child_ready(1);
	child_wait();
}

/* It is in a call that a stop ends with EINTR, and would end if it saw that. */
static pid_t make_stranger(void)
{
	pid_t pid = fork();
	sigset_t none;
	siginfo_t info;

	if (pid)
		return pid;
	sigemptyset(&none);
	sigaddset(&none, SIGUSR1);
	sigprocmask(SIG_BLOCK, &none, NULL);
	_exit(sigtimedwait(&none, &info, &(struct timespec){ .tv_sec = 100 }) == SIGUSR1 ? 7 : 8);
}

static bool waits(pid_t pid)
{
	struct proc_stat stat;

	return !procfs_stat(pid, &stat) && stat.state == 'S';
}

/* As if its id had been that of a thread when it was listed. */
static struct err *seize_stranger(struct victim *v)
{
	struct proc_status status;
	unsigned nr = 0;
	struct err *err = seize_process(v->target, stranger, &nr);

	CU_ASSERT_PTR_NULL(thread_find(v->target, stranger));
	CU_ASSERT_EQUAL(nr, 0);
	CU_ASSERT_PTR_NULL(procfs_status(stranger, &status));
	/* Unless it did not stop in time. */
	CU_ASSERT_EQUAL(status.tracer != 0, map_count(&v->target->strangers));
	return err;
}

TEST("a stranger is let go as it was")
{
	int status;

	stranger = make_stranger();
	CU_ASSERT_TRUE_FATAL(child_start(&child, idle, NULL));
	while (!waits(stranger))
		usleep(1000);
	CU_ASSERT_TRUE(task_is_of(child.pid, child.pid));
	CU_ASSERT_FALSE(task_is_of(stranger, child.pid));
	if (victim_seize(&victim, child.pid)) {
		err_ignore(victim_try(&victim, seize_stranger));
		victim_release(&victim);
	}
	kill(stranger, SIGUSR1);
	CU_ASSERT_EQUAL(waitpid(stranger, &status, 0), stranger);
	CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

static void trace(void *arg)
{
	child_ready(!ptrace(PTRACE_SEIZE, *(pid_t *)arg, NULL, NULL));
	child_wait();
}

static struct err *seize_traced(struct victim *v)
{
	unsigned nr = 0;

	return seize_process(v->target, stranger, &nr);
}

/* Who holds it is said as it was seen: he may be gone when the reason is looked for. */
TEST("one that another traces")
{
	struct child other;
	struct err *err;
	uint64_t word;

	stranger = make_stranger();
	CU_ASSERT_TRUE_FATAL(child_start(&child, idle, NULL));
	CU_ASSERT_TRUE_FATAL(child_start(&other, trace, &stranger));
	CU_ASSERT_TRUE_FATAL(child_word(&other, &word) && word);
	if (victim_seize(&victim, child.pid)) {
		err = victim_try(&victim, seize_traced);
		CU_ASSERT_TRUE(err && err->code == ERR_ATTACH &&
			       strstr(err->msg, "already traced by process"));
		victim_release(&victim);
	}
	CU_ASSERT_EQUAL(child_end(&other), 0);
	kill(stranger, SIGKILL);
	waitpid(stranger, NULL, 0);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

static int order[2];

/* It cannot stop while its child, which has its memory, waits for an order and a while behind it. */
static pid_t make_sleeper(void)
{
	pid_t pid = fork();
	char byte;

	if (pid)
		return pid;
	if (!vfork()) {
		if (read(order[0], &byte, 1) == 1)
			usleep(200000);
		_exit(0);
	}
	_exit(7);
}

static bool sleeps(pid_t pid)
{
	struct proc_stat stat;

	return !procfs_stat(pid, &stat) && stat.state == 'D';
}

static struct err *release_with_stranger(struct victim *v)
{
	err_ignore(seize_stranger(v));
	CU_ASSERT_EQUAL(map_count(&v->target->strangers), 1);
	return NULL;
}

static struct err *release_them(struct victim *v)
{
	CU_ASSERT_EQUAL(write(order[1], "x", 1), 1);
	seize_release(v->target);
	CU_ASSERT_EQUAL(map_count(&v->target->strangers), 0);
	return NULL;
}

TEST("a stranger that stops late is waited for at the release")
{
	int status;

	CU_ASSERT_EQUAL_FATAL(pipe2(order, O_CLOEXEC), 0);
	stranger = make_sleeper();
	CU_ASSERT_TRUE_FATAL(child_start(&child, idle, NULL));
	while (!sleeps(stranger))
		usleep(1000);
	if (victim_seize(&victim, child.pid)) {
		victim_run(&victim, release_with_stranger);
		victim_run(&victim, release_them);
		victim_forget(&victim);
	} else {
		CU_ASSERT_EQUAL(write(order[1], "x", 1), 1);
	}
	CU_ASSERT_EQUAL(waitpid(stranger, &status, 0), stranger);
	CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	CU_ASSERT_EQUAL(child_end(&child), 0);
	close(order[0]);
	close(order[1]);
}

/* It forks when it is told to, and ends as its child does. */
static pid_t make_forker(void)
{
	pid_t pid = fork(), made;
	int status;
	char byte;

	if (pid)
		return pid;
	if (read(order[0], &byte, 1) != 1)
		_exit(9);
	made = fork();
	if (!made)
		_exit(5);
	_exit(waitpid(made, &status, 0) == made && WIFEXITED(status) ? WEXITSTATUS(status) : 8);
}

/* It has forked between the seize and the look at it. */
static struct err *let_go_of_forker(struct victim *v)
{
	struct err *err = ptrace_seize(v->tracer, stranger);
	int status;

	CU_ASSERT_EQUAL(write(order[1], "f", 1), 1);
	if (!err)
		err = tracer_wait_for(stranger, tracer_now() + TARGET_TIMEOUT_NS, &status);
	if (err)
		return err;
	CU_ASSERT_EQUAL(status >> 16, PTRACE_EVENT_FORK);
	thread_let_go_stranger(v->target, stranger, status);
	return NULL;
}

/* The child that the kernel has attached with it goes on as well, and nothing is done to it. */
TEST("a stranger's child is let go, too")
{
	int status;

	CU_ASSERT_EQUAL_FATAL(pipe2(order, O_CLOEXEC), 0);
	stranger = make_forker();
	CU_ASSERT_TRUE_FATAL(child_start(&child, idle, NULL));
	if (victim_seize(&victim, child.pid)) {
		victim_run(&victim, let_go_of_forker);
		CU_ASSERT_EQUAL(waitpid(stranger, &status, 0), stranger);
		CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5);
		CU_ASSERT_EQUAL(victim.forked, 0);
		victim_release(&victim);
	} else {
		kill(stranger, SIGKILL);
		waitpid(stranger, NULL, 0);
	}
	close(order[0]);
	close(order[1]);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

static int apart_thread(void *arg UNUSED)
{
	child_ready((uint64_t)syscall(SYS_gettid));
	while (pause())
		;
	return 0;
}

static int apart(void *arg UNUSED)
{
	static char stack[STACK] __attribute__((aligned(16)));

	child_ready((uint64_t)syscall(SYS_getpid));
	clone(apart_thread, stack + sizeof(stack), CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, NULL);
	while (pause())
		;
	return 0;
}

/* A sister, with a thread. */
static void with_sister(void *arg UNUSED)
{
	static char stack[STACK] __attribute__((aligned(16)));

	clone(apart, stack + sizeof(stack), CLONE_VM | CLONE_PARENT | SIGCHLD, NULL);
	child_wait();
}

static struct err *hold(struct victim *v)
{
	return sharers_hold(v->target);
}

TEST("a sister that shares the memory")
{
	uint64_t pid, tid;

	CU_ASSERT_TRUE_FATAL(child_start(&child, with_sister, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &pid));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &tid));
	if (victim_seize(&victim, child.pid)) {
		CU_ASSERT_PTR_NULL(thread_find(victim.target, (pid_t)pid));
		victim_run(&victim, hold);
		CU_ASSERT_EQUAL(victim.target->state, TARGET_STOPPED);
		CU_ASSERT_PTR_NOT_NULL_FATAL(thread_find(victim.target, (pid_t)pid));
		CU_ASSERT_PTR_NOT_NULL_FATAL(thread_find(victim.target, (pid_t)tid));
		CU_ASSERT_EQUAL(thread_find(victim.target, (pid_t)pid)->state, THREAD_STOPPED);
		CU_ASSERT_EQUAL(thread_find(victim.target, (pid_t)tid)->state, THREAD_STOPPED);
		victim_release(&victim);
	}
	kill((pid_t)pid, SIGKILL);
	CU_ASSERT_EQUAL(waitpid((pid_t)pid, NULL, 0), (pid_t)pid);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

/* A flag means something else in an older kernel; all that a worker has must be there. */
TEST("tasks of the kernel's")
{
	struct proc_stat stat;

	CU_ASSERT_PTR_NULL_FATAL(procfs_task_stat(getpid(), gettid(), &stat));
	CU_ASSERT_FALSE(task_is_kernels(gettid(), &stat));
	stat.flags |= 0x10 | 0x4000;
	CU_ASSERT_FALSE(task_is_kernels(gettid(), &stat));
	stat.blocked = 0x7fffffff & ~(1u << (SIGKILL - 1) | 1u << (SIGSTOP - 1));
	CU_ASSERT_FALSE(task_is_kernels(gettid(), &stat));	/* libc has given it a robust list */
	stat.flags = PROC_KERNEL_THREAD;
	CU_ASSERT_TRUE(task_is_kernels(gettid(), &stat));
	CU_ASSERT_PTR_NOT_NULL(procfs_task_stat(getpid(), getppid(), &stat));
}
