/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When a thread counts as stalled. */

#include "os/stall_watch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/procfs.h"
#include "unit.h"

TEST("one wait")
{
	struct stall stall = { 0 };

	for (unsigned i = 1; i < STALL_LOOKS; i++)
		CU_ASSERT_FALSE(stall_watch_look(&stall, 'D', 7));
	CU_ASSERT_TRUE(stall_watch_look(&stall, 'D', 7));
}

/* It had a processor in between, though it was in such a wait at each look. */
TEST("other waits")
{
	struct stall stall = { 0 };

	for (unsigned i = 0; i < 10 * STALL_LOOKS; i++)
		CU_ASSERT_FALSE(stall_watch_look(&stall, 'D', i));
	for (unsigned i = 0; i < 10 * STALL_LOOKS; i++)
		CU_ASSERT_FALSE(stall_watch_look(&stall, 'D', i / (STALL_LOOKS - 1)));
}

/* What can be left by a signal, or is short of a processor, is waited for. */
TEST("other states")
{
	struct stall stall = { 0 };

	for (unsigned i = 0; i < 10 * STALL_LOOKS; i++)
		CU_ASSERT_FALSE(stall_watch_look(&stall, "SR"[i % 2], 7));
	for (unsigned i = 0; i < 10 * STALL_LOOKS; i++)
		CU_ASSERT_FALSE(stall_watch_look(&stall, i % STALL_LOOKS ? 'D' : 'R', 7));
}

#define EVERY_NS	50000000ull
#define MOST_LOOKS	200u	/* until a test gives up */
#define AT_A_TIME	(16u << 20)

/* What the processes of a test share. */
struct scene {
	unsigned tracees;
	pid_t worker;			/* 0: none */
	atomic_int waits, works, survived;
};

static struct scene *scene;

/* Works in the kernel without any sleep, as who forks a large process does. */
static void be_worker(void)
{
	int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *bytes = malloc(AT_A_TIME);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (atomic_load(&scene->works))
		if (read(zeros, bytes, AT_A_TIME) != AT_A_TIME)
			_exit(5);
	for (;;)
		pause();
}

/* Who calls vfork waits in the kernel for the child, which only SIGKILL ends. */
static void *wait_for_child(void *arg)
{
	if (scene->worker && ptrace(PTRACE_SEIZE, scene->worker, NULL, NULL))
		_exit(6);
	atomic_store(&scene->waits, gettid());
	if (!vfork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return arg;
}

static void sleep_looks(unsigned nr)
{
	const struct timespec time = procfs_timespec(nr * EVERY_NS);

	nanosleep(&time, NULL);
}

static void be_watched(void)
{
	struct stall_watch watch;
	pthread_t thread;
	pid_t pid;

	if (atomic_load(&scene->works)) {
		pid = fork();
		if (!pid)
			be_worker();
		scene->worker = pid;
	}
	if (pthread_create(&thread, NULL, wait_for_child, NULL))
		_exit(2);
	while (!atomic_load(&scene->waits))
		;
	if (stall_watch_begin(&watch, atomic_load(&scene->waits), &scene->tracees, EVERY_NS))
		_exit(3);
	sleep_looks(5 * STALL_LOOKS);
	atomic_store(&scene->survived, 1);
	atomic_store(&scene->works, 0);
	if (scene->tracees)
		sleep_looks(MOST_LOOKS);
	kill(getpid(), SIGTERM);
}

/* By which signal a process ends whose thread waits so; it is alone with its standard error. */
static int ends_by(unsigned tracees, bool worker, char *said, size_t room)
{
	int ends[2], status = 0;
	ssize_t got = 0, nr;
	pid_t pid;

	*scene = (struct scene){ .tracees = tracees, .works = worker };
	CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		be_watched();
		_exit(4);
	}
	close(ends[1]);
	while ((nr = read(ends[0], said + got, room - 1 - (size_t)got)) > 0)
		got += nr;
	said[got] = 0;
	close(ends[0]);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST("ends mdbg if something is traced")
{
	char said[1024];

	CU_ASSERT_EQUAL(ends_by(1, false, said, sizeof(said)), SIGKILL);
	CU_ASSERT_FALSE(atomic_load(&scene->survived));
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "mdbg ends by SIGKILL"));
}

/* It is waited for as long as a tracee works in the kernel, and no longer. */
TEST("waits for who works in the kernel")
{
	char said[1024];

	CU_ASSERT_EQUAL(ends_by(1, true, said, sizeof(said)), SIGKILL);
	CU_ASSERT_TRUE(atomic_load(&scene->survived));
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "mdbg ends by SIGKILL"));
}

TEST("waits if nothing is")
{
	char said[1024];
	const char *first;

	CU_ASSERT_EQUAL(ends_by(0, false, said, sizeof(said)), SIGTERM);
	first = strstr(said, "mdbg waits; the process goes on");
	CU_ASSERT_PTR_NOT_NULL_FATAL(first);
	CU_ASSERT_PTR_NULL(strstr(first + 1, "mdbg waits"));
}

static int share_scene(void)
{
	scene = mmap(NULL, sizeof(*scene), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return scene == MAP_FAILED;
}

static int unshare_scene(void)
{
	return munmap(scene, sizeof(*scene));
}

FIXTURE(share_scene, unshare_scene);

/* Nothing happens to who waits in another way; the watch ends when it is told to. */
TEST("begins and ends")
{
	static const unsigned tracees = 1;
	CLEANUP(stall_watch_end) struct stall_watch watch;

	CU_ASSERT_PTR_NULL_FATAL(stall_watch_begin(&watch, gettid(), &tracees, EVERY_NS));
}

