/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * smallstack WHERE [THREADS]: a target whose threads allocate, nearly all the time, on stacks of 3 KB in the midst of
 * data of the program's. WHERE these lie:
 *
 *	static	a coroutine's, in an array
 *	local	a coroutine's, in the frame of a function below whose frame there are others
 *	block	a coroutine's, in a block of the heap
 *	signal	the alternate stack of a signal handler, in an array
 *
 * `verify` says whether all data around the stacks is as it was; quit.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include "target.h"

#define STACK		3072u
#define ROOM		32768u
#define ABOVE		4096u
#define THREADS_MAX	8

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ	51
#endif

/* Data, a stack, data. */
struct room {
	unsigned char byte[ROOM];
};

struct worker {
	struct room *room;
	size_t size;		/* of the stack */
	ucontext_t home, coroutine;
	int listens;		/* to the commands */
};

static struct room rooms[THREADS_MAX];
static struct worker workers[THREADS_MAX];
static __thread struct worker *self;
static volatile int wrong, ends;
static int by_signal;

static size_t low_of(const struct worker *worker)
{
	return ROOM - ABOVE - worker->size;
}

static unsigned char data_at(size_t i)
{
	return (unsigned char)(i * 7 + i / 256 + 1);
}

static void fill(struct worker *worker)
{
	for (size_t i = 0; i < ROOM; i++)
		worker->room->byte[i] = data_at(i);
}

static void check(const struct worker *worker)
{
	size_t low = low_of(worker);

	for (size_t i = 0; i < ROOM; i++) {
		if (i == low)
			i = ROOM - ABOVE;
		if (worker->room->byte[i] != data_at(i))
			wrong = 1;
	}
}

/* A millisecond in a system call, with half of the stack in use. */
static NOINLINE int wait_for_input(const struct worker *worker)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };
	char used[1200], *p = used;
	int got;

	KEEP(p);
	got = poll(&input, (nfds_t)worker->listens, 1);
	KEEP(p);
	return got > 0;
}

/* One allocation, and a wait. True: there is something to do elsewhere. */
static NOINLINE int step(const struct worker *worker)
{
	void *p = malloc(100);

	KEEP(p);
	free(p);
	check(worker);
	return wait_for_input(worker) || ends;
}

static void work(void)
{
	while (!step(self))
		;
}

static void run_coroutine(void)
{
	for (;;) {
		work();
		swapcontext(&self->coroutine, &self->home);
	}
}

static void on_signal(int number)
{
	(void)number;
	work();
}

static void prepare(struct worker *worker)
{
	stack_t stack = { .ss_sp = worker->room->byte + low_of(worker), .ss_size = worker->size };
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = SA_ONSTACK | SA_NODEFER };	/* one mask for all */

	fill(worker);
	if (by_signal) {
		if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL))
			_exit(3);
		return;
	}
	if (getcontext(&worker->coroutine))
		_exit(3);
	worker->coroutine.uc_stack = stack;
	makecontext(&worker->coroutine, run_coroutine, 0);
}

/* Until there is a command, or the end. */
static void run(struct worker *worker)
{
	if (by_signal)
		raise(SIGUSR1);
	else
		swapcontext(&worker->home, &worker->coroutine);
}

static void step_once(void)
{
	struct worker none = { .room = &rooms[1], .size = STACK };

	step(&none);
	wrong = 0;
}

/* What is called for the first time takes more than 3 KB, to find the function. */
static void bind_functions(void)
{
	ucontext_t home, context;

	if (getcontext(&context))
		_exit(3);
	context.uc_stack.ss_sp = &rooms[0];
	context.uc_stack.ss_size = ROOM;
	context.uc_link = &home;
	makecontext(&context, step_once, 0);
	swapcontext(&home, &context);
}

static void *be(void *arg)
{
	self = arg;
	prepare(self);
	while (!ends)
		run(self);
	return NULL;
}

static int obey(void)
{
	const char *line = hear();

	if (line && !strcmp(line, "verify"))
		say(wrong ? "bad: the data around a stack has changed" : "ok");
	else if (line && strcmp(line, "quit"))
		say("bad");
	return line && strcmp(line, "quit");
}

static NOINLINE void listen_to(struct worker *worker)
{
	self = worker;
	prepare(worker);
	say_ready();
	do
		run(worker);
	while (obey());
}

static NOINLINE void listen_in_frame(struct worker *worker)
{
	struct room room;

	worker->room = &room;
	listen_to(worker);
	KEEP(worker);
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	const char *where = argc > 1 ? argv[1] : "static";
	pthread_t thread[THREADS_MAX];

	by_signal = !strcmp(where, "signal");
	bind_functions();
	for (int i = 0; i < threads && i < THREADS_MAX; i++) {
		workers[i].room = strcmp(where, "block") ? &rooms[i] : malloc(sizeof(struct room));
		workers[i].size = STACK + (by_signal ? getauxval(AT_MINSIGSTKSZ) : 0);
		if (i && pthread_create(&thread[i], NULL, be, &workers[i]))
			return 2;
	}
	workers[0].listens = 1;
	if (strcmp(where, "local"))
		listen_to(&workers[0]);
	else
		listen_in_frame(&workers[0]);
	ends = 1;
	for (int i = 1; i < threads && i < THREADS_MAX; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
