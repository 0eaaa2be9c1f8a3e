/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tracer thread: requests, stops, polls. Its ptrace requests are in ptrace.c. */

#include "os/tracer.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/procfs.h"
#include "os/tracer_private.h"

#define TRACER_SIGNAL	SIGUSR2
#define NS_PER_MS	1000000ull
/*
 * If the tracer does not take up a request, it is signalled again: after KNOCK_NS, and then after
 * twice as long each time, up to KNOCK_MOST_NS.
 */
#define KNOCK_NS	50000ull
#define KNOCK_MOST_NS	(2 * NS_PER_MS)
/*
 * A bounded wait first looks without sleeping for SPIN_NS, as an idle processor takes some 20 us to
 * wake and to run a thread to its stop. Then it naps; each nap is twice as long as the last.
 */
#define SPIN_NS		25000ull
#define NAP_NS		5000ull
#define NAP_MAX_NS	50000ull
/*
 * After FOLLOW_AFTER stops in a row from one thread, the tracer follows it, and looks up its
 * processor once in FOLLOW_LOOK stops.
 */
#define FOLLOW_AFTER	64
#define FOLLOW_LOOK	4096
/* How long the tracer looks for the next stop of a followed thread before it sleeps. */
#define LINGER_NS	40000ull
/*
 * How many polls a PTRACE_SEIZE may take: see ptrace_seize. This is not a time, because on a busy
 * machine the tracer may have no processor for a while, and then only one poll is waiting for it.
 */
#define SEIZE_POLLS	3

uint64_t tracer_now(void)
{
	return procfs_clock(CLOCK_MONOTONIC);
}

/* The signal ends a waitpid with EINTR, and a PTRACE_SEIZE that would not end. */
static void knocked(int signal UNUSED, siginfo_t *info, void *context UNUSED)
{
	struct tracer *tracer = info->si_code == SI_TIMER ? info->si_value.sival_ptr : NULL;

	if (!tracer || !tracer->seizing || tracer->seizing++ < SEIZE_POLLS)
		return;
	tracer->seizing = 0;
	siglongjmp(tracer->seize_end, 1);
}

/* Run the waiting request. Called with the lock held. */
static void serve(struct tracer *tracer)
{
	struct err *(*fn)(void *arg) = tracer->fn;
	void *arg = tracer->arg;
	struct err *err;

	tracer->fn = NULL;
	tracer->taken = true;
	pthread_cond_broadcast(&tracer->answer);
	pthread_mutex_unlock(&tracer->lock);
	err = fn(arg);
	pthread_mutex_lock(&tracer->lock);
	tracer->failed = err;
	if (err)
		err_copy(&tracer->err, err);
	tracer->done = true;
	pthread_cond_broadcast(&tracer->answer);
}

/* Wait for a request, but no longer than until the next poll. */
static void wait_request(struct tracer *tracer)
{
	struct timespec until;

	if (!tracer->on_poll) {
		pthread_cond_wait(&tracer->work, &tracer->lock);
		return;
	}
	until = procfs_timespec(tracer->poll_next);
	pthread_cond_timedwait(&tracer->work, &tracer->lock, &until);
}

static bool poll_due(const struct tracer *tracer)
{
	return tracer->on_poll && tracer_now() >= tracer->poll_next;
}

/* Serve requests until the tracer must wait for a stop, or a poll is due. False: it must end. */
static bool serve_requests(struct tracer *tracer)
{
	bool go_on;

	if (tracer->tracees && !tracer->call)	/* avoids the lock at each stop */
		return true;
	pthread_mutex_lock(&tracer->lock);
	for (;;) {
		if (tracer->fn)
			serve(tracer);
		else if (tracer->quit || tracer->tracees || poll_due(tracer))
			break;
		else
			wait_request(tracer);
	}
	go_on = !tracer->quit;
	tracer->call = tracer->quit;
	pthread_mutex_unlock(&tracer->lock);
	return go_on;
}

/*
 * Like waitpid, but a stop for a signal is only looked at. A wait that takes the stop takes the
 * signal as well: wait_task_stopped clears exit_code, the signal with which the thread continues if
 * the tracer dies. If mdbg were killed between that and the change of PC, it would leave a thread
 * just behind an int3 with nothing to guide it. As it is, the kernel then delivers the SIGTRAP, and
 * the handler in the target (agent/trap_handler.c) does the rest. A stop that was not taken is gone
 * once the thread is resumed.
 *
 * Stops of tracees are reported without WSTOPPED (wait_task_stopped). With it, the stop of a child
 * that is not traced any more (a started program that mdbg has detached from) would be found again
 * and again.
 *
 * The end of `kept` is ignored.
 */
static pid_t wait_status(pid_t which, pid_t kept, int flags, int *status_ret)
{
	siginfo_t info = { .si_pid = 0 };

	if (waitid(which < 0 ? P_ALL : P_PID, which < 0 ? 0 : (id_t)which, &info,
		   WEXITED | WNOWAIT | __WALL | __WNOTHREAD | flags))
		return -1;
	if (!info.si_pid || (info.si_pid == kept && info.si_code != CLD_TRAPPED))
		return 0;
	if (info.si_code != CLD_TRAPPED || info.si_status > SIGRTMAX)
		return waitpid(info.si_pid, status_ret, __WALL | __WNOTHREAD | WNOHANG);
	*status_ret = W_STOPCODE(info.si_status);
	return info.si_pid;
}

static void unpin(struct tracer *tracer)
{
	if (tracer->pinned)
		sched_setaffinity(0, sizeof(tracer->cpus), &tracer->cpus);
	tracer->pinned = false;
}

/*
 * Move to the processor of the tracee. A stop wakes the tracer, which wakes the tracee: on one
 * processor that is two plain switches (9 us), on two it is two wake-ups of an idle processor (50
 * us, seen). So while all stops come from one thread, the tracer runs on its processor; the two
 * never want to run at once.
 */
static void follow(struct tracer *tracer, pid_t tid)
{
	struct proc_stat stat;
	cpu_set_t one;

	if (tid != tracer->last) {
		tracer->last = tid;
		tracer->in_row = tracer->since_look = 0;
		unpin(tracer);
		return;
	}
	if (++tracer->in_row < FOLLOW_AFTER || tracer->since_look++ % FOLLOW_LOOK)
		return;
	if (procfs_stat(tid, &stat) || stat.cpu < 0 || stat.cpu >= CPU_SETSIZE ||
	    !CPU_ISSET(stat.cpu, &tracer->cpus))
		return;
	CPU_ZERO(&one);
	CPU_SET(stat.cpu, &one);
	tracer->pinned = !sched_setaffinity(0, sizeof(one), &one);
}

/*
 * Wait for the next status. A followed thread stops again soon, and a tracer that sleeps and is
 * woken on a processor that went idle meanwhile takes longer than that: on an idle machine a pair
 * of malloc and free takes 150 us with sleep and 60 us without. The tracer offers the processor to
 * the tracee at each look. It does not do so if several threads stop, which want the processors
 * themselves, or if there is only one processor.
 */
static pid_t wait_next(const struct tracer *tracer, int *status_ret)
{
	uint64_t end;

	if (tracer->in_row < FOLLOW_AFTER || CPU_COUNT(&tracer->cpus) == 1)
		return wait_status(-1, 0, 0, status_ret);
	end = tracer_now() + LINGER_NS;
	do {
		pid_t tid = wait_status(-1, 0, WNOHANG, status_ret);

		if (tid)
			return tid;
		sched_yield();
	} while (tracer_now() < end);
	return wait_status(-1, 0, 0, status_ret);
}

static void *run(void *arg)
{
	struct tracer *tracer = arg;
	sigset_t knock;
	int status;
	pid_t tid;

	/* If this fails (there may be no room for another thread), only its limit is missing. */
	tracer->watched = !stall_watch_begin(&tracer->watch, gettid(), &tracer->tracees,
					     STALL_EVERY_NS);
	sigemptyset(&knock);
	sigaddset(&knock, TRACER_SIGNAL);
	/*
	 * Each stop sends a SIGCHLD. If it is blocked, it is not ignored, but wakes the main thread
	 * (sig_ignored).
	 */
	sigaddset(&knock, SIGCHLD);
	pthread_sigmask(SIG_UNBLOCK, &knock, NULL);
	prctl(PR_SET_TIMERSLACK, 1UL);	/* so that naps are as short as intended */
	sched_getaffinity(0, sizeof(tracer->cpus), &tracer->cpus);
	tracer->policy = sched_getscheduler(0);
	while (serve_requests(tracer)) {
		if (poll_due(tracer)) {
			tracer->poll_next = tracer_now() + tracer->poll_every;
			tracer->on_poll(tracer->ctx);
			if (tracer->tracees)
				continue;
			/* A child whose creator has ended is not counted by anybody yet. */
			tid = wait_status(-1, tracer->kept, WNOHANG, &status);
			if (tid <= 0)
				continue;
		} else {
			tid = wait_next(tracer, &status);
		}
		if (tid > 0) {
			follow(tracer, tid);
			tracer->stopped(tracer->ctx, tid, status);
		} else if (tid < 0 && errno == ECHILD) {
			__atomic_store_n(&tracer->tracees, 0, __ATOMIC_RELAXED);
			unpin(tracer);
		}
	}
	if (tracer->has_timer)
		timer_delete(tracer->timer);
	if (tracer->watched)
		stall_watch_end(&tracer->watch);
	return NULL;
}

struct err *tracer_set_poll(struct tracer *tracer, tracer_poll_fn *on_poll, uint64_t every)
{
	struct itimerspec spec = { .it_interval = procfs_timespec(on_poll ? every : 0) };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TRACER_SIGNAL };

	spec.it_value = spec.it_interval;
	event.sigev_value.sival_ptr = tracer;
	event._sigev_un._tid = gettid();
	if (!tracer->has_timer) {
		if (!on_poll)
			return NULL;
		if (timer_create(CLOCK_MONOTONIC, &event, &tracer->timer))
			return err_sys("timer_create");
		tracer->has_timer = true;
	}
	if (timer_settime(tracer->timer, 0, &spec, NULL))
		return err_sys("timer_settime");
	tracer->on_poll = on_poll;
	tracer->poll_every = every;
	tracer->poll_next = tracer_now() + every;
	return NULL;
}

struct robust *tracer_robust(struct tracer *tracer)
{
	return &tracer->robust;
}

struct err *tracer_create(tracer_stopped_fn *stopped, void *ctx, struct tracer **ret)
{
	struct tracer *tracer = calloc(1, sizeof(*tracer));
	struct sigaction action = { .sa_sigaction = knocked, .sa_flags = SA_SIGINFO };
	pthread_condattr_t monotonic;
	sigset_t all, old;
	int errnum;

	if (!tracer)
		return err_nomem;
	tracer->stopped = stopped;
	tracer->ctx = ctx;
	pthread_mutex_init(&tracer->lock, NULL);
	/* Polls use the monotonic clock, since the other one may be set back. */
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&tracer->work, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_cond_init(&tracer->answer, NULL);
	sigaction(TRACER_SIGNAL, &action, NULL);
	/*
	 * If SIGCHLD is ignored, as mdbg may have inherited it, the end of a child that is not
	 * traced is not reported.
	 */
	signal(SIGCHLD, SIG_DFL);
	/* The main thread takes the signals of the process (SIGINT, SIGTERM ...). */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	errnum = pthread_create(&tracer->thread, NULL, run, tracer);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (errnum) {
		free(tracer);
		errno = errnum;
		return err_sys("start the tracer thread");
	}
	*ret = tracer;
	return NULL;
}

/*
 * Send the signal once. Returns the time to send it again, after *wait, which begins as KNOCK_NS
 * and is doubled.
 */
static struct timespec knock(struct tracer *tracer, uint64_t *wait)
{
	struct timespec until;

	pthread_kill(tracer->thread, TRACER_SIGNAL);
	until = procfs_timespec(procfs_clock(CLOCK_REALTIME) + *wait);
	*wait = MIN(2 * *wait, KNOCK_MOST_NS);
	return until;
}

void tracer_destroy(struct tracer *tracer)
{
	uint64_t wait = KNOCK_NS;
	struct timespec again;

	if (!tracer)
		return;
	pthread_mutex_lock(&tracer->lock);
	tracer->quit = true;
	tracer->call = true;
	pthread_cond_broadcast(&tracer->work);
	pthread_mutex_unlock(&tracer->lock);
	do
		again = knock(tracer, &wait);
	while (pthread_timedjoin_np(tracer->thread, NULL, &again));
	robust_end(&tracer->robust);
	pthread_cond_destroy(&tracer->work);
	pthread_cond_destroy(&tracer->answer);
	pthread_mutex_destroy(&tracer->lock);
	free(tracer);
}

struct err *tracer_call(struct tracer *tracer, struct err *(*fn)(void *arg), void *arg)
{
	uint64_t wait = KNOCK_NS;
	struct err *err = NULL;

	pthread_mutex_lock(&tracer->lock);
	tracer->fn = fn;
	tracer->arg = arg;
	tracer->call = true;
	tracer->taken = tracer->done = false;
	pthread_cond_broadcast(&tracer->work);
	while (!tracer->taken) {
		struct timespec again = knock(tracer, &wait);

		pthread_cond_timedwait(&tracer->answer, &tracer->lock, &again);
	}
	while (!tracer->done)
		pthread_cond_wait(&tracer->answer, &tracer->lock);
	if (tracer->failed)
		err = err_adopt(&tracer->err);
	pthread_mutex_unlock(&tracer->lock);
	return err;
}

void tracer_hurry(const struct tracer *tracer, bool hurry)
{
	const struct sched_param param = { .sched_priority = hurry };

	/*
	 * If the policy is another one, somebody has set it (chrt). Without the permission mdbg is
	 * only slower.
	 */
	if (tracer->policy == SCHED_OTHER)
		(void)sched_setscheduler(0, hurry ? SCHED_FIFO : SCHED_OTHER, &param);
}

void tracer_count(struct tracer *tracer, int by)
{
	if (by > 0 || tracer->tracees > 0)
		__atomic_store_n(&tracer->tracees, tracer->tracees + (unsigned)by,
				 __ATOMIC_RELAXED);
}

bool tracer_poll(pid_t tid, int *status_ret)
{
	return wait_status(tid, 0, WNOHANG, status_ret) == tid;
}

bool tracer_any_stops(void)
{
	siginfo_t info = { .si_pid = 0 };

	return !waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG | __WALL | __WNOTHREAD) &&
	       info.si_pid && info.si_code == CLD_TRAPPED;
}

/*
 * Polling keeps the pause of a stopped target short, and needs no timer signal. It naps instead of
 * calling sched_yield, which on a busy machine may give the processor away for milliseconds; a
 * thread that wakes soon gets it back.
 */
static struct err *wait_until(pid_t which, pid_t kept, uint64_t deadline, pid_t *tid_ret,
			      int *status_ret)
{
	struct timespec nap = { .tv_nsec = NAP_NS };
	uint64_t spin = 0;

	for (;;) {
		pid_t tid = wait_status(which, kept, WNOHANG, status_ret);
		uint64_t now;

		if (tid > 0) {
			*tid_ret = tid;
			return NULL;
		}
		if (tid < 0 && errno != EINTR)
			return errno == ECHILD ?
				err_create(ERR_GONE, "wait for thread %d: it is gone", which) :
				err_sys("wait for a stop");
		now = tracer_now();
		if (now >= deadline)
			return err_create(ERR_TIMEOUT, "wait for a stop: timed out");
		spin = spin ? spin : now + SPIN_NS;
		if (now < spin)
			continue;
		nanosleep(&nap, NULL);
		nap.tv_nsec = MIN(2 * nap.tv_nsec, (long)NAP_MAX_NS);
	}
}

struct err *tracer_wait(const struct tracer *tracer, uint64_t deadline, pid_t *tid_ret,
			int *status_ret)
{
	return wait_until(-1, tracer->kept, deadline, tid_ret, status_ret);
}

struct err *tracer_wait_for(pid_t tid, uint64_t deadline, int *status_ret)
{
	pid_t got;

	return wait_until(tid, 0, deadline, &got, status_ret);
}

void tracer_keep_end(struct tracer *tracer, pid_t tid)
{
	tracer->kept = tid;
}
