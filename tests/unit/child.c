/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A forked child for tests. */

#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int ready_fd, end_fd;	/* in the child */

static void run(int ready, int end, void (*body)(void *arg), void *arg)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ready_fd = ready;
	end_fd = end;
	body(arg);
	_exit(0);
}

bool child_start(struct child *child, void (*body)(void *arg), void *arg)
{
	int ready[2], end[2];

	if (pipe2(ready, O_CLOEXEC) || pipe2(end, O_CLOEXEC))
		return false;
	child->pid = fork();
	if (child->pid < 0)
		return false;
	if (!child->pid) {
		close(ready[0]);
		close(end[1]);
		run(ready[1], end[0], body, arg);
	}
	close(ready[1]);
	close(end[0]);
	child->ready = ready[0];
	child->end = end[1];
	return true;
}

void child_ready(uint64_t word)
{
	if (write(ready_fd, &word, sizeof(word)) != sizeof(word))
		_exit(1);
}

void child_wait(void)
{
	char byte;

	while (read(end_fd, &byte, 1) < 0 && errno == EINTR)
		;
}

bool child_word(const struct child *child, uint64_t *ret)
{
	return read(child->ready, ret, sizeof(*ret)) == sizeof(*ret);
}

int child_end(struct child *child)
{
	int status = -1;

	close(child->end);
	waitpid(child->pid, &status, 0);
	close(child->ready);	/* not before: it may have a word to say yet */
	return status;
}

static bool has_ended(const struct child *child)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

void child_works(const struct child *child, const _Atomic unsigned *rounds, unsigned nr)
{
	unsigned at = atomic_load(rounds);

	while (atomic_load(rounds) < at + nr && !has_ended(child))
		;
}

/* The first thread, whose comm has no blank. */
static bool is_zombie(void)
{
	char state = '\0';
	FILE *stat = fopen("/proc/self/stat", "re");

	if (!stat || fscanf(stat, "%*d %*s %c", &state) != 1)
		_exit(1);
	fclose(stat);
	return state == 'Z';
}

static void *outlive_leader(void *arg)
{
	(void)arg;
	while (!is_zombie())
		sched_yield();
	child_ready((uint64_t)gettid());
	child_wait();
	_exit(0);
}

void child_end_leader(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, outlive_leader, NULL))
		_exit(1);
	pthread_exit(NULL);
}

void *child_share(size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}
