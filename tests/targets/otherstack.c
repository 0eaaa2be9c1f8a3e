/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target that allocates on stacks which its libc does not know, with more than a page of frames
 * between the block and the stack's end: leaf, parse, handle, request, and whoever called that.
 * Each command makes one block, of a size of its own, and keeps it.
 *
 *	fiber	641 bytes, on the stack of a coroutine that was there before; called by fiber_main
 *	fresh	642 bytes, on a stack that is mapped for it and then unmapped; by fresh_main
 *	signal	643 bytes, in a signal handler with a stack of its own, that has interrupted
 *		interrupted(), called by main
 *	thread	644 bytes, in a thread that is made for it; by thread_main
 *	seccomp	from now on each thread has a filter of system calls (that allows all)
 *	verify, quit
 */
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>

#if __has_include(<linux/seccomp.h>)	/* not where musl-gcc looks */
#include <linux/filter.h>
#include <linux/seccomp.h>
#endif

#define STACK	65536
#define KEPT	1024

static void *kept[KEPT];
static unsigned nr_kept;
static volatile size_t size;
#ifdef __GLIBC__
static ucontext_t home, coroutine;
#endif
static char alternate[STACK];

static NOINLINE void leaf(void)
{
	void *p = malloc(size);

	KEEP(p);
	kept[nr_kept++ % KEPT] = p;
}

/* A frame of 3 KB. */
#define FRAME(name, next)		\
static NOINLINE void name(void)		\
{					\
	char room[3000], *p = room;	\
					\
	KEEP(p);			\
	next();				\
	KEEP(p);			\
}

FRAME(parse, leaf)
FRAME(handle, parse)
FRAME(request, handle)

#ifdef __GLIBC__
static void fiber_main(void)
{
	for (;;) {
		request();
		swapcontext(&coroutine, &home);
	}
}

static void fresh_main(void)
{
	request();
	swapcontext(&coroutine, &home);
}

static bool make_coroutine(void (*start)(void))
{
	void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED || getcontext(&coroutine))
		return false;
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = STACK;
	makecontext(&coroutine, start, 0);
	return true;
}

static bool make_fiber(void)
{
	return make_coroutine(fiber_main);
}

static bool run_fiber(void)
{
	return !swapcontext(&home, &coroutine);
}

static bool run_fresh(void)
{
	ucontext_t old = coroutine;
	bool good = make_coroutine(fresh_main) && run_fiber() &&
		    !munmap(coroutine.uc_stack.ss_sp, coroutine.uc_stack.ss_size);

	coroutine = old;
	return good;
}

#else	/* musl has no ucontext */
static bool make_fiber(void)
{
	return true;
}

static bool run_fiber(void)
{
	return false;
}

static bool run_fresh(void)
{
	return false;
}
#endif

static void handle_signal(int number UNUSED)
{
	request();
}

static NOINLINE bool interrupted(void)
{
	bool good = !raise(SIGUSR1);

	KEEP(good);
	return good;
}

static bool take_signals(void)
{
	const stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	const struct sigaction action = { .sa_handler = handle_signal, .sa_flags = SA_ONSTACK };

	return !sigaltstack(&stack, NULL) && !sigaction(SIGUSR1, &action, NULL);
}

static NOINLINE void *thread_main(void *arg)
{
	request();
	KEEP(arg);
	return arg;
}

static bool run_thread(void)
{
	pthread_t thread;

	return !pthread_create(&thread, NULL, thread_main, NULL) && !pthread_join(thread, NULL);
}

static bool filter_calls(void)
{
#ifdef SECCOMP_MODE_FILTER
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#else
	return false;
#endif
}

static const struct {
	const char *name;
	size_t size;
	bool (*run)(void);
} commands[] = {
	{ "fiber", 641, run_fiber }, { "fresh", 642, run_fresh }, { "signal", 643, interrupted },
	{ "thread", 644, run_thread }, { "seccomp", 0, filter_calls },
};

static bool obey(const char *line)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(line, commands[i].name))
			continue;
		size = commands[i].size;
		return commands[i].run();
	}
	return !strcmp(line, "verify");
}

int main(void)
{
	char *line;

	if (!make_fiber() || !take_signals())
		return 2;
	say_ready();
	while ((line = hear()) && strcmp(line, "quit"))
		say(obey(line) ? "ok" : "bad");
	return line ? 0 : 1;
}
