/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who belongs to a target: threads that come while it is seized, and processes that share its memory. */

#include "tracee/target.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "os/procfs.h"
#include "os/tracer.h"
#include "unit.h"
#include "victim.h"

/* Threads of a sanitized program take a tenth of a millisecond to begin, and each seize waits for many. */
#define ROUNDS	(UNIT_SANITIZED ? 50 : 300)
#define WORK	20	/* of a thread of the chain: so short that most end between two looks at them */
#define STACK	65536u
#define LOOKS	30000u

static struct shared {
	atomic_uint work;
	atomic_bool end, ended, exec;
} *shared;

CHILD_SHARED(shared);
static struct victim victim;
static struct child child;
static pthread_attr_t detached;

/* A thread that makes the next one and ends. */
static void *chain(void *arg UNUSED)
{
	pthread_t next;

	for (unsigned i = 0; i < WORK; i++) {
		free(malloc(100 + i));
		atomic_fetch_add(&shared->work, 1);
	}
	if (atomic_load(&shared->end))
		atomic_store(&shared->ended, true);
	else
		while (pthread_create(&next, &detached, chain, NULL))
			;
	return NULL;
}

static void chain_of_threads(void *arg UNUSED)
{
	pthread_t first;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&first, &detached, chain, NULL))
		_exit(1);
	child_ready(1);
	child_wait();
	atomic_store(&shared->end, true);
	while (!atomic_load(&shared->ended))
		;
}

/* All that /proc lists is traced, and stands still. */
static void check_all_stand(void)
{
	unsigned work = atomic_load(&shared->work);
	struct proc_tasks tasks = { VEC_INIT };

	CU_ASSERT_PTR_NULL(procfs_tasks(child.pid, &tasks));
	for (size_t i = 0; i < tasks.vec.nr; i++)
		CU_ASSERT_PTR_NOT_NULL(thread_find(victim.target, tasks.vec.at[i]));
	vec_free(&tasks.vec);
	CU_ASSERT_EQUAL(atomic_load(&shared->work), work);
}

TEST("threads that make the next one and end")
{
	uint64_t word;

	memset(shared, 0, sizeof(*shared));
	CU_ASSERT_TRUE_FATAL(child_start(&child, chain_of_threads, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (!victim_seize(&victim, child.pid))
			break;
		check_all_stand();
		victim_release(&victim);
	}
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

static int wait_for_end(void *arg UNUSED)
{
	child_wait();
	return 0;
}

/* As long as it lives, so does one that shares its memory. */
static void sharer(void *arg UNUSED)
{
	static char stack[STACK] __attribute__((aligned(16)));
	pid_t pid = clone(wait_for_end, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);

	child_ready((uint64_t)pid);
	waitpid(pid, NULL, 0);
}

/* The thread that the memory was read by has ended, and nobody has been told yet. */
TEST("who shares the memory")
{
	pid_t dead = fork(), own;
	siginfo_t info;
	uint64_t pid;

	if (!dead)
		_exit(0);
	own = fork();
	if (!own) {
		pause();
		_exit(0);
	}
	CU_ASSERT_TRUE_FATAL(child_start(&child, sharer, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &pid));
	CU_ASSERT_EQUAL(waitid(P_PID, (id_t)dead, &info, WEXITED | WNOWAIT), 0);
	if (victim_seize(&victim, child.pid)) {
		CU_ASSERT_PTR_NOT_NULL(thread_find(victim.target, (pid_t)pid));
		CU_ASSERT_TRUE(thread_shares(victim.target, (pid_t)pid));
		CU_ASSERT_FALSE(thread_shares(victim.target, own));
		procmem_set_tid(&victim.target->mem, dead);
		CU_ASSERT_TRUE(thread_shares(victim.target, (pid_t)pid));
		CU_ASSERT_FALSE(thread_shares(victim.target, own));
		procmem_set_tid(&victim.target->mem, child.pid);
		victim_release(&victim);
	}
	kill(own, SIGKILL);
	waitpid(own, NULL, 0);
	waitpid(dead, NULL, 0);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

static int sharers_sharer(void *arg UNUSED)
{
	sharer(arg);
	return 0;
}

/* One that shares the memory has made another. */
static void two_sharers(void *arg UNUSED)
{
	static char stack[STACK] __attribute__((aligned(16)));
	pid_t pid = clone(sharers_sharer, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);

	waitpid(pid, NULL, 0);
}

TEST("one made by another that shares it")
{
	uint64_t pid;

	CU_ASSERT_TRUE_FATAL(child_start(&child, two_sharers, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &pid));
	if (victim_seize(&victim, child.pid)) {
		CU_ASSERT_PTR_NOT_NULL(thread_find(victim.target, (pid_t)pid));
		victim_release(&victim);
	}
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

static void *ready_for_ever(void *arg UNUSED)
{
	child_ready((uint64_t)gettid());
	while (pause())
		;
	return NULL;
}

static void executer(void *arg UNUSED)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, ready_for_ever, NULL))
		_exit(1);
	while (!atomic_load(&shared->exec))
		;
	execl("/bin/true", "true", NULL);
	_exit(1);
}

static void no_poll(void *ctx UNUSED)
{
}

static bool is_zombie(pid_t tid)
{
	struct proc_stat stat;

	return !procfs_stat(tid, &stat) && stat.state == 'Z';
}

static pid_t other;

/* The other thread is traced and has ended, the first one waits for it: to seize it takes both. */
static struct err *seize_executer(struct victim *v)
{
	struct tracer *tracer = v->target->tracer;
	struct err *err = tracer_set_poll(tracer, no_poll, 20000000);

	seize_untrace(v->target);
	if (!err)
		err = ptrace_seize(tracer, other);
	if (err)
		return err;
	tracer_count(tracer, 1);
	atomic_store(&shared->exec, true);
	while (!is_zombie(other))
		;
	err = seize_all(v->target);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_BUSY);
	return NULL;
}

TEST("one that executes another program")
{
	uint64_t word;

	memset(shared, 0, sizeof(*shared));
	CU_ASSERT_TRUE_FATAL(child_start(&child, executer, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	other = (pid_t)word;
	if (victim_seize(&victim, child.pid)) {
		victim_run(&victim, seize_executer);
		/* The tracer hears of the end, and the program begins. */
		CU_ASSERT_EQUAL(child_end(&child), 0);
		tracer_destroy(victim.tracer);
		target_destroy(victim.target);
	} else {
		atomic_store(&shared->exec, true);
		child_end(&child);
	}
}

/* Executes another program when it is told to, and has the first thread killed for that. */
static void *execute_when_told(void *arg UNUSED)
{
	child_ready((uint64_t)gettid());
	while (!atomic_load(&shared->exec))
		;
	execl("/bin/true", "true", NULL);
	_exit(1);
}

static bool start_with_executer(void (*body)(void *arg))
{
	uint64_t word;

	memset(shared, 0, sizeof(*shared));
	CU_ASSERT_TRUE_FATAL(child_start(&child, body, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	other = (pid_t)word;
	if (victim_seize(&victim, child.pid))
		return true;
	kill(child.pid, SIGKILL);
	child_end(&child);
	return false;
}

static bool is_traced(pid_t pid)
{
	struct proc_status status;

	return !procfs_status(pid, &status) && status.tracer;
}

/* The new program is let go, and ends as it would. */
static void end_executed(void)
{
	for (unsigned i = 0; i < LOOKS && is_traced(child.pid); i++)
		usleep(1000);
	CU_ASSERT_FALSE_FATAL(is_traced(child.pid));
	CU_ASSERT_EQUAL(child_end(&child), 0);
	tracer_destroy(victim.tracer);
	target_destroy(victim.target);
}

static void trapper(void *arg UNUSED)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, execute_when_told, NULL))
		_exit(1);
	while (!atomic_load(&shared->end))
		;
	for (;;)
		raise(SIGTRAP);
}

/* The other executes its program while the first makes a call. */
static struct err *call(struct remote *remote)
{
	uint64_t unused;

	atomic_store(&shared->exec, true);
	return remote_syscall(remote, &unused, SYS_pause);
}

static bool trap_with_call(struct thread *thread)
{
	AUTO_FREE struct remote *remote = malloc(sizeof(*remote));
	struct err *err;

	CU_ASSERT_PTR_NULL_FATAL(remote_borrow_begin(thread, remote));
	err = call(remote);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_GONE);
	CU_ASSERT_PTR_NOT_NULL(remote_end(remote));
	return true;
}

TEST("one that does while a trap of the first is handled")
{
	if (!start_with_executer(trapper))
		return;
	victim.trap = trap_with_call;
	atomic_store(&shared->end, true);
	victim_resume(&victim);
	end_executed();
}

static void waiter(void *arg UNUSED)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, execute_when_told, NULL))
		_exit(1);
	child_wait();
	while (pause())
		;
}

static struct err *let_other_go(struct victim *v)
{
	thread_resume(thread_find(v->target, other), 0);
	return NULL;
}

static struct err *call_on(struct victim *v)
{
	return call(&v->remote);
}

/* One of those that run executes a program while the first thread is borrowed. */
TEST("one that does while the first is borrowed")
{
	struct err *err;

	if (!start_with_executer(waiter))
		return;
	victim_run(&victim, let_other_go);
	err = victim_try(&victim, call_on);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_GONE);
	end_executed();
}

static void *outlive(void *arg UNUSED)
{
	while (pause())
		;
	return NULL;
}

static void two_waiters(void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, outlive, NULL))
		_exit(1);
	waiter(arg);
}

static struct err *release(struct victim *v)
{
	seize_release(v->target);
	return NULL;
}

/* It waits for the end of a third, which is traced: nobody may forget that one unheard. */
TEST("one that is about to, and waits for a third")
{
	struct err *err;

	if (!start_with_executer(two_waiters))
		return;
	victim_run(&victim, let_other_go);
	err = victim_try(&victim, call_on);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_GONE);
	victim_run(&victim, release);
	end_executed();
}

static void sharer_and_executer(void *arg UNUSED)
{
	static char stack[STACK] __attribute__((aligned(16)));
	pid_t pid = clone(wait_for_end, stack + sizeof(stack), CLONE_VM, NULL);

	child_ready((uint64_t)pid);
	while (!atomic_load(&shared->exec))
		;
	execl("/bin/true", "true", NULL);
	_exit(1);
}

static struct err *execute_while_other_stands(struct victim *v)
{
	thread_resume(thread_find(v->target, child.pid), 0);
	v->target->state = TARGET_STOPPING;
	atomic_store(&shared->exec, true);
	while (v->target->state != TARGET_ENDED)
		stop_attend(v->target, 1000000);
	return NULL;
}

/* Who shared the memory of the old program goes on. */
TEST("who shared the memory of one that does")
{
	if (!start_with_executer(sharer_and_executer))
		return;
	CU_ASSERT_TRUE(is_traced(other));
	victim_run(&victim, execute_while_other_stands);
	CU_ASSERT_FALSE(is_traced(other));
	end_executed();
}

static void *answer(void *arg UNUSED)
{
	atomic_store(&shared->ended, true);
	return NULL;
}

static void maker(void *arg UNUSED)
{
	pthread_t thread;

	child_ready(1);
	while (!atomic_load(&shared->end))
		;
	if (pthread_create(&thread, NULL, answer, NULL))
		_exit(1);
	pthread_join(thread, NULL);
	child_wait();
}

/* mdbg has no descriptor left to look at it by. */
TEST("one that comes when there is no descriptor")
{
	struct rlimit none, limit;
	uint64_t word;

	memset(shared, 0, sizeof(*shared));
	CU_ASSERT_TRUE_FATAL(child_start(&child, maker, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	if (victim_seize(&victim, child.pid)) {
		victim_resume(&victim);
		getrlimit(RLIMIT_NOFILE, &limit);
		none = limit;
		none.rlim_cur = 0;
		setrlimit(RLIMIT_NOFILE, &none);
		atomic_store(&shared->end, true);
		while (!atomic_load(&shared->ended))
			;
		setrlimit(RLIMIT_NOFILE, &limit);
		victim_release(&victim);
	}
	atomic_store(&shared->end, true);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

static void count_signal(int signal UNUSED)
{
	atomic_fetch_add(&shared->work, 1);
}

static void signalled(void *arg UNUSED)
{
	signal(SIGTRAP, count_signal);
	signal(SIGUSR1, count_signal);
	child_ready(1);
	while (!atomic_load(&shared->end))
		pause();
}

static struct err *be_outside(struct victim *v)
{
	thread_find(v->target, v->pid)->inside = INSIDE_NO;
	target_resume(v->target);
	return NULL;
}

/* It gets the signal, and is stopped; is it still known where it is not? */
static enum thread_inside after_signal(int signal)
{
	unsigned had = atomic_load(&shared->work);

	victim_run(&victim, be_outside);
	kill(child.pid, signal);
	while (atomic_load(&shared->work) == had)
		;
	victim_stop(&victim);
	return thread_find(victim.target, child.pid)->inside;
}

/* A handler of ours is the only code that a thread enters from anywhere. */
TEST("one that gets a SIGTRAP")
{
	uint64_t word;

	memset(shared, 0, sizeof(*shared));
	CU_ASSERT_TRUE_FATAL(child_start(&child, signalled, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	if (victim_seize(&victim, child.pid)) {
		CU_ASSERT_EQUAL(after_signal(SIGUSR1), INSIDE_NO);
		CU_ASSERT_EQUAL(after_signal(SIGTRAP), INSIDE_UNKNOWN);
		victim_release(&victim);
	}
	atomic_store(&shared->end, true);
	kill(child.pid, SIGUSR1);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

