/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Coroutines that are suspended in a function of the program's own (pool_alloc), to be probed by the user. Commands:
 * `suspend` (one more), `resume` (the oldest one returns and ends), `move` (the same on another thread), `interrupt`
 * (one more, suspended by a signal handler in the function), `fork` (a child resumes its copies of all and ends),
 * `vfork` (a child in the function), `jump` (the function is left by longjmp), `leave` (a thread ends in it), `call`
 * (it returns at once), verify, quit.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "target.h"

#define STACK		(64 << 10)
#define COROUTINES	64

enum does { RETURNS, SUSPENDS, RAISES, JUMPS, VFORKS, LEAVES };

struct coroutine {
	ucontext_t context, resumer;
	char *stack;
	volatile int done;
};

static struct coroutine coroutine[COROUTINES];
static size_t first, nr;
static __thread struct coroutine *current;
static enum does does;
static sigjmp_buf out;
static char pool[1 << 20];
static size_t used;
static unsigned wrong;

static NOINLINE void suspend(struct coroutine *self)
{
	swapcontext(&self->context, &self->resumer);
}

static void on_signal(int number)
{
	(void)number;
	suspend(current);
}

static NOINLINE void *pool_alloc(size_t size)
{
	char *p = pool + used;
	pid_t child;

	used = (used + size + 15) % (sizeof(pool) / 2) & ~15ul;
	switch (does) {
	case SUSPENDS:
		suspend(current);
		break;
	case RAISES:
		raise(SIGUSR1);
		break;
	case JUMPS:
		siglongjmp(out, 1);
	case VFORKS:
		child = vfork();
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
		break;
	case LEAVES:
		syscall(SYS_exit, 0);
		break;
	case RETURNS:
		break;
	}
	KEEP(p);
	return p;
}

static NOINLINE void pool_free(void *p)
{
	*(volatile char *)p = 0;
	KEEP(p);
}

static void body(void)
{
	struct coroutine *self = current;
	volatile uint64_t canary = 0x5afe5afe5afe5afe;
	char *p = pool_alloc(100);

	wrong += canary != 0x5afe5afe5afe5afe || p < pool || p >= pool + sizeof(pool);
	pool_free(p);
	self->done = 1;
	suspend(self);
}

static void begin(enum does how)
{
	struct coroutine *one = &coroutine[nr++ % COROUTINES];

	does = how;
	one->done = 0;
	one->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	getcontext(&one->context);
	one->context.uc_stack.ss_sp = one->stack;
	one->context.uc_stack.ss_size = STACK;
	makecontext(&one->context, body, 0);
	current = one;
	swapcontext(&one->resumer, &one->context);
	wrong += one->done;
	does = RETURNS;
}

static void resume(struct coroutine *one)
{
	current = one;
	swapcontext(&one->resumer, &one->context);
	wrong += !one->done;
	munmap(one->stack, STACK);
}

static void *resume_there(void *arg)
{
	resume(arg);
	return NULL;
}

static void *leave(void *arg)
{
	pool_free(pool_alloc(100));
	return arg;
}

static void in_thread(void *(*fn)(void *arg), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fn, arg))
		_exit(3);
	pthread_join(thread, NULL);
}

static int resume_in_child(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		while (first < nr)
			resume(&coroutine[first++ % COROUTINES]);
		_exit(wrong != 0);
	}
	waitpid(child, &status, 0);
	return status;
}

static NOINLINE void call(enum does how)
{
	does = how;
	if (how == LEAVES)
		in_thread(leave, NULL);
	else if (how != JUMPS || !sigsetjmp(out, 1))
		pool_free(pool_alloc(100));
	does = RETURNS;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_NODEFER };
	const char *line;

	sigaction(SIGUSR1, &action, NULL);
	call(LEAVES);		/* what libc does for the first thread is done */
	call(RETURNS);
	say_ready();
	while ((line = hear())) {
		if (after(line, "quit"))
			break;
		if (after(line, "suspend"))
			begin(SUSPENDS);
		else if (after(line, "interrupt"))
			begin(RAISES);
		else if (after(line, "resume"))
			resume(&coroutine[first++ % COROUTINES]);
		else if (after(line, "move"))
			in_thread(resume_there, &coroutine[first++ % COROUTINES]);
		else if (after(line, "jump"))
			call(JUMPS);
		else if (after(line, "vfork"))
			call(VFORKS);
		else if (after(line, "leave"))
			call(LEAVES);
		else if (after(line, "call"))
			call(RETURNS);
		else if (after(line, "fork"))
			wrong += resume_in_child() != 0;
		say(wrong ? "bad %u" : "ok %u", wrong);
	}
	return wrong != 0;
}
