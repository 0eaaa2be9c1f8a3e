/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls foreign code (theory in contained.h). Signal handlers have no context, so what they need is
 * in variables of the thread that runs the code.
 *
 * The timer is set once in a while and not for each call, which may be one of a million: when it
 * comes it notes which call is running, or is set again by the first call that comes after it. A
 * call that it finds a second time is jumped out of.
 */

#include "symbol/contained.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"

/* The frame of a signal has 11 KB with the largest registers of today. */
#define HANDLER_STACK	(64u << 10)
#define TICK		SIGVTALRM

struct ticks {
	timer_t timer;
	bool made;
	volatile sig_atomic_t set;
	volatile uint64_t call;		/* that the last tick has found; 0: none */
};

static __thread struct ticks ticks;
static __thread sigjmp_buf *volatile out;
static __thread volatile uint64_t call;	/* number of this one */

static const int crashes[] = { SIGSEGV, SIGFPE, SIGILL };
static struct sigaction before[ARRAY_SIZE(crashes)];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void jump(enum contained_end how)
{
	sigjmp_buf *to = out;

	out = NULL;
	siglongjmp(*to, how);
}

static void on_crash(int number, siginfo_t *info, void *context UNUSED)
{
	/* One that somebody has sent (si_code up to 0) is no crash. */
	if (out && info->si_code > 0)
		jump(CONTAINED_CRASHED);
	/* It comes again at the same instruction, for the handler that was there before. */
	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
		if (crashes[i] == number)
			sigaction(number, &before[i], NULL);
	if (info->si_code <= 0)
		raise(number);
}

static void set_timer(void)
{
	const struct itimerspec once_more = { .it_value = { .tv_nsec = CONTAINED_MS * 1000000 } };

	ticks.set = !timer_settime(ticks.timer, 0, &once_more, NULL);
}

static void on_tick(int number UNUSED)
{
	ticks.set = 0;
	if (!out)
		return;
	if (ticks.call == call)
		jump(CONTAINED_ENDLESS);
	ticks.call = call;
	set_timer();
}

/* The mask stays as it is, so that a jump out need not set it. */
static void set_handlers(void)
{
	struct sigaction crash = { .sa_sigaction = on_crash,
				   .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	struct sigaction tick = { .sa_handler = on_tick,
				  .sa_flags = SA_ONSTACK | SA_NODEFER | SA_RESTART };

	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
		sigaction(crashes[i], &crash, &before[i]);
	sigaction(TICK, &tick, NULL);
}

static void begin_ticks(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TICK };

	if (!ticks.made) {
		event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
		ticks.made = !timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &ticks.timer);
	}
	if (ticks.made && !ticks.set)
		set_timer();
}

static void end_ticks(void)
{
	if (ticks.made)
		timer_delete(ticks.timer);
	ticks.made = false;
}

/* A thread that has one already keeps it. */
static void set_handler_stack(void *stack)
{
	stack_t now, ours = { .ss_sp = stack, .ss_size = HANDLER_STACK };

	if (!sigaltstack(NULL, &now) && now.ss_flags & SS_DISABLE)
		sigaltstack(&ours, NULL);
}

static NOINLINE enum contained_end run(void (*fn)(void *arg), void *arg)
{
	sigjmp_buf here;
	int how = sigsetjmp(here, 0);

	if (how)
		return (enum contained_end)how;
	call++;
	out = &here;
	begin_ticks();
	fn(arg);
	out = NULL;
	return CONTAINED_DONE;
}

struct job {
	void (*fn)(void *arg);
	void *arg;
	enum contained_end end;
};

static void *run_there(void *ctx)
{
	struct job *job = ctx;
	char handler_stack[HANDLER_STACK];
	const stack_t none = { .ss_flags = SS_DISABLE };

	set_handler_stack(handler_stack);
	job->end = run(job->fn, job->arg);
	end_ticks();
	sigaltstack(&none, NULL);
	return NULL;
}

static enum contained_end run_in_thread(void (*fn)(void *arg), void *arg, size_t stack)
{
	struct job job = { fn, arg, CONTAINED_NOT_RUN };
	pthread_attr_t attr;
	pthread_t thread;

	if (pthread_attr_init(&attr))
		return CONTAINED_NOT_RUN;
	if (!pthread_attr_setguardsize(&attr, CONTAINED_GUARD) &&
	    !pthread_attr_setstacksize(&attr, stack) &&
	    !pthread_create(&thread, &attr, run_there, &job))
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	return job.end;
}

enum contained_end contained_call(void (*fn)(void *arg), void *arg, size_t stack)
{
	static __thread void *handler_stack;	/* the main thread's, for good */

	pthread_once(&once, set_handlers);
	if (stack)
		return run_in_thread(fn, arg, stack);
	if (!handler_stack) {
		handler_stack = malloc(HANDLER_STACK);
		if (!handler_stack)
			return CONTAINED_NOT_RUN;
		set_handler_stack(handler_stack);
	}
	return run(fn, arg);
}
