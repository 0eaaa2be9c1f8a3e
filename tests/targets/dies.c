/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dies of a signal, in each of the ways in which a signal comes. After "ready" each line of standard
 * input is a way: the name of a signal's cause, or one of
 *
 *	handled CAUSE	with a handler that is reset, and returns: the second one is fatal
 *	caught CAUSE	with a handler that leaves by siglongjmp: answers "caught"
 *	ignored CAUSE	the signal is ignored
 *	blocked CAUSE	the signal is blocked
 *	thread CAUSE	in another thread
 *	both CAUSE	in two threads at once
 *	child CAUSE	in a child in the same memory (vfork): answers with its status
 *	pid		answers with its id
 *
 * Other threads sleep, or go round. A line that does not end the process is answered.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

static void *volatile kept[1000];
static volatile size_t too_many = 40;
static volatile int zero;
static volatile char *volatile nowhere;
static sigjmp_buf back;

__attribute__((noinline)) static int deep(volatile char *above)
{
	volatile char room[4096];

	room[0] = *above;
	return zero ? 0 : deep(room) + room[0];
}

/* Writes behind its block; the next call of malloc finds the top of the heap damaged. */
__attribute__((noinline)) void overrun_block(void)
{
	char *bytes = malloc(24);

	kept[0] = bytes;
	memset(bytes, 'm', too_many);
}

__attribute__((noinline)) static void overrun(void)
{
	overrun_block();
	kept[1] = malloc(100000);
	kept[2] = malloc(100000);
}

static void double_free(void)
{
	void *volatile block = malloc(2000);

	kept[0] = malloc(2000);
	free(block);
	free(block);
}

static void fault_bus(void)
{
	FILE *file = tmpfile();
	volatile char *bytes = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(file), 0);

	zero = bytes[0];
}

/* `trap` is SECCOMP_RET_TRAP, which raises SIGSYS; `kill` is reported to nobody. */
static void filter(unsigned action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	syscall(SYS_getppid);
}

static void use_processor(void)
{
	struct rlimit limit = { 0, RLIM_INFINITY };

	setrlimit(RLIMIT_CPU, &limit);
	for (;;)
		zero++;
}

static void write_too_much(void)
{
	struct rlimit limit = { 1, RLIM_INFINITY };
	FILE *file = tmpfile();

	setrlimit(RLIMIT_FSIZE, &limit);
	zero = (int)write(fileno(file), "many", 4) + (int)write(fileno(file), "many", 4);
}

/* Most of the time is in the allocator, and in what watches it. */
__attribute__((noinline)) static void churn(void)
{
	printf("churns\n");
	fflush(stdout);
	for (size_t i = 0;; i++) {
		free(kept[i % 100]);
		kept[i % 100] = i % 3 ? malloc(16 + i % 200) : calloc(1, 24 + i % 500);
	}
}

static void cause(const char *what)
{
	if (!strcmp(what, "abort"))
		abort();
	else if (!strcmp(what, "segv"))
		*nowhere = 1;
	else if (!strcmp(what, "privileged"))		/* SIGSEGV without an address */
		__asm__ volatile("hlt");
	else if (!strcmp(what, "deep"))
		zero = deep((volatile char *)what);
	else if (!strcmp(what, "bus"))
		fault_bus();
	else if (!strcmp(what, "fpe"))
		zero = (int)too_many / zero;
	else if (!strcmp(what, "ill"))
		__asm__ volatile("ud2");
	else if (!strcmp(what, "trap"))
		__asm__ volatile("int3");
	else if (!strcmp(what, "sys"))
		filter(SECCOMP_RET_TRAP);
	else if (!strcmp(what, "strict"))
		filter(SECCOMP_RET_KILL_PROCESS);
	else if (!strcmp(what, "churn"))
		churn();
	else if (!strcmp(what, "xcpu"))
		use_processor();
	else if (!strcmp(what, "xfsz"))
		write_too_much();
	else if (!strcmp(what, "double"))
		double_free();
	else if (!strcmp(what, "overrun"))
		overrun();
	else
		kill(getpid(), atoi(what));
}

static int number_of(const char *what)
{
	static const struct { const char *what; int number; } all[] = {
		{ "abort", SIGABRT }, { "segv", SIGSEGV }, { "privileged", SIGSEGV },
		{ "deep", SIGSEGV }, { "bus", SIGBUS }, { "fpe", SIGFPE }, { "ill", SIGILL },
		{ "trap", SIGTRAP }, { "sys", SIGSYS }, { "double", SIGABRT },
		{ "overrun", SIGABRT },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(all[i].what, what))
			return all[i].number;
	return atoi(what);
}

static void *in_thread(void *what)
{
	cause(what);
	return NULL;
}

static void *go_round(void *unused)
{
	for (;;)
		zero = 0;
	return unused;
}

static void *sleep_on(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg))
		_exit(98);
}

static void leave(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static void note(int number)
{
	(void)number;
}

static void with(void (*handler)(int), int flags, const char *what)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	sigaction(number_of(what), &action, NULL);
	cause(what);
}

static void in_child(const char *what)
{
	pid_t child = vfork();
	int status = 0;

	if (!child) {
		cause(what);
		_exit(0);
	}
	waitpid(child, &status, 0);
	printf("child %d\n", status);
}

static void obey(const char *how, const char *what)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number_of(what));
	if (!strcmp(how, "handled")) {
		with(note, (int)SA_RESETHAND, what);
		cause(what);
	} else if (!strcmp(how, "caught")) {
		if (!sigsetjmp(back, 1))
			with(leave, 0, what);
		printf("caught\n");
		return;
	} else if (!strcmp(how, "ignored")) {
		with(SIG_IGN, 0, what);
	} else if (!strcmp(how, "blocked")) {
		sigprocmask(SIG_BLOCK, &set, NULL);
		cause(what);
	} else if (!strcmp(how, "thread") || !strcmp(how, "both")) {
		start(in_thread, strdup(what));
		if (*how == 'b')
			start(in_thread, strdup(what));
		sleep_on(NULL);
	} else if (!strcmp(how, "child")) {
		in_child(what);
		return;
	} else if (!strcmp(how, "pid")) {
		printf("pid %d\n", getpid());
		return;
	} else {
		cause(how);
	}
	printf("lives\n");
}

int main(int argc, char **argv)
{
	char line[200], how[64], what[64];

	for (int i = 1; i < argc; i++)
		start(!strcmp(argv[i], "round") ? go_round : sleep_on, NULL);
	for (int i = 0; i < 10; i++)
		kept[10 + i] = malloc(100 + 16 * (size_t)i);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		*how = *what = '\0';
		sscanf(line, "%63s %63s", how, what);
		obey(how, what);
		fflush(stdout);
	}
	return 0;
}
