/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Watches how much blocks hold, and takes the moments of its peak (theory in peak_watch.h). */

#include "session/peak_watch.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/trace.h"
#include "os/procfs.h"
#include "session/private.h"
#include "tracee/region.h"

#define EVERY_NS	4000000ull
#define SPARING_NS	16000000ull
#define STACK		(256u << 10)	/* the usual one counts as 8 MB of RLIMIT_DATA */
#define LEAST_STEP	4096u	/* bytes */
#define SOON_PART	8u	/* the next look comes so much sooner while a new peak rises */
#define NICER		10	/* by so much it goes before others */
#define QUICK_NS	2000000ull	/* a scan that takes no longer may come more often */
#define SCAN_SHARE	50u	/* scans take one part in so many of the time */
#define SPARING_SHARE	500u	/* while the session is sparing (session/history.h) */
#define CREDIT_NS	200000000ull
#define SPARING_CREDIT	50000000ull
#define READ_TIMES	100u	/* the time to the next reading is so many times one, at least */

/* The thread */

static bool is_ended(const struct peak_watch *watch)
{
	return __atomic_load_n(&watch->end, __ATOMIC_RELAXED);
}

static void keep(struct peak_watch *watch, const struct moment *moment, uint64_t stamp)
{
	uint64_t bytes = moment_total(moment).bytes;
	struct packed_moment packed;
	struct err *err;

	if (bytes <= watch->taken_bytes)
		return;
	err = moment_pack(moment, &packed);
	if (err) {
		trace_line("peak: %s", err->msg);
		return;
	}
	pthread_mutex_lock(&watch->lock);
	moment_free_packed(&watch->taken);
	watch->taken = packed;
	watch->taken_bytes = bytes;
	watch->taken_stamp = stamp;
	/* Others may have allocated while the log was scanned. */
	if (bytes > watch->high_bytes) {
		watch->high_bytes = bytes;
		watch->high_stamp = stamp;
	}
	pthread_mutex_unlock(&watch->lock);
}

/* Not everybody may go before others. */
static void be_nice(const struct peak_watch *watch, int less)
{
	(void)setpriority(PRIO_PROCESS, 0, watch->nice - less);
}

static void take(struct peak_watch *watch, uint64_t stamp)
{
	uint64_t begin = procfs_clock(CLOCK_MONOTONIC), now;
	bool slow = watch->scan_ns > QUICK_NS;
	struct moment moment;
	struct err *err;

	if (slow)
		be_nice(watch, 0);
	err = moment_from_log_until(&watch->region->log, NULL, 0, &watch->end, &moment);
	if (err) {
		trace_line("peak: %s", err->msg);
	} else {
		keep(watch, &moment, stamp);
		moment_free(&moment);
	}
	if (watch->sparing)
		region_release_pages(watch->region);
	if (slow)
		be_nice(watch, NICER);
	now = procfs_clock(CLOCK_MONOTONIC);
	watch->scan_ns = now - begin;
	watch->debt_ns += watch->scan_ns;
}

static bool has_credit(struct peak_watch *watch)
{
	uint64_t now = procfs_clock(CLOCK_MONOTONIC), paid;

	paid = (now - watch->debt_at) / (watch->sparing ? SPARING_SHARE : SCAN_SHARE);
	watch->debt_ns -= MIN(watch->debt_ns, paid);
	watch->debt_at = now;
	return watch->debt_ns < (watch->sparing ? SPARING_CREDIT : CREDIT_NS);
}

/* Returns whether a new peak rises. */
static bool look(struct peak_watch *watch)
{
	uint64_t stamp = log_now(), sum = reader_held_bytes(&watch->region->log);
	bool rises = sum > watch->last_sum;
	uint64_t taken = watch->taken_bytes;
	uint64_t step = taken / (!rises ? 100 : watch->scan_ns > QUICK_NS ? 10 : 20);

	watch->last_sum = sum;
	if (sum > watch->high_bytes) {
		pthread_mutex_lock(&watch->lock);
		watch->high_bytes = sum;
		watch->high_stamp = stamp;
		pthread_mutex_unlock(&watch->lock);
	}
	if (sum > taken && sum - taken >= MAX(step, LEAST_STEP) && has_credit(watch))
		take(watch, stamp);
	return rises && sum > taken;
}

/* False: the thread is to end. */
static bool nap(struct peak_watch *watch, uint64_t ns)
{
	struct timespec until = procfs_timespec(procfs_clock(CLOCK_MONOTONIC) + ns);

	pthread_mutex_lock(&watch->lock);
	while (!is_ended(watch) &&
	       pthread_cond_timedwait(&watch->wake, &watch->lock, &until) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&watch->lock);
	return !is_ended(watch);
}

static uint64_t every_ns(const struct peak_watch *watch)
{
	return watch->sparing ? SPARING_NS : EVERY_NS;
}

static void *run(void *arg)
{
	struct peak_watch *watch = arg;
	uint64_t spent, every = every_ns(watch);
	bool rises;

	prctl(PR_SET_TIMERSLACK, 1UL);	/* so that naps are as short as intended */
	/* A target that rises keeps the processors busy. */
	watch->nice = getpriority(PRIO_PROCESS, 0);
	be_nice(watch, NICER);
	do {
		uint64_t begin = procfs_clock(CLOCK_THREAD_CPUTIME_ID), debt = watch->debt_ns;

		rises = look(watch);
		spent = procfs_clock(CLOCK_THREAD_CPUTIME_ID) - begin;
		/* A scan is paid for otherwise. */
		if (watch->debt_ns > debt)
			spent = 0;
	} while (nap(watch, MAX(every / (rises ? SOON_PART : 1), READ_TIMES * spent)));
	return NULL;
}

/* The main thread */

void peak_watch_init(struct session *session)
{
	struct peak_watch *watch = &session->peak;
	pthread_condattr_t attr;

	pthread_mutex_init(&watch->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&watch->wake, &attr);
	pthread_condattr_destroy(&attr);
}

static void forget(struct peak_watch *watch)
{
	moment_free_packed(&watch->taken);
	watch->high_bytes = watch->taken_bytes = 0;
	watch->last_sum = watch->debt_ns = watch->debt_at = 0;
	watch->log_start = 0;
}

void peak_watch_start(struct session *session)
{
	struct peak_watch *watch = &session->peak;
	pthread_attr_t attr;
	sigset_t all, old;

	if (watch->runs || !session_recorded(session) || !session_armed(session))
		return;
	watch->region = session->region;
	if (watch->log_start != log_clock_begin(&watch->region->log))
		forget(watch);
	watch->log_start = log_clock_begin(&watch->region->log);
	watch->end = false;
	watch->sparing = session->config.sparing;
	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	watch->runs = !pthread_create(&watch->thread, &attr, run, watch);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!watch->runs)
		trace_line("peak: no thread");
}

void peak_watch_stop(struct session *session)
{
	struct peak_watch *watch = &session->peak;

	if (!watch->runs)
		return;
	pthread_mutex_lock(&watch->lock);
	__atomic_store_n(&watch->end, true, __ATOMIC_RELAXED);
	pthread_cond_signal(&watch->wake);
	pthread_mutex_unlock(&watch->lock);
	pthread_join(watch->thread, NULL);
	watch->runs = false;
	watch->region = NULL;
}

void peak_watch_free(struct session *session)
{
	peak_watch_stop(session);
	forget(&session->peak);
	pthread_cond_destroy(&session->peak.wake);
	pthread_mutex_destroy(&session->peak.lock);
}

bool peak_watch_found(struct session *session, struct peak *ret)
{
	struct peak_watch *watch = &session->peak;
	struct log *log = session_recorded(session) ? &session->region->log : NULL;
	bool known;

	if (!log || watch->log_start != log_clock_begin(log))
		return false;
	log_clock_update(log);
	pthread_mutex_lock(&watch->lock);
	known = watch->taken_bytes;
	if (known)
		*ret = (struct peak){
			.high_bytes = watch->high_bytes,
			.high_ns = log_clock_realtime(log, watch->high_stamp),
			.bytes = watch->taken_bytes,
			.time_ns = log_clock_realtime(log, watch->taken_stamp),
			.every_ns = every_ns(watch),
		};
	pthread_mutex_unlock(&watch->lock);
	return known;
}

struct err *peak_watch_moment(struct session *session, struct moment *ret)
{
	struct peak_watch *watch = &session->peak;
	struct peak peak;
	struct err *err;

	if (!peak_watch_found(session, &peak))
		return err_create(ERR_NOTFOUND, "nothing was recorded yet");
	pthread_mutex_lock(&watch->lock);
	err = moment_unpack(&watch->taken,
			    log_clock_realtime(&session->region->log, watch->taken_stamp), ret);
	pthread_mutex_unlock(&watch->lock);
	return err;
}
