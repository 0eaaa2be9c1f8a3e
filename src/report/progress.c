/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Progress on standard error (theory in progress.h). */

#include "report/progress.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "os/tracer.h"

#define SECOND	1000000000ull

static struct {
	pthread_mutex_t lock;
	pthread_cond_t begun;
	/* what: the part of the command that is at work, or the command */
	const char *command, *what;
	uint64_t since_ns, done, total;	/* total 0: not known */
	unsigned commands, hidden;
	bool off, shown, asleep, has_thread;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool drawable(void)
{
	return state.commands && !state.off && !state.hidden;
}

static void draw(uint64_t now)
{
	struct pollfd terminal = { .fd = STDERR_FILENO, .events = POLLOUT };

	/* After Ctrl-S a write would wait, and the main thread would wait for the lock. */
	if (poll(&terminal, 1, 0) != 1)
		return;
	if (state.total)
		dprintf(STDERR_FILENO, "\rmdbg: %s: %u %%\033[K", state.what,
			(unsigned)(state.done * 100 / state.total));
	else
		dprintf(STDERR_FILENO, "\rmdbg: %s: %u s\033[K", state.what,
			(unsigned)((now - state.since_ns) / SECOND));
	state.shown = true;
}

static void wipe(void)
{
	if (state.shown)
		dprintf(STDERR_FILENO, "\r\033[K");
	state.shown = false;
}

static void sleep_until(uint64_t ns)
{
	struct timespec time = { (time_t)(ns / SECOND), (long)(ns % SECOND) };

	pthread_cond_timedwait(&state.begun, &state.lock, &time);
}

static void *draw_for_ever(void *arg UNUSED)
{
	pthread_mutex_lock(&state.lock);
	for (;;) {
		uint64_t now = tracer_now(), first = state.since_ns + SECOND;

		if (!drawable()) {
			state.asleep = true;
			pthread_cond_wait(&state.begun, &state.lock);
			state.asleep = false;
		} else if (now < first) {
			sleep_until(first);
		} else {
			draw(now);
			sleep_until(now + SECOND / 4);
		}
	}
	return NULL;
}

/*
 * If the thread cannot be started there is no progress line. The thread takes no signals: those are
 * the main thread's.
 */
static void start_thread(void)
{
	pthread_condattr_t clock;
	pthread_t thread;
	sigset_t all, mask;

	state.has_thread = true;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&state.begun, &clock);
	pthread_condattr_destroy(&clock);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	if (!pthread_create(&thread, NULL, draw_for_ever, NULL))
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* Something may be drawn from now on. The thread is woken only if it waits without a time limit. */
static void look(void)
{
	if (drawable() && state.asleep)
		pthread_cond_signal(&state.begun);
}

void progress_begin(const char *what)
{
	pthread_mutex_lock(&state.lock);
	if (!state.commands++) {
		state.command = state.what = what;
		state.since_ns = tracer_now();
		state.total = 0;
		state.off = !isatty(STDERR_FILENO);
		if (!state.off && !state.has_thread)
			start_thread();
		look();
	}
	pthread_mutex_unlock(&state.lock);
}

void progress_end(void)
{
	pthread_mutex_lock(&state.lock);
	if (!--state.commands)
		wipe();
	pthread_mutex_unlock(&state.lock);
}

void progress_step(const char *what, uint64_t done, uint64_t total)
{
	pthread_mutex_lock(&state.lock);
	if (state.commands)
		state.what = what ? what : state.command;
	state.done = done;
	state.total = total;
	pthread_mutex_unlock(&state.lock);
}

void progress_hide(void)
{
	pthread_mutex_lock(&state.lock);
	wipe();
	state.hidden++;
	pthread_mutex_unlock(&state.lock);
}

void progress_show(void)
{
	pthread_mutex_lock(&state.lock);
	state.hidden--;
	look();
	pthread_mutex_unlock(&state.lock);
}

void progress_off(void)
{
	pthread_mutex_lock(&state.lock);
	wipe();
	state.off = true;
	pthread_mutex_unlock(&state.lock);
}
