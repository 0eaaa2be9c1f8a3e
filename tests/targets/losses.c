/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that loses blocks as it is told, by its arguments and then line by line:
 *
 *	lose		one block of 7001 bytes
 *	chain		one of 7011, which has the only pointer to one of 7021
 *	keep		one of 7031 that is reachable, from a variable; and one of 7041, from main's stack
 *	own		nothing of its own, but what the C library loses
 *	fork		a child goes on in its place, keeps 100 of 9001, and so has its heap grow
 *	exit N, signal N, exec, verify, quit
 *
 * With the argument `thread` main ends by pthread_exit, and another thread listens.
 */
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <wchar.h>

#include "target.h"

static void *volatile kept, *volatile many[100];

static NOINLINE void lose_one(void)
{
	void *volatile p = malloc(7001);

	memset((void *)p, 1, 7001);
	p = NULL;
}

static NOINLINE void *make_tail(void)
{
	void *p = calloc(1, 7021);

	KEEP(p);
	return p;
}

static NOINLINE void lose_chain(void)
{
	void *volatile *volatile head = calloc(1, 7011);

	*head = make_tail();
	head = NULL;
}

static void *end_at_once(void *arg)
{
	return arg;
}

static NOINLINE void lose_own(void)
{
	FILE *stream = fopen("/dev/null", "w,ccs=UTF-8");
	pthread_t thread;
	char name[16];
	int i;

	if (stream) {
		fwprintf(stream, L"x");
		fclose(stream);
	}
	if (!pthread_create(&thread, NULL, end_at_once, NULL))
		pthread_join(thread, NULL);
	for (i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "NAME%d", i);
		setenv(name, "the first", 1);
		setenv(name, "the second", 1);
	}
}

static NOINLINE void go_on_in_child(void)
{
	pid_t child = fork();
	int status;

	if (child > 0)
		_exit(waitpid(child, &status, 0) == child && WIFEXITED(status) ?
		      WEXITSTATUS(status) : 98);
	for (int i = 0; i < 100; i++)
		many[i] = malloc(9001);
}

static NOINLINE void wipe(void)
{
	volatile char bytes[32 * 1024];

	memset((char *)bytes, 0, sizeof(bytes));
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

static void end(const char *word, const char *number)
{
	if (!strcmp(word, "exit"))
		exit(number ? atoi(number) : 0);
	if (!strcmp(word, "signal") && number)
		raise(atoi(number));
	if (!strcmp(word, "exec"))
		execl("/bin/true", "true", (char *)NULL);
}

/* Not what may end the program. */
static int obey(const char *word)
{
	if (!strcmp(word, "lose"))
		lose_one();
	else if (!strcmp(word, "chain"))
		lose_chain();
	else if (!strcmp(word, "keep"))
		kept = malloc(7031);
	else if (!strcmp(word, "own"))
		lose_own();
	else if (!strcmp(word, "fork"))
		go_on_in_child();
	else
		return !strcmp(word, "verify") || !strcmp(word, "thread");
	wipe();
	return 1;
}

static void *listen_to(void *arg)
{
	char *line, *number;

	say_ready();
	while ((line = hear()) && strcmp(line, "quit")) {
		number = strchr(line, ' ');
		if (number)
			*number++ = '\0';
		end(line, number);
		say("%s", obey(line) ? "ok" : "bad");
	}
	exit(0);
	return arg;
}

int main(int argc, char **argv)
{
	void *volatile here = malloc(7041);
	pthread_t thread;
	int i;

	setlocale(LC_ALL, "C.UTF-8");
	for (i = 1; i < argc; i++)
		if (!obey(argv[i]))
			end(argv[i], argv[i + 1]);
	if (argc > 1 && !strcmp(argv[1], "thread") &&
	    !pthread_create(&thread, NULL, listen_to, NULL))
		pthread_exit(NULL);
	listen_to(NULL);
	return here == NULL;
}
