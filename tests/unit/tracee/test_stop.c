/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stopping threads that run and threads that wait. */

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "child.h"
#include "os/procfs.h"
#include "os/tracer.h"
#include "tracee/target.h"
#include "unit.h"
#include "victim.h"

#define WAITING	40
#define RUNNING	2
#define WAKING	2
#define TRIES	3000	/* each of which sees them, where they have a processor */

static struct victim victim;
static struct child child;

static void *wait_for_ever(void *arg UNUSED)
{
	for (;;)
		pause();
	return NULL;
}

static void *run_for_ever(void *arg)
{
	volatile uint64_t count = 0;

	pthread_barrier_wait(arg);
	for (;;)
		count++;
	return NULL;
}

static void *wake_for_ever(void *arg UNUSED)
{
	static const struct timespec nap = { .tv_nsec = 50000 };

	for (;;)
		nanosleep(&nap, NULL);
	return NULL;
}

static void wakers(void *arg UNUSED)
{
	pthread_t thread;

	for (unsigned i = 0; i < WAITING + WAKING; i++)
		if (pthread_create(&thread, NULL, i < WAITING ? wait_for_ever : wake_for_ever,
				   NULL))
			_exit(1);
	child_ready(1);
	child_wait();
	_exit(0);
}

static void threads(void *arg UNUSED)
{
	pthread_barrier_t barrier;
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, RUNNING + 1);
	for (unsigned i = 0; i < WAITING + RUNNING; i++)
		if (pthread_create(&thread, NULL, i < WAITING ? wait_for_ever : run_for_ever,
				   &barrier))
			_exit(1);
	pthread_barrier_wait(&barrier);
	child_ready(1);
	child_wait();
	_exit(0);
}

static unsigned stopped, busy, before_busy;

static void count(struct thread *thread)
{
	if (thread->busy && !busy)
		before_busy = stopped;
	stopped += thread->state == THREAD_STOPPED;
	busy += thread->busy;
}

static struct err *count_all(struct victim *v)
{
	stopped = busy = before_busy = 0;
	stop_each_to_go_on(v->target, count);
	return NULL;
}

/* Do all those wait that are to, the first thread too? */
static bool all_wait(void)
{
	struct proc_tasks tasks = { VEC_INIT };
	unsigned waiting = 0;

	CU_ASSERT_PTR_NULL(procfs_tasks(child.pid, &tasks));
	for (size_t i = 0; i < tasks.vec.nr; i++) {
		struct proc_stat stat;

		waiting += !procfs_stat(tasks.vec.at[i], &stat) && stat.state == 'S';
	}
	vec_free(&tasks.vec);
	return waiting == WAITING + 1;
}

TEST("all stop, those who run last")
{
	CU_ASSERT_TRUE_FATAL(child_start(&child, threads, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &(uint64_t){ 0 }));
	while (!all_wait())
		;
	if (!victim_seize(&victim, child.pid)) {
		child_end(&child);
		return;
	}
	for (int i = 0; i < 20; i++) {
		victim_run(&victim, count_all);
		CU_ASSERT_EQUAL(stopped, WAITING + RUNNING + 1);
		CU_ASSERT_EQUAL(busy, RUNNING);
		CU_ASSERT_EQUAL(before_busy, WAITING + 1);
		victim_resume(&victim);
		/* One that is stopped on its way back into its call is busy. */
		while (!all_wait())
			;
		victim_stop(&victim);
	}
	victim_release(&victim);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

static unsigned waking;
static bool before_waking;	/* one who waits, or is busy */

static void count_waking(struct thread *thread)
{
	bool wakes = thread->wakes && !thread->busy;

	CU_ASSERT_FALSE(wakes && before_waking);
	before_waking |= !wakes;
	waking += wakes;
	stopped += thread->state == THREAD_STOPPED;
}

static struct err *count_all_waking(struct victim *v)
{
	stopped = waking = 0;
	before_waking = false;
	stop_each_to_go_on(v->target, count_waking);
	return NULL;
}

/* They may be seen at work, and others be seen on their way back to wait: but not again and again. */
TEST("who wakes all the time goes on first")
{
	bool seen = false;
	uint64_t runs;

	CU_ASSERT_PTR_NULL_FATAL(procfs_runs(getpid(), &runs));
	if (!runs) {
		unit_skip("this kernel does not count how often a thread ran");
		return;
	}
	CU_ASSERT_TRUE_FATAL(child_start(&child, wakers, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &(uint64_t){ 0 }));
	if (!victim_seize(&victim, child.pid)) {
		child_end(&child);
		return;
	}
	for (unsigned i = 0; i < TRIES && !seen; i++) {
		victim_run(&victim, count_all_waking);
		CU_ASSERT_EQUAL(stopped, WAITING + WAKING + 1);
		seen = waking == WAKING;
		victim_resume(&victim);
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		victim_stop(&victim);
	}
	victim_release(&victim);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

static _Atomic unsigned *turns;

static void turn_for_ever(void *arg UNUSED)
{
	child_ready(1);
	for (;;)
		++*turns;
}

static bool is_traced_stop(pid_t tid)
{
	struct proc_stat stat;

	return !procfs_stat(tid, &stat) && stat.state == 't';
}

/* A thread that has stopped, but was not heard yet, is not asked to once more. */
static struct err *ask_before(struct victim *v)
{
	struct thread *thread = thread_find(v->target, v->pid);
	struct err *err = tracer_interrupt(v->pid);

	thread->state = THREAD_ASKED;
	while (!err && !is_traced_stop(v->pid))
		;
	if (!err)
		err = target_stop(v->target, NULL);
	CU_ASSERT_EQUAL(thread->state, THREAD_STOPPED);
	v->reports = *turns = 0;
	target_resume(v->target);
	CU_ASSERT_NOT_EQUAL(thread->state, THREAD_ASKED);
	return err;
}

TEST("who has stopped is not asked again")
{
	turns = child_share(sizeof(*turns));
	CU_ASSERT_PTR_NOT_NULL_FATAL(turns);
	CU_ASSERT_TRUE_FATAL(child_start(&child, turn_for_ever, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &(uint64_t){ 0 }));
	if (victim_seize(&victim, child.pid)) {
		victim_resume(&victim);
		for (int i = 0; i < 20; i++) {
			victim_run(&victim, ask_before);
			while (*turns < 2)
				;
			CU_ASSERT_EQUAL(victim.reports, 0);
		}
		victim_stop(&victim);
		victim_release(&victim);
	}
	kill(child.pid, SIGKILL);
	child_end(&child);
	munmap((void *)turns, sizeof(*turns));
}
