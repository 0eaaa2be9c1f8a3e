/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target that makes processes in every way. It holds blocks before and while, and checks what its children say.
 *
 *	fork N, tfork N		children that allocate, verify and exit with 7, from main or from a thread
 *	grand N, forkexec N	a child that allocates and forks another (exit 7); one that execs itself (exit 5)
 *	vfork N, vmalloc N	vfork and exec of itself (exit 5); a vfork child that allocates first (exit 6)
 *	spawn N, system N	posix_spawn of itself (exit 5); system("exit 3")
 *	clonevm N		children that share the memory (CLONE_VM without threads), allocate and exit with 8
 *	hold, release		a thread sits in a vfork whose child waits in a read; release lets it end (exit 9)
 *	keep, drop		a forked child that allocates all the time: `ok PID`; drop ends it and checks its status (7)
 *	zombie			a child that is not reaped: `ok PID`
 *	handler N		N children that a signal's handler forks while main allocates, and that go on where the
 *				signal came: they allocate and exit with 7
 *	alloc N			N more blocks of 333 bytes in the parent, kept
 *	list			`ADDRESS SIZE` of the parent's blocks, then `end N`
 *	exec [ARG…]		exec itself (it says ready again), or a program
 *	verify, quit
 */
#include "target.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

#define KEPT_MAX	100000
#define CHILD_BLOCKS	200

extern char **environ;

static void *kept[KEPT_MAX];
static int nr_kept;
static int hold_pipe[2];
static volatile int hold_in, hold_status;
static pthread_t hold_thread;
static pid_t keep_pid;
static int keep_pipe[2];
static char self[] = "/proc/self/exe";

/* What every child does: churn, check its own blocks and those inherited. Returns whether all is well. */
static NOINLINE bool child_work(int rounds)
{
	void *block[CHILD_BLOCKS];
	uint64_t random = 0x1234567ull + (uint64_t)getpid();
	bool good = true;
	int i;

	memset(block, 0, sizeof(block));
	while (rounds-- > 0) {
		i = (int)(next_random(&random) % CHILD_BLOCKS);
		if (block[i]) {
			good = good && canary_holds(block[i], (size_t)i * 3 + 1);
			free(block[i]);
			block[i] = NULL;
		} else {
			block[i] = malloc((size_t)i * 3 + 1);
			canary_fill(block[i], (size_t)i * 3 + 1);
		}
	}
	for (i = 0; i < CHILD_BLOCKS; i++) {
		good = good && (!block[i] || canary_holds(block[i], (size_t)i * 3 + 1));
		free(block[i]);
	}
	for (i = 0; i < nr_kept; i++)
		good = good && canary_holds(kept[i], 333);
	return good;
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) != pid)
		if (errno != EINTR)
			return -1;
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status);
}

static int do_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(child_work(2000) ? 7 : 70);
	return pid < 0 ? -1 : wait_for(pid);
}

static void *fork_in_thread(void *arg)
{
	*(int *)arg = do_fork();
	return NULL;
}

static int do_tfork(void)
{
	pthread_t thread;
	int status = -1;

	if (pthread_create(&thread, NULL, fork_in_thread, &status) != 0)
		return -1;
	pthread_join(thread, NULL);
	return status;
}

static int do_grand(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(child_work(500) && do_fork() == 7 && child_work(500) ? 7 : 70);
	return pid < 0 ? -1 : wait_for(pid);
}

static char *const child_argv[] = { self, "child", NULL };

static int do_forkexec(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		free(malloc(100));
		execve(self, child_argv, environ);
		_exit(71);
	}
	return pid < 0 ? -1 : wait_for(pid);
}

static int do_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execve(self, child_argv, environ);
		_exit(71);
	}
	return pid < 0 ? -1 : wait_for(pid);
}

/* Not what POSIX allows, but what programs do. */
static int do_vmalloc(void)
{
	static void *volatile block;
	pid_t pid = vfork();

	if (pid == 0) {
		block = malloc(100);
		free(block);
		block = malloc(200);
		_exit(block ? 6 : 72);
	}
	if (pid < 0)
		return -1;
	free(block);
	return wait_for(pid);
}

static int do_spawn(void)
{
	pid_t pid;

	if (posix_spawn(&pid, self, NULL, NULL, child_argv, environ) != 0)
		return -1;
	return wait_for(pid);
}

static int do_system(void)
{
	int status = system("exit 3");

	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int clone_child(void *arg)
{
	(void)arg;
	/* It shares the parent's thread control block: only while the parent waits may it call malloc. */
	free(malloc(150));
	_exit(8);
}

static int do_clonevm(void)
{
	static char stack[256 * 1024] __attribute__((aligned(16)));
	pid_t pid = clone(clone_child, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);

	return pid < 0 ? -1 : wait_for(pid);
}

static const struct way {
	const char *name;
	int (*run)(void);
	int want;
} way[] = {
	{ "fork", do_fork, 7 },
	{ "tfork", do_tfork, 7 },
	{ "grand", do_grand, 7 },
	{ "forkexec", do_forkexec, 5 },
	{ "vfork", do_vfork, 5 },
	{ "vmalloc", do_vmalloc, 6 },
	{ "spawn", do_spawn, 5 },
	{ "system", do_system, 3 },
	{ "clonevm", do_clonevm, 8 },
};

static void *hold_work(void *arg)
{
	pid_t pid;
	char byte;

	(void)arg;
	pid = vfork();
	if (pid == 0) {
		hold_in = 1;
		while (read(hold_pipe[0], &byte, 1) < 0 && errno == EINTR)
			;
		_exit(9);
	}
	hold_status = wait_for(pid);
	return NULL;
}

static bool hold(void)
{
	hold_in = 0;
	hold_status = -1;
	if (pipe2(hold_pipe, O_CLOEXEC) != 0 || pthread_create(&hold_thread, NULL, hold_work, NULL) != 0)
		return false;
	while (!hold_in)
		usleep(1000);
	return true;
}

static int hold_release(void)
{
	if (write(hold_pipe[1], "x", 1) != 1)
		return -1;
	pthread_join(hold_thread, NULL);
	close(hold_pipe[0]);
	close(hold_pipe[1]);
	return hold_status;
}

static bool keep(void)
{
	if (pipe2(keep_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
		return false;
	keep_pid = fork();
	if (keep_pid == 0) {
		bool good = true;
		char byte;

		while (read(keep_pipe[0], &byte, 1) != 1)
			good = child_work(500) && good;
		_exit(good ? 7 : 70);
	}
	return keep_pid > 0;
}

static int keep_drop(void)
{
	int status;

	if (write(keep_pipe[1], "x", 1) != 1)
		return -1;
	status = wait_for(keep_pid);
	close(keep_pipe[0]);
	close(keep_pipe[1]);
	return status;
}

static pid_t zombie(void)
{
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	return pid;
}

static void alloc(long n)
{
	for (; n > 0 && nr_kept < KEPT_MAX; n--) {
		kept[nr_kept] = malloc(333);
		canary_fill(kept[nr_kept++], 333);
	}
}

static bool verify(void)
{
	bool good = true;
	int i;

	for (i = 0; i < nr_kept; i++)
		good = good && canary_holds(kept[i], 333);
	return good;
}

static void list(void)
{
	int i;

	for (i = 0; i < nr_kept; i++)
		say("%p 333", kept[i]);
	say("end %d", nr_kept);
}

static pid_t parent;
static volatile sig_atomic_t in_handler;	/* that child was forked, and is to be waited for */

/* (fork itself is not for handlers where other threads are; and a child has no timer.) */
static void fork_in_handler(int signo)
{
	(void)signo;
	if (!in_handler)
		in_handler = _Fork();
}

static NOINLINE void churn_once(size_t size)
{
	unsigned char *p = malloc(size);

	canary_fill(p, size);
	if (!canary_holds(p, size))
		abort();
	free(p);
}

/* The status of the first child that did not end well; else 7. */
static int fork_in_handlers(long n)
{
	static const struct itimerval often = { { 0, 300 }, { 0, 300 } }, never;
	int status = 7;

	parent = getpid();
	in_handler = 0;
	signal(SIGALRM, fork_in_handler);
	setitimer(ITIMER_REAL, &often, NULL);
	while (n > 0 && status == 7) {
		churn_once((size_t)n % 100 + 1);
		if (getpid() != parent)
			_exit(7);
		if (in_handler) {
			status = wait_for(in_handler);
			/* After the last one the handler forks no more. */
			if (--n > 0)
				in_handler = 0;
		}
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_DFL);
	return status;
}

static void do_exec(const char *rest)
{
	char text[1024], *argv[16], *word, *save = NULL;
	int n = 0;

	snprintf(text, sizeof(text), "%s", rest);
	for (word = strtok_r(text, " ", &save); word && n < 15; word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	if (n == 0)
		argv[n++] = self;
	argv[n] = NULL;
	execve(argv[0], argv, environ);
	say("bad %d", errno);
}

/* One of the ways, N times. False: line is none of them. */
static bool obey_way(const char *line)
{
	const char *rest;
	size_t i;

	for (i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
		int status = way[i].want;
		long n;

		rest = after(line, way[i].name);
		if (!rest)
			continue;
		for (n = atol(rest); n > 0 && status == way[i].want; n--)
			status = way[i].run();
		say("%s %d", status == way[i].want ? "ok" : "bad", status);
		return true;
	}
	return false;
}

static void obey(const char *line)
{
	const char *rest;
	int status;

	if (obey_way(line))
		return;
	if (after(line, "hold")) {
		say("%s", hold() ? "ok" : "bad");
	} else if (after(line, "release")) {
		status = hold_release();
		say("%s %d", status == 9 ? "ok" : "bad", status);
	} else if (after(line, "keep")) {
		status = keep();
		say("%s %d", status ? "ok" : "bad", (int)keep_pid);
	} else if (after(line, "drop")) {
		status = keep_drop();
		say("%s %d", status == 7 ? "ok" : "bad", status);
	} else if ((rest = after(line, "handler"))) {
		status = fork_in_handlers(atol(rest));
		say("%s %d", status == 7 ? "ok" : "bad", status);
	} else if (after(line, "zombie")) {
		say("ok %d", (int)zombie());
	} else if ((rest = after(line, "alloc"))) {
		alloc(atol(rest));
		say("ok %d", nr_kept);
	} else if (after(line, "list")) {
		list();
	} else if ((rest = after(line, "exec"))) {
		do_exec(rest);
	} else if (after(line, "verify")) {
		say("%s", verify() ? "ok" : "bad");
	} else {
		say("bad command %s", line);
	}
}

static void *return_at_once(void *arg)
{
	return arg;
}

/* The first thread makes libc install its own signal handlers: have that done before anybody looks. */
static void first_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, return_at_once, NULL) == 0)
		pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	char *line;

	if (argc > 1 && strcmp(argv[1], "child") == 0)
		return child_work(1000) ? 5 : 50;
	alloc(100);
	first_thread();
	say_ready();
	while ((line = hear()) && !after(line, "quit"))
		obey(line);
	return !verify();
}
