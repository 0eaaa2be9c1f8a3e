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

#define LOOK_NS	1000000000ull
#define STACK	(256u << 10)	/* the usual one counts as 8 MB of RLIMIT_DATA */

bool stall_look(struct stall *stall, char state, uint64_t switches)
{
	bool same = state == 'D' && stall->looks && stall->switches == switches;

	stall->looks = state == 'D' ? (same ? stall->looks + 1 : 1) : 0;
	stall->switches = switches;
	return stall->looks >= STALL_LOOKS;
}

static bool look(const struct stall_watch *watch, struct stall *stall)
{
	struct proc_stat stat;
	uint64_t switches = 0;
	char path[64];

	if (procfs_task_stat(getpid(), watch->watched, &stat))
		return stall_look(stall, 'S', 0);
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", watch->watched);
	if (!file_number(path, "voluntary_ctxt_switches:", &switches))
		return stall_look(stall, 'S', 0);
	return stall_look(stall, stat.state, switches);
}

#define WHY \
	"\nmdbg: the kernel does not let mdbg look at the process any more (somebody keeps its " \
	"memory locked, perhaps for a file system that does not answer): "

/* Nothing of mdbg's is asked for it: another thread may have any lock for good. */
static void say(const char *text, size_t len)
{
	if (write(STDERR_FILENO, text, len) < 0)
		errno = 0;	/* nobody reads it */
}

static void give_up(const struct stall_watch *watch, bool first)
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
	} else if (first) {
		say(waits, sizeof(waits) - 1);
	}
}

static void *run(void *arg)
{
	struct stall_watch *watch = arg;
	struct stall stall = { 0 };
	struct timespec until;

	pthread_mutex_lock(&watch->lock);
	while (!watch->end) {
		until = procfs_timespec(procfs_clock(CLOCK_MONOTONIC) + LOOK_NS);
		if (pthread_cond_timedwait(&watch->ends, &watch->lock, &until) == ETIMEDOUT &&
		    look(watch, &stall))
			give_up(watch, stall.looks == STALL_LOOKS);
	}
	pthread_mutex_unlock(&watch->lock);
	return NULL;
}

struct err *stall_watch_begin(struct stall_watch *watch, pid_t watched, const unsigned *tracees)
{
	pthread_condattr_t monotonic;
	pthread_attr_t attr;
	int errnum;

	*watch = (struct stall_watch){ .watched = watched, .tracees = tracees };
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
