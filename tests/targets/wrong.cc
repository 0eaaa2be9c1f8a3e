// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A program that frees what it must not. glibc aborts before it acts; here the signal is caught, and the program goes
 * on, with a heap as before. Each answers `ok ADDRESS` with what was freed wrongly.
 *
 *	twice, delete	the same block, by free, by operator delete
 *	late N		twice, and between that N others once
 *	moved		by realloc to a larger size, which has moved it; by free
 *	deleted		by operator delete, by free
 *	once		a block of 700 bytes, which is right
 *	loop N		N blocks, each twice, at one place
 *	other		by another thread, then by this one; once
 *	inside		16 bytes inside of a block that stays
 *	stack, data	of a variable
 *	wild		addresses that are no blocks: `ok SIGNAL@PC ...`, how each free ended (0: it returned), and where it faulted
 *	early		a block from before `ready`, twice
 *	reuse		freed, given out again, freed by the first owner, who has no right to
 *	threads N	N threads one after the other, which leave their caches to be freed by the C library
 *	resize		a block that was freed, again by realloc(p, 0)
 *	die		twice, and the signal is not caught
 *	quit
 *
 * With another allocator than glibc's nobody may abort.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "target.h"
#include "wild.h"

#define CACHED	300	/* bytes: a thread's cache takes them, and looks whether it has them */
#define ONCE	700	/* of a size that nobody else asks for */
/* The call before it is no jump, and the function not the same as another one. */
#define STAY	__asm__ volatile("# %0" : : "i"(__LINE__) : "memory")

static char data[64] __attribute__((aligned(16)));
static void *early;
static sigjmp_buf back;

static volatile int caught;
static volatile uintptr_t caught_at;

static void on_abort(int signal)
{
	caught = signal;
	siglongjmp(back, 1);
}

static void on_fault(int signal, siginfo_t *, void *context)
{
	caught = signal;
	caught_at = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	siglongjmp(back, 1);
}

NOINLINE static void *allocate(size_t size)
{
	void *p = malloc(size);

	KEEP(p);
	return p;
}

NOINLINE static void first_free(void *p)
{
	KEEP(p);
	free(p);
	STAY;
}

NOINLINE static void wrong_free(void *p)
{
	KEEP(p);
	free(p);
	STAY;
}

NOINLINE static void wrong_delete(char *p)
{
	KEEP(p);
	operator delete[](p);
	STAY;
}

NOINLINE static void *wrong_resize(void *p)
{
	KEEP(p);
	p = realloc(p, 0);
	STAY;
	return p;
}

NOINLINE static void attempt(void (*free_it)(void *), void *p)
{
	if (!sigsetjmp(back, 1))
		free_it(p);
}

NOINLINE static void first_delete(char *p)
{
	KEEP(p);
	operator delete(p);
	STAY;
}

NOINLINE static void *move(void *p)
{
	KEEP(p);
	p = realloc(p, 100 * CACHED);
	STAY;
	return p;
}

static void by_delete(void *p)
{
	wrong_delete((char *)p);
}

static void by_resize(void *p)
{
	wrong_resize(p);
}

NOINLINE static void *twice(void (*again)(void *))
{
	void *p = allocate(CACHED);

	first_free(p);
	attempt(again, p);
	return p;
}

NOINLINE static void *late(int n)
{
	void *p = allocate(CACHED);

	first_free(p);
	while (n-- > 0)
		first_free(allocate(CACHED * 2));
	attempt(wrong_free, p);
	return p;
}

/* What lies behind it stays, so that it cannot grow where it is. */
NOINLINE static void *moved()
{
	void *p = allocate(CACHED), *behind = allocate(CACHED), *to = move(p);

	KEEP(p);
	attempt(wrong_free, p);
	free(to);
	free(behind);
	return p;
}

NOINLINE static void *deleted()
{
	void *p = operator new(CACHED);

	KEEP(p);
	first_delete((char *)p);
	KEEP(p);
	attempt(wrong_free, p);
	return p;
}

NOINLINE static void *once()
{
	void *p = allocate(ONCE);

	first_free(p);
	return p;
}

NOINLINE static void loop(int n)
{
	for (int i = 0; i < n; i++)
		twice(wrong_free);
}

static void *volatile to_free;

/* It stays, and so does its cache. */
static void *free_it(void *p)
{
	first_free(p);
	to_free = NULL;
	for (;;)
		pause();
}

/* glibc looks into the cache of the thread that frees, so that it overlooks this one. */
NOINLINE static void *other()
{
	void *p = allocate(ONCE);
	pthread_t thread;

	to_free = p;
	if (pthread_create(&thread, NULL, free_it, p))
		return NULL;
	while (to_free)
		nap_us(100);
	attempt(wrong_free, p);
	return p;
}

/* Where a chunk's size would be is 0: glibc sees it before it takes a lock. */
NOINLINE static void *inside()
{
	static char *p = (char *)allocate(CACHED);

	memset(p, 0, CACHED);
	attempt(wrong_free, p + 16);
	return p + 16;
}

NOINLINE static void *stack()
{
	char room[64] = { 0 };
	void *p = room + 32;

	KEEP(p);
	attempt(wrong_free, (void *)(((uintptr_t)p + 15) & ~(uintptr_t)15));
	return (void *)(((uintptr_t)p + 15) & ~(uintptr_t)15);
}

NOINLINE static void *reuse()
{
	void *p = allocate(CACHED), *q;

	first_free(p);
	q = allocate(CACHED);
	wrong_free(p);
	return q == p ? p : NULL;
}

NOINLINE static void wild()
{
	const uintptr_t *at;
	unsigned nr = wild_addresses(&at), len = 0;
	struct sigaction action = {};
	char text[WILD_MAX * 24];

	action.sa_sigaction = on_fault;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGSEGV, &action, NULL);
	for (unsigned i = 0; i < nr; i++) {
		caught = 0;
		caught_at = 0;
		attempt(wrong_free, (void *)at[i]);
		len += (unsigned)snprintf(text + len, sizeof(text) - len, " %d@%lx", caught, caught_at);
	}
	signal(SIGSEGV, SIG_DFL);
	say("ok%s", text);
}

static void *use_cache(void *)
{
	void *p[40];

	for (int i = 0; i < 40; i++)
		p[i] = allocate((size_t)i * 24 + 16);
	for (int i = 0; i < 40; i++)
		first_free(p[i]);
	return NULL;
}

NOINLINE static void threads(int n)
{
	pthread_t thread;

	while (n-- > 0 && !pthread_create(&thread, NULL, use_cache, NULL))
		pthread_join(thread, NULL);
}

NOINLINE static void *do_early()
{
	attempt(first_free, early);
	attempt(wrong_free, early);
	return early;
}

NOINLINE static void *die()
{
	static const struct rlimit no_core = { 0, 0 };

	setrlimit(RLIMIT_CORE, &no_core);
	signal(SIGABRT, SIG_DFL);
	return twice(wrong_free);
}

static void obey(const char *line)
{
	const char *rest;

	if (after(line, "twice"))
		say("ok %p", twice(wrong_free));
	else if (after(line, "delete"))
		say("ok %p", twice(by_delete));
	else if (after(line, "resize"))
		say("ok %p", twice(by_resize));
	else if ((rest = after(line, "late")))
		say("ok %p", late(atoi(rest)));
	else if (after(line, "moved"))
		say("ok %p", moved());
	else if (after(line, "deleted"))
		say("ok %p", deleted());
	else if (after(line, "once"))
		say("ok %p", once());
	else if ((rest = after(line, "loop"))) {
		loop(atoi(rest));
		say("ok");
	} else if (after(line, "other"))
		say("ok %p", other());
	else if (after(line, "inside"))
		say("ok %p", inside());
	else if (after(line, "stack"))
		say("ok %p", stack());
	else if (after(line, "data")) {
		attempt(wrong_free, data + 16);
		say("ok %p", (void *)(data + 16));
	} else if (after(line, "wild"))
		wild();
	else if (after(line, "early"))
		say("ok %p", do_early());
	else if (after(line, "reuse"))
		say("ok %p", reuse());
	else if ((rest = after(line, "threads"))) {
		threads(atoi(rest));
		say("ok");
	} else if (after(line, "die"))
		say("ok %p", die());
	else if (after(line, "verify"))
		say("ok");
	else
		say("bad command");
}

int main()
{
	char *line;

	signal(SIGABRT, on_abort);
	early = allocate(CACHED + 100);
	KEEP(*(void **)&early);
	KEEP(*(void **)&data);
	say_ready();
	while ((line = hear()) && !after(line, "quit"))
		obey(line);
	return 0;
}
