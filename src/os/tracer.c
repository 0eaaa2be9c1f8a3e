/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tracer thread, and the only place that calls ptrace. */

#include "os/tracer.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/procfs.h"

#define TRACER_SIGNAL	SIGUSR2
#define NS_PER_MS	1000000ull
#define NS_PER_S	1000000000ull
/* A request knocks again so soon at first, and then after twice as long each time, up to the other. */
#define KNOCK_NS	50000ull
#define KNOCK_MOST_NS	(2 * NS_PER_MS)
/*
 * How long a bounded wait looks without sleeping (an idle processor takes some 20 us to wake and to
 * run a thread to its stop), and its naps: each is twice as long as the last.
 */
#define SPIN_NS		25000ull
#define NAP_NS		5000ull
#define NAP_MAX_NS	50000ull
/*
 * Stops in a row from one thread after which it is followed, and how often its processor is looked
 * up then.
 */
#define FOLLOW_AFTER	64
#define FOLLOW_LOOK	4096
/* How long the next stop of a followed thread is looked for before the tracer sleeps. */
#define LINGER_NS	40000ull
/*
 * How many ticks a PTRACE_SEIZE may take: see tracer_seize. Not a time: on a busy machine the tracer may
 * have no processor for a while, after which one tick is waiting for it.
 */
#define SEIZE_TICKS	3

struct tracer {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work;		/* a request came, or the end */
	pthread_cond_t answer;		/* a request was taken up, or is done */
	struct err *(*fn)(void *arg);	/* the request; NULL: none */
	void *arg;
	bool taken, done, quit;
	_Atomic bool call;		/* there may be a request, or the end */
	bool failed;
	struct err err;
	unsigned tracees;		/* tracer thread only */
	bool exits;			/* exit events are wanted; tracer thread only */
	pid_t kept;			/* see tracer_keep_end; 0: none. Tracer thread only */
	/* Following a busy tracee: see follow(). */
	pid_t last;
	unsigned in_row, since_look;
	bool pinned;
	cpu_set_t cpus;			/* as the thread started */
	int policy;			/* of its scheduling then */
	/* The tick: tracer thread only. */
	tracer_tick_fn *tick;		/* NULL: none */
	uint64_t tick_every, tick_next;
	timer_t timer;			/* its signal ends a wait for stops when a tick is due */
	bool has_timer;
	/* Of a PTRACE_SEIZE under way, for the tick's signal. */
	sigjmp_buf seize_end;
	volatile sig_atomic_t seizing;	/* 0, or 1 and the ticks since it began */
	tracer_stopped_fn *stopped;
	void *ctx;
};

uint64_t tracer_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* Its purpose is to end a waitpid with EINTR, and a PTRACE_SEIZE that would not end. */
static void knocked(int signal UNUSED, siginfo_t *info, void *context UNUSED)
{
	struct tracer *tracer = info->si_code == SI_TIMER ? info->si_value.sival_ptr : NULL;

	if (!tracer || !tracer->seizing || tracer->seizing++ < SEIZE_TICKS)
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

/* Wait for a request, no longer than until the next tick. */
static void wait_request(struct tracer *tracer)
{
	struct timespec until;

	if (!tracer->tick) {
		pthread_cond_wait(&tracer->work, &tracer->lock);
		return;
	}
	until.tv_sec = (time_t)(tracer->tick_next / NS_PER_S);
	until.tv_nsec = (long)(tracer->tick_next % NS_PER_S);
	pthread_cond_timedwait(&tracer->work, &tracer->lock, &until);
}

static bool tick_due(const struct tracer *tracer)
{
	return tracer->tick && tracer_now() >= tracer->tick_next;
}

/* Serve requests until there is a stop to wait for, or a tick. False: the end. */
static bool serve_requests(struct tracer *tracer)
{
	bool go_on;

	if (tracer->tracees && !tracer->call)	/* the lock would be taken at each stop */
		return true;
	pthread_mutex_lock(&tracer->lock);
	for (;;) {
		if (tracer->fn)
			serve(tracer);
		else if (tracer->quit || tracer->tracees || tick_due(tracer))
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
 * waitpid, but a stop for a signal is only looked at. To take it is to take the signal as well
 * (wait_task_stopped clears exit_code, which is what the thread goes on with should the tracer
 * die): mdbg, killed between that and setting PC, would leave a thread just behind an int3 with
 * nothing to lead it on. As it is, the kernel delivers the SIGTRAP, and the handler in the target
 * (agent/sigtrap.c) does the rest. A stop that was not taken is gone once the thread is resumed.
 *
 * Stops of tracees are reported without WSTOPPED (wait_task_stopped); with it, that of a child
 * which is not traced any more (a started program that was let go) would be found again and again.
 *
 * The end of kept is as if it had not come.
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

/* The processor that a thread was last on, or -1: field 39 of /proc/TID/stat. */
static int cpu_of(pid_t tid)
{
	struct proc_stat stat;

	return procfs_stat(tid, &stat) ? -1 : stat.cpu;
}

static void unpin(struct tracer *tracer)
{
	if (tracer->pinned)
		sched_setaffinity(0, sizeof(tracer->cpus), &tracer->cpus);
	tracer->pinned = false;
}

/*
 * Go where the tracee is. A stop wakes the tracer, and it the tracee: on one processor that is two
 * plain switches (9 us), on two it is two wake-ups of an idle processor (50 us, seen). So while all
 * stops come from one thread, run on its processor; the two never want to run at once.
 */
static void follow(struct tracer *tracer, pid_t tid)
{
	cpu_set_t one;
	int cpu;

	if (tid != tracer->last) {
		tracer->last = tid;
		tracer->in_row = tracer->since_look = 0;
		unpin(tracer);
		return;
	}
	if (++tracer->in_row < FOLLOW_AFTER || tracer->since_look++ % FOLLOW_LOOK)
		return;
	cpu = cpu_of(tid);
	if (cpu < 0 || cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &tracer->cpus))
		return;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	tracer->pinned = !sched_setaffinity(0, sizeof(one), &one);
}

/*
 * The next status. A thread that is followed stops again soon: to sleep, and be woken on a processor
 * that went idle meanwhile, takes longer than that (on an idle machine, a pair of malloc and free
 * takes 150 us so and 60 without). The processor is offered to the tracee at each look. Not where
 * several threads stop, which want the processors themselves, or where there is but one.
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

	sigemptyset(&knock);
	sigaddset(&knock, TRACER_SIGNAL);
	/* Each stop sends one: where it is blocked it is not ignored, but wakes the main thread (sig_ignored). */
	sigaddset(&knock, SIGCHLD);
	pthread_sigmask(SIG_UNBLOCK, &knock, NULL);
	prctl(PR_SET_TIMERSLACK, 1UL);	/* naps are as short as they are meant to be */
	sched_getaffinity(0, sizeof(tracer->cpus), &tracer->cpus);
	tracer->policy = sched_getscheduler(0);
	while (serve_requests(tracer)) {
		if (tick_due(tracer)) {
			tracer->tick_next = tracer_now() + tracer->tick_every;
			tracer->tick(tracer->ctx);
			if (tracer->tracees)
				continue;
			/* A child whose maker has ended is counted by nobody yet. */
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
			tracer->tracees = 0;
			unpin(tracer);
		}
	}
	if (tracer->has_timer)
		timer_delete(tracer->timer);
	return NULL;
}

struct err *tracer_set_tick(struct tracer *tracer, tracer_tick_fn *tick, uint64_t every)
{
	struct itimerspec spec = {
		.it_interval = { (time_t)(every / NS_PER_S), (long)(every % NS_PER_S) },
	};
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TRACER_SIGNAL };

	if (!tick)
		spec.it_interval = (struct timespec){ 0, 0 };
	spec.it_value = spec.it_interval;
	event.sigev_value.sival_ptr = tracer;
	event._sigev_un._tid = gettid();
	if (!tracer->has_timer) {
		if (!tick)
			return NULL;
		if (timer_create(CLOCK_MONOTONIC, &event, &tracer->timer))
			return err_sys("timer_create");
		tracer->has_timer = true;
	}
	if (timer_settime(tracer->timer, 0, &spec, NULL))
		return err_sys("timer_settime");
	tracer->tick = tick;
	tracer->tick_every = every;
	tracer->tick_next = tracer_now() + every;
	return NULL;
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
	/* The clock of ticks: the other may be set back. */
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&tracer->work, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_cond_init(&tracer->answer, NULL);
	sigaction(TRACER_SIGNAL, &action, NULL);
	/* Ignored, as mdbg may have inherited it, the end of a child that is not traced is not reported. */
	signal(SIGCHLD, SIG_DFL);
	/* The process' signals (SIGINT, SIGTERM ...) are the main thread's. */
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

/* Knock once; when to knock again. *wait: how long after, to begin with KNOCK_NS. */
static struct timespec knock(struct tracer *tracer, uint64_t *wait)
{
	struct timespec until;

	pthread_kill(tracer->thread, TRACER_SIGNAL);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)*wait;
	*wait = MIN(2 * *wait, KNOCK_MOST_NS);
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
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

	/* (chrt: somebody has seen to it.) Where it may not it is slower, and no more. */
	if (tracer->policy == SCHED_OTHER)
		(void)sched_setscheduler(0, hurry ? SCHED_FIFO : SCHED_OTHER, &param);
}

void tracer_count(struct tracer *tracer, int by)
{
	if (by > 0 || tracer->tracees > 0)
		tracer->tracees += (unsigned)by;
}

bool tracer_poll(pid_t tid, int *status_ret)
{
	return wait_status(tid, 0, WNOHANG, status_ret) == tid;
}

/*
 * Polling keeps the pause of a stopped target short, and needs no timer signal. Naps, and no
 * sched_yield: on a busy machine that may give the processor away for milliseconds, whereas one who
 * wakes soon has it back.
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

#define OPTIONS	(PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | \
		 PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD)

static uintptr_t options(const struct tracer *tracer)
{
	return OPTIONS | (tracer->exits ? PTRACE_O_TRACEEXIT : 0);
}

static struct err *request(enum __ptrace_request what, pid_t tid, uintptr_t addr, uintptr_t data,
			   const char *name)
{
	if (ptrace(what, tid, (void *)addr, (void *)data) < 0)
		return err_sys("ptrace %s %d", name, tid);
	return NULL;
}

static long seize(struct tracer *tracer, pid_t tid)
{
	long done;

	tracer->seizing = 1;
	done = ptrace(PTRACE_SEIZE, tid, NULL, (void *)(uintptr_t)options(tracer));
	tracer->seizing = 0;
	return done;
}

/*
 * A thread that executes another program holds what the kernel needs for a seize (cred_guard_mutex)
 * until the other threads of its process are gone; one of them that is traced is not before its
 * tracer has heard of its end, and would wait for ever here, and the program with it (seen). A signal
 * alone does not help, as the kernel goes back into the call.
 */
struct err *tracer_seize(struct tracer *tracer, pid_t tid)
{
	struct proc_status status;

	if (!sigsetjmp(tracer->seize_end, 1))
		return seize(tracer, tid) < 0 ? err_sys("ptrace seize %d", tid) : NULL;
	/* The signal may have come when all was done. */
	if (!procfs_status(tid, &status) && status.tracer == gettid())
		return NULL;
	return err_hint(err_create(ERR_BUSY, "thread %d is about to execute another program", tid),
			"try again");
}

struct err *tracer_set_options(struct tracer *tracer, pid_t tid, bool suspend_seccomp)
{
	return request(PTRACE_SETOPTIONS, tid, 0,
		       options(tracer) | (suspend_seccomp ? PTRACE_O_SUSPEND_SECCOMP : 0),
		       "set options");
}

void tracer_trace_exits(struct tracer *tracer, bool trace)
{
	tracer->exits = trace;
}

struct err *tracer_exit_kill(pid_t tid)
{
	return request(PTRACE_SETOPTIONS, tid, 0, PTRACE_O_EXITKILL, "exit kill");
}

struct err *tracer_interrupt(pid_t tid)
{
	return request(PTRACE_INTERRUPT, tid, 0, 0, "interrupt");
}

struct err *tracer_cont(pid_t tid, int signal)
{
	return request(PTRACE_CONT, tid, 0, (uintptr_t)signal, "cont");
}

struct err *tracer_listen(pid_t tid)
{
	return request(PTRACE_LISTEN, tid, 0, 0, "listen");
}

struct err *tracer_syscall(pid_t tid)
{
	return request(PTRACE_SYSCALL, tid, 0, 0, "syscall");
}

struct err *tracer_step(pid_t tid)
{
	return request(PTRACE_SINGLESTEP, tid, 0, 0, "step");
}

struct err *tracer_detach(pid_t tid, int signal)
{
	return request(PTRACE_DETACH, tid, 0, (uintptr_t)signal, "detach");
}

struct err *tracer_event_message(pid_t tid, unsigned long *ret)
{
	return request(PTRACE_GETEVENTMSG, tid, 0, (uintptr_t)ret, "event message");
}

struct err *tracer_get_regs(pid_t tid, struct regs *ret)
{
	struct iovec iov = { ret->word, sizeof(ret->word) };

	return request(PTRACE_GETREGSET, tid, NT_PRSTATUS, (uintptr_t)&iov, "get registers");
}

struct err *tracer_set_regs(pid_t tid, const struct regs *regs)
{
	struct iovec iov = { (void *)regs->word, arch_host()->regs_words * sizeof(uint64_t) };

	return request(PTRACE_SETREGSET, tid, NT_PRSTATUS, (uintptr_t)&iov, "set registers");
}

struct err *tracer_set_reg(pid_t tid, unsigned word, uint64_t value)
{
	/* The registers come first in struct user, in the order of NT_PRSTATUS. */
	return request(PTRACE_POKEUSER, tid, word * sizeof(uint64_t), value, "set register");
}

struct err *tracer_get_xstate(pid_t tid, void *buf, size_t room, size_t *len_ret)
{
	struct iovec iov = { buf, room };
	struct err *err = request(PTRACE_GETREGSET, tid, NT_X86_XSTATE, (uintptr_t)&iov,
				  "get extended state");

	if (!err)
		*len_ret = iov.iov_len;
	return err;
}

struct err *tracer_set_xstate(pid_t tid, const void *buf, size_t len)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	return request(PTRACE_SETREGSET, tid, NT_X86_XSTATE, (uintptr_t)&iov, "set extended state");
}

struct err *tracer_get_sigmask(pid_t tid, uint64_t *ret)
{
	return request(PTRACE_GETSIGMASK, tid, sizeof(*ret), (uintptr_t)ret, "get signal mask");
}

struct err *tracer_set_sigmask(pid_t tid, uint64_t mask)
{
	return request(PTRACE_SETSIGMASK, tid, sizeof(mask), (uintptr_t)&mask, "set signal mask");
}

struct err *tracer_siginfo(pid_t tid, siginfo_t *ret)
{
	return request(PTRACE_GETSIGINFO, tid, 0, (uintptr_t)ret, "get signal");
}

struct err *tracer_trap_pending(pid_t tid, bool *ret)
{
	struct __ptrace_peeksiginfo_args args = { .nr = 32 };
	siginfo_t info[32];
	long nr = ptrace(PTRACE_PEEKSIGINFO, tid, &args, info);

	if (nr < 0)
		return err_sys("ptrace peek signals %d", tid);
	*ret = false;
	for (long i = 0; i < nr; i++)
		if (info[i].si_signo == SIGTRAP && info[i].si_code > 0)
			*ret = true;
	return NULL;
}

struct err *tracer_child_pending(pid_t tid, pid_t child, bool *ret)
{
	struct __ptrace_peeksiginfo_args args = { .nr = 1, .flags = PTRACE_PEEKSIGINFO_SHARED };
	siginfo_t info;
	long nr;

	*ret = false;
	do {
		nr = ptrace(PTRACE_PEEKSIGINFO, tid, &args, &info);
		if (nr < 0)
			return err_sys("ptrace peek signals %d", tid);
		*ret = nr && info.si_signo == SIGCHLD && info.si_pid == child;
		args.off++;
	} while (nr && !*ret);
	return NULL;
}

/* Linux 6.4; <sys/ptrace.h> may be older. */
#define GET_SYSCALL_USER_DISPATCH	0x4211

struct dispatch {
	uint64_t mode, selector, offset, len;	/* mode 0: off */
};

bool tracer_dispatches(pid_t tid, uint64_t pc, uint64_t *selector_ret)
{
	struct dispatch dispatch = { .mode = 0 };

	if (ptrace(GET_SYSCALL_USER_DISPATCH, tid, sizeof(dispatch), &dispatch) < 0 ||
	    !dispatch.mode || pc - dispatch.offset < dispatch.len)
		return false;
	*selector_ret = dispatch.selector;
	return true;
}

uint64_t tracer_rseq(pid_t tid)
{
	struct __ptrace_rseq_configuration config;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof(config), &config) < 0)
		return 0;
	return config.rseq_abi_pointer;
}
