/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stop_all PID: what ptrace alone takes to stop all threads of a process and to let them go on: seize all, interrupt all,
 * wait for all, detach from all. Nothing else is done to them. Prints `stopped THREADS US`.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#define MAX_THREADS	4096

static pid_t thread[MAX_THREADS];
static int nr_threads;

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void list_threads(const char *pid)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%.20s/task", pid);
	dir = opendir(path);
	if (!dir)
		fail(path);
	while ((entry = readdir(dir)) && nr_threads < MAX_THREADS)
		if (entry->d_name[0] != '.')
			thread[nr_threads++] = atoi(entry->d_name);
	closedir(dir);
}

int main(int argc, char **argv)
{
	double start;
	int i, status;

	if (argc != 2)
		return 2;
	list_threads(argv[1]);
	start = now_us();
	for (i = 0; i < nr_threads; i++)
		if (ptrace(PTRACE_SEIZE, thread[i], 0, 0))
			fail("seize");
	for (i = 0; i < nr_threads; i++)
		if (ptrace(PTRACE_INTERRUPT, thread[i], 0, 0))
			fail("interrupt");
	for (i = 0; i < nr_threads; i++)
		if (waitpid(thread[i], &status, __WALL) != thread[i] || !WIFSTOPPED(status))
			fail("wait");
	for (i = 0; i < nr_threads; i++)
		if (ptrace(PTRACE_DETACH, thread[i], 0, 0))
			fail("detach");
	printf("stopped %d %.1f\n", nr_threads, now_us() - start);
	return 0;
}
