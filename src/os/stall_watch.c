/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Watches the tracer thread (theory in stall_watch.h). */

#include "os/stall_watch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "os/file.h"
#include "os/procfs.h"

#define STACK	(256u << 10)	/* the usual one counts as 8 MB of RLIMIT_DATA */
#define BETWEEN	4		/* the part of the time between two looks for which work is looked at */

bool stall_watch_look(struct stall *stall, char state, uint64_t switches)
{
	bool same = state == 'D' && stall->looks && stall->switches == switches;

	stall->looks = state == 'D' ? (same ? stall->looks + 1 : 1) : 0;
	stall->switches = switches;
	stall->told = same && stall->told;
	return stall->looks >= STALL_LOOKS;
}

/* switches_ret: how often it gave up its processor by itself. False: it is gone. */
static bool read_task(pid_t pid, pid_t tid, struct proc_stat *stat_ret, uint64_t *switches_ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	return !procfs_task_stat(pid, tid, stat_ret) &&
	       file_number(path, "voluntary_ctxt_switches:", switches_ret);
}

static bool look(const struct stall_watch *watch, struct stall *stall)
{
	struct proc_stat stat;
	uint64_t switches;

	if (!read_task(getpid(), watch->watched, &stat, &switches))
		return stall_watch_look(stall, 'S', 0);
	return stall_watch_look(stall, stat.state, switches);
}

struct worker {
	pid_t pid, tid;
	struct proc_stat stat;
	uint64_t switches;
};

struct workers {
	VEC(struct worker) vec;
};

static void add_threads(pid_t pid, struct workers *workers)
{
	struct worker worker = { .pid = pid };
	struct proc_tasks tasks = { VEC_INIT };

	err_ignore(procfs_tasks(pid, &tasks));	/* gone: the list is empty */
	vec_each(tid, &tasks.vec) {
		worker.tid = *tid;
		if (read_task(pid, *tid, &worker.stat, &worker.switches) && worker.stat.state == 'R')
			err_ignore(vec_push(&workers->vec, worker));
	}
	vec_free(&tasks.vec);
}

/* No file that is read here needs the lock of the memory. */
static void add_tracees(pid_t tracer, struct workers *workers)
{
	struct proc_tasks all = { VEC_INIT };
	struct proc_status status;

	err_ignore(procfs_numbers("/proc", &all));
	vec_each(pid, &all.vec)
		if (!procfs_status(*pid, &status) && status.tracer == tracer)
			add_threads(*pid, workers);
	vec_free(&all.vec);
}

/*
 * Was it in the kernel for most of the time, without a sleep? Times come in hundredths of a second.
 * A worker that was short of a processor has used none.
 */
static bool has_worked(const struct worker *before)
{
	struct worker now;

	return read_task(before->pid, before->tid, &now.stat, &now.switches) &&
	       now.stat.state == 'R' && now.switches == before->switches &&
	       now.stat.stime - before->stat.stime >= now.stat.utime - before->stat.utime;
}

static bool any_works(const struct stall_watch *watch)
{
	const struct timespec moment = procfs_timespec(watch->every / BETWEEN);
	struct workers workers = { VEC_INIT };
	bool any = false;

	add_tracees(watch->watched, &workers);
	nanosleep(&moment, NULL);
	vec_each_while(worker, &workers.vec, !any)
		any = has_worked(worker);
	vec_free(&workers.vec);
	return any;
}

#define WHY \
	"\nmdbg: the kernel does not let mdbg look at the process any more (somebody keeps its " \
	"memory locked, perhaps for a file system that does not answer): "

/* This uses nothing else of mdbg's: another thread may hold any lock for good. */
static void say(const char *text, size_t len)
{
	if (write(STDERR_FILENO, text, len) < 0)
		errno = 0;	/* nobody reads it */
}

static void give_up(const struct stall_watch *watch, struct stall *stall)
{
	static const char ends[] = WHY
		"mdbg ends by SIGKILL, so that the process goes on\n"
		"hint: attach again later, which takes out what is left\n";
	static const char waits[] = WHY
		"mdbg waits; the process goes on\n"
		"hint: SIGTERM, and another one five seconds later, ends mdbg\n";

	if (__atomic_load_n(watch->tracees, __ATOMIC_RELAXED)) {
		say(ends, sizeof(ends) - 1);
		kill(getpid(), SIGKILL);
	} else if (!stall->told) {
		say(waits, sizeof(waits) - 1);
		stall->told = true;
	}
}

static void *run(void *arg)
{
	struct stall_watch *watch = arg;
	struct stall stall = { 0 };
	struct timespec until;

	pthread_mutex_lock(&watch->lock);
	while (!watch->end) {
		until = procfs_timespec(procfs_clock(CLOCK_MONOTONIC) + watch->every);
		if (pthread_cond_timedwait(&watch->ends, &watch->lock, &until) == ETIMEDOUT &&
		    look(watch, &stall) && (stall.looks >= STALL_MOST || !any_works(watch)))
			give_up(watch, &stall);
	}
	pthread_mutex_unlock(&watch->lock);
	return NULL;
}

struct err *stall_watch_begin(struct stall_watch *watch, pid_t watched, const unsigned *tracees,
			      uint64_t every)
{
	pthread_condattr_t monotonic;
	pthread_attr_t attr;
	int errnum;

	*watch = (struct stall_watch){ .every = every, .watched = watched, .tracees = tracees };
	pthread_mutex_init(&watch->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&watch->ends, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	errnum = pthread_create(&watch->thread, &attr, run, watch);
	pthread_attr_destroy(&attr);
	if (!errnum)
		return NULL;
	errno = errnum;
	return err_sys("start a thread");
}

void stall_watch_end(struct stall_watch *watch)
{
	pthread_mutex_lock(&watch->lock);
	watch->end = true;
	pthread_cond_signal(&watch->ends);
	pthread_mutex_unlock(&watch->lock);
	pthread_join(watch->thread, NULL);
	pthread_cond_destroy(&watch->ends);
	pthread_mutex_destroy(&watch->lock);
}
