/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals of mdbg itself. */

#include "cmd/terminal/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "os/tracer.h"

/* after which a second request to end ends mdbg at once */
#define PATIENCE_NS	5000000000ull

/* A signal handler has no context from which it could reach a shell. */
static int wake[2] = { -1, -1 };
static pthread_t main_thread;
static volatile sig_atomic_t ending;
static volatile uint64_t ending_since;
static volatile sig_atomic_t interrupts;

/*
 * The kernel may give the signal to the tracer thread or to one of Tcl's, but it must interrupt a
 * system call of the main thread (EINTR), so it is passed on.
 */
static bool passed_on(int number)
{
	if (pthread_equal(pthread_self(), main_thread))
		return false;
	pthread_kill(main_thread, number);
	return true;
}

static void note(void)
{
	int saved = errno;

	cancel_request();
	if (write(wake[1], "", 1) < 0)
		errno = saved;	/* the pipe is full, so it is readable already */
	errno = saved;
}

static void on_interrupt(int number)
{
	if (passed_on(number))
		return;
	interrupts++;
	note();
}

static void on_end(int number)
{
	if (passed_on(number))
		return;
	/* A terminal that goes away sends more than one of these at once. */
	if (ending && tracer_now() < ending_since + PATIENCE_NS)
		return;
	if (ending) {
		/*
		 * The event that mdbg waits for does not come. The target lives on without mdbg:
		 * the code that this takes is inside of it.
		 */
		signal(number, SIG_DFL);
		raise(number);
		return;
	}
	ending_since = tracer_now();
	ending = number;
	note();
}

static void on_nothing(int number UNUSED)
{
}

static struct err *handle(int number, void (*handler)(int), bool restart)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = restart ? SA_RESTART : 0 },
			 old;

	sigemptyset(&action.sa_mask);
	if (sigaction(number, NULL, &old))
		return err_sys("sigaction %d", number);
	/* Under nohup, or in a shell's background job, the signal is ignored; it stays so. */
	if (old.sa_handler == SIG_IGN && !restart && handler != SIG_IGN)
		return NULL;
	if (sigaction(number, &action, NULL))
		return err_sys("sigaction %d", number);
	return NULL;
}

struct err *signals_setup(void)
{
	/*
	 * Signals without SA_RESTART must end waits. Where possible these are handlers, not
	 * SIG_IGN, because a program that is started from here then has the default again.
	 */
	static const struct {
		int number;
		void (*handler)(int);
		bool restart;
	} all[] = {
		{ SIGINT, on_interrupt, false }, { SIGTERM, on_end, false }, { SIGHUP, on_end, false },
		{ SIGPIPE, on_nothing, true }, { SIGXFSZ, on_nothing, true }, { SIGTSTP, on_nothing, true },
		{ SIGTTIN, SIG_IGN, false }, { SIGTTOU, SIG_IGN, false },
	};
	struct err *err = NULL;

	main_thread = pthread_self();
	if (pipe2(wake, O_CLOEXEC | O_NONBLOCK))
		return err_sys("pipe");
	for (size_t i = 0; i < ARRAY_SIZE(all) && !err; i++)
		err = handle(all[i].number, all[i].handler, all[i].restart);
	return err;
}

int signals_fd(void)
{
	return wake[0];
}

void signals_drain(void)
{
	char bytes[64];

	while (read(wake[0], bytes, sizeof(bytes)) > 0)
		;
}

int signals_ending(void)
{
	return ending;
}

int signals_take_interrupts(void)
{
	int nr = interrupts;

	interrupts = 0;
	return nr;
}

int signal_number(const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);
	int number;

	if (*text && !*end)
		return value > 0 && value < NSIG ? (int)value : 0;
	if (!strncasecmp(text, "SIG", 3))
		text += 3;
	for (number = 1; number < NSIG; number++) {
		const char *name = sigabbrev_np(number);

		if (name && !strcasecmp(name, text))
			return number;
	}
	return 0;
}

const char *signal_name(int number)
{
	static char text[32];
	const char *name = sigabbrev_np(number);

	if (name)
		snprintf(text, sizeof(text), "SIG%s", name);
	else
		snprintf(text, sizeof(text), "signal %d", number);
	return text;
}
