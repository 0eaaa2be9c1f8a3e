/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls that can be given up (theory in errand.h). */

#include "os/errand.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/host.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "os/procfs.h"

#define STACK		(16u << 10)
#define IDLE_SECONDS	1
#define REFUSE_NS	5000000000ull	/* after a call was given up */
/*
 * BUSY_NS: a call that waits for nobody may take so much longer on a busy machine. LOOK_NS: how
 * often that is looked at.
 */
#define BUSY_NS		2000000000ull
#define LOOK_NS		5000000u

enum state { IDLE, ASKED, GONE, LEFT };

struct errand {
	uint32_t state;			/* a futex */
	pid_t pid;			/* 0: no process was made yet, or it is gone */
	long nr, arg[6], ret;
	uint8_t stack[STACK] __attribute__((aligned(64)));
	uint8_t bytes[ERRAND_BYTES];
};

/* The process. It has the thread-local storage of another thread: nothing here may use it. */

static ALWAYS_INLINE long bare(long nr, const long arg[6])
{
	return intrinsic_syscall(nr, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

static ALWAYS_INLINE bool moves(struct errand *errand, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&errand->state, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

#define BARE	__attribute__((no_sanitize("address", "undefined"), noinline))

static BARE int run(void *arg)
{
	static const struct timespec idle = { .tv_sec = IDLE_SECONDS };
	struct errand *errand = arg;
	long fd = errand->arg[0];
	uint32_t is;

	/*
	 * What mdbg has open ends with mdbg: whoever reads its output waits for the end of it, and a
	 * lock says that it lives (memfd.h). A kernel before 5.9 closes none of them in this way.
	 */
	if (fd > 0)
		bare(SYS_close_range, (long[6]){ 0, fd - 1 });
	if (bare(SYS_close_range, (long[6]){ fd + 1, UINT32_MAX }))
		for (long other = 0; other <= 2; other++)
			bare(SYS_close, (long[6]){ other });
	for (;;) {
		is = __atomic_load_n(&errand->state, __ATOMIC_ACQUIRE);
		if (is == ASKED) {
			errand->ret = bare(errand->nr, errand->arg);
			if (!moves(errand, ASKED, IDLE))
				return 0;
			bare(SYS_futex, (long[6]){ (long)&errand->state, FUTEX_WAKE, 1 });
		} else if (is != IDLE) {
			return 0;
		} else if (bare(SYS_futex, (long[6]){ (long)&errand->state, FUTEX_WAIT, IDLE,
						      (long)&idle }) == -ETIMEDOUT &&
			   moves(errand, IDLE, GONE)) {
			return 0;
		}
	}
}

/* mdbg */

static long futex(struct errand *errand, int op, uint32_t value, const struct timespec *timeout)
{
	return syscall(SYS_futex, &errand->state, op, value, timeout, NULL, 0);
}

static void reap(struct errand *errand)
{
	while (errand->pid > 0 && waitpid(errand->pid, NULL, __WCLONE) < 0 && errno == EINTR)
		;
	errand->pid = 0;
}

/* No signal may reach the process: the handlers are mdbg's. */
static struct err *make_process(struct errand *errand)
{
	sigset_t all, before;
	int pid;

	reap(errand);
	errand->state = ASKED;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = clone(run, errand->stack + STACK, CLONE_VM | CLONE_UNTRACED, errand);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		errand->state = GONE;
		return err_sys("clone");
	}
	errand->pid = pid;
	return NULL;
}

/* It has a processor, or waits for one as the machine is busy: no server keeps it. */
static bool is_running(const struct errand *errand)
{
	struct proc_stat stat;

	return !procfs_stat(errand->pid, &stat) && stat.state == 'R';
}

/* Wait until the call has returned. False: it has not in time, and is left alone from now on. */
static bool await(struct errand *errand, uint64_t deadline)
{
	const uint64_t last = deadline + BUSY_NS;

	while (__atomic_load_n(&errand->state, __ATOMIC_ACQUIRE) == ASKED) {
		uint64_t now = procfs_clock(CLOCK_MONOTONIC);
		struct timespec timeout;

		if (now >= last || (now >= deadline && !is_running(errand)))
			return !moves(errand, ASKED, LEFT);
		if (now >= deadline)
			deadline = now + LOOK_NS;
		timeout = procfs_timespec(deadline - now);
		futex(errand, FUTEX_WAIT, ASKED, &timeout);
	}
	return true;
}

static void forget_ended(struct errands *errands)
{
	for (unsigned i = errands->nr_left; i-- > 0;) {
		struct errand *errand = errands->left[i];

		if (!waitpid(errand->pid, NULL, __WCLONE | WNOHANG))
			continue;
		munmap(errand, sizeof(*errand));
		errands->left[i] = errands->left[--errands->nr_left];
	}
}

struct err *errands_ready(struct errands *errands, uint8_t **bytes_ret)
{
	struct errand *errand = errands->now;

	forget_ended(errands);
	if (errands->nr_left == ERRANDS_LEFT ||
	    procfs_clock(CLOCK_MONOTONIC) < errands->refuse_until)
		return err_create(ERR_BUSY, "its file system did not answer just now");
	if (!errand) {
		errand = mmap(NULL, sizeof(*errand), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (errand == MAP_FAILED)
			return err_nomem;
		errand->state = GONE;
		errands->now = errand;
	}
	*bytes_ret = errand->bytes;
	return NULL;
}

void errands_refuse(struct errands *errands)
{
	errands->refuse_until = procfs_clock(CLOCK_MONOTONIC) + REFUSE_NS;
}

static struct err *give_up(struct errands *errands, uint64_t within)
{
	struct errand *errand = take(errands->now);

	kill(errand->pid, SIGKILL);
	errands->left[errands->nr_left++] = errand;
	errands_refuse(errands);
	return err_create(ERR_TIMEOUT, "its file system has not answered within %.1f s",
			  (double)within / 1e9);
}

struct err *errands_call(struct errands *errands, uint64_t within, long *ret, long nr,
			 const long arg[6])
{
	struct errand *errand = errands->now;
	struct err *err;

	errand->nr = nr;
	memcpy(errand->arg, arg, sizeof(errand->arg));
	if (!moves(errand, IDLE, ASKED)) {
		err = make_process(errand);
		if (err)
			return err;
	} else {
		futex(errand, FUTEX_WAKE, 1, NULL);
	}
	if (!await(errand, procfs_clock(CLOCK_MONOTONIC) + within))
		return give_up(errands, within);
	*ret = errand->ret;
	return NULL;
}

void errands_end_idle(struct errands *errands)
{
	struct errand *errand = errands->now;

	if (!errand)
		return;
	if (moves(errand, IDLE, GONE))
		futex(errand, FUTEX_WAKE, 1, NULL);
	reap(errand);
}

pid_t errands_pid(const struct errands *errands)
{
	return errands->now->pid;
}

void errands_free(struct errands *errands)
{
	forget_ended(errands);
	errands_end_idle(errands);
	if (errands->now)
		munmap(take(errands->now), sizeof(struct errand));
}
