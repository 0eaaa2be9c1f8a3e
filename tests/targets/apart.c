/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * apart HOW: its memory is shared by a process that is neither a thread nor a child of it, and that alone allocates.
 *
 *	parent		a child of our parent's (CLONE_PARENT)
 *	orphan		the child of one that shared the memory, too, and has ended
 *	threaded	the same, and it has a thread, which does the work
 *
 * Commands:
 *
 *	pid		that process: `ok PID`
 *	work N		it has done N rounds more since: `ok`
 *	verify		it lives, and its blocks hold what it wrote: `ok`
 *	quit		both end
 */
#include "target.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define STACK	(1ul << 20)
#define BLOCKS	64

static char *stacks;
static volatile int own_pid;
static volatile bool wrong, ending;
static volatile unsigned long rounds;

static void allocate(void)
{
	static void *held[BLOCKS];
	static size_t size[BLOCKS];
	uint64_t random = 88172645463325252u;

	while (!ending) {
		unsigned i = next_random(&random) % BLOCKS;

		if (held[i] && !canary_holds(held[i], size[i]))
			wrong = true;
		free(held[i]);
		size[i] = 16 + next_random(&random) % 500;
		held[i] = malloc(size[i]);
		canary_fill(held[i], size[i]);
		rounds++;
	}
}

static int thread(void *arg)
{
	allocate();
	(void)arg;
	syscall(SYS_exit, 0);
	return 0;
}

/* It ends with the one that it shares the memory with, which is no parent of its: it looks for its command. */
static int work(void *threaded)
{
	own_pid = (int)syscall(SYS_getpid);
	if (threaded)
		clone(thread, stacks + 3 * STACK, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, NULL);
	else
		allocate();
	while (!ending)
		nap_us(1000);
	_exit(0);
}

static int middle(void *threaded)
{
	clone(work, stacks + STACK, CLONE_VM, threaded);
	_exit(0);
}

static void make(const char *how)
{
	if (!strcmp(how, "parent"))
		clone(work, stacks + STACK, CLONE_VM | CLONE_PARENT | SIGCHLD, NULL);
	else
		waitpid(clone(middle, stacks + 2 * STACK, CLONE_VM | SIGCHLD,
			      !strcmp(how, "threaded") ? (void *)&rounds : NULL), NULL, 0);
	while (!own_pid)
		nap_us(1000);
}

static bool works(unsigned long more)
{
	unsigned long until = rounds + more;

	for (int i = 0; i < 20000 && rounds < until && !wrong; i++)
		nap_us(1000);
	return rounds >= until && !wrong;
}

int main(int argc, char **argv)
{
	const char *line, *rest;

	/* It is to end whatever happens to this one. */
	alarm(300);
	stacks = mmap(NULL, 3 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc != 2 || stacks == MAP_FAILED)
		return 2;
	make(argv[1]);
	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		if (after(line, "pid"))
			say("ok %d", own_pid);
		else if ((rest = after(line, "work")))
			say(works(strtoul(rest, NULL, 10)) ? "ok" : "bad: it does not go on");
		else if (after(line, "verify"))
			say(works(1) ? "ok" : "bad: it does not go on, or its blocks are not as it wrote them");
		else
			say("bad command");
	}
	ending = true;
	for (int i = 0; i < 5000 && !kill(own_pid, 0); i++) {
		waitpid(own_pid, NULL, WNOHANG);
		nap_us(1000);
	}
	return 0;
}
