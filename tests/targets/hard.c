/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target in a narrow world: what it has given up it does not get back.
 *
 *	hard [-t THREADS] [-r DIR] [-s strict|filter|thread] [-w] [-l] [-f soft|hard] [-a MB] [-d MB] [-m MB] [-u] [-c] [-i] [-x ignore|block|handle]
 *
 * -t: threads that allocate and free all the time, with rests; -r: chroot to DIR; -s: seccomp, strict, or by a filter
 * that kills for all but a few calls, in all threads or in the main thread alone; -w: no memory that was writable ever
 * gets executable (MDWE); -l: mlockall of what is and will be; -f: no descriptor left to be opened, by a soft limit or a hard one; -a, -d, -m: RLIMIT_AS,
 * RLIMIT_DATA, RLIMIT_MEMLOCK, this much beyond what is in use; -u: from root to nobody; -c: no reading of the time stamp counter; -i: what is mapped from then on to be read is executable, too; -x: SIGTRAP. What cannot be had is said:
 * `skip WHY` instead of `ready`.
 *
 * Commands: make N SIZE, pairs N, drop, verify (hard.h); load (`ok PAIRS` of the threads so far); filter (as
 * -s filter, from now on); trap (an int3 of its own: `ok TAKEN`); quit.
 */
#include "hard.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE	65
#endif

#define THREADS_MAX	16
#define NOBODY		65534

static pthread_t thread[THREADS_MAX];
static int threads;
static volatile unsigned long pairs;
static volatile int at_work;	/* a bit each */
static volatile sig_atomic_t ending, traps;
static const char *secure = "", *root, *trap = "", *files;
static int mdwe, locking, nobody, no_clock, implies;
static long address_mb = -1, data_mb = -1, locked_mb = -1;

static void give_up(const char *what)
{
	say("skip %s: %s", what, strerror(errno));
	exit(77);
}

static void *work(void *arg)
{
	uint64_t random = 88172645463325252ull + (uintptr_t)arg;
	void *block[64] = { NULL };
	int i;

	while (!ending) {
		for (i = 0; i < 64; i++) {
			free(block[i]);
			block[i] = malloc(next_random(&random) % 400 + 1);
		}
		__atomic_fetch_add(&pairs, 64, __ATOMIC_RELAXED);
		__atomic_fetch_or(&at_work, 1 << (uintptr_t)arg, __ATOMIC_RELAXED);
		nap_us(300);
	}
	for (i = 0; i < 64; i++)
		free(block[i]);
	return NULL;
}

static void on_trap(int signal)
{
	(void)signal;
	traps++;
}

static void set_trap(void)
{
	struct sigaction action = { .sa_handler = strcmp(trap, "ignore") == 0 ? SIG_IGN : on_trap };
	sigset_t set;

	if (*trap && sigaction(SIGTRAP, &action, NULL) != 0)
		give_up("sigaction");
	if (strcmp(trap, "block") != 0)
		return;
	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Pages in use, from statm: field 0 is all, 5 is data and stack. */
static unsigned long pages(int field)
{
	char text[256];
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC), i;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	char *at = text;

	if (n <= 0)
		give_up("statm");
	close(fd);
	text[n] = '\0';
	for (i = 0; i < field; i++)
		at = strchr(at, ' ') + 1;
	return strtoul(at, NULL, 10);
}

static void limit(int resource, int field, long mb)
{
	struct rlimit limits;

	if (mb < 0)
		return;
	limits.rlim_cur = limits.rlim_max = (rlim_t)pages(field) * 4096 + (rlim_t)mb * 1048576;
	if (setrlimit(resource, &limits) != 0)
		give_up("setrlimit");
}

/* All below the limit are taken, so that no call finds a number. */
static void fill_files(void)
{
	struct rlimit limits;

	getrlimit(RLIMIT_NOFILE, &limits);
	limits.rlim_cur = 24;
	if (strcmp(files, "hard") == 0)
		limits.rlim_max = 24;
	if (setrlimit(RLIMIT_NOFILE, &limits) != 0)
		give_up("setrlimit");
	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		;
	if (errno != EMFILE)
		give_up("open");
}

#define LOAD(field)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ALLOW(call)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 1), \
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* What malloc, threads at rest and the protocol need; neither memfd_create nor openat, and no mapping of a file. */
static void set_filter(unsigned flags)
{
	struct sock_filter filter[] = {
		LOAD(nr),
		ALLOW(read), ALLOW(write), ALLOW(brk), ALLOW(munmap), ALLOW(madvise), ALLOW(mprotect), ALLOW(futex),
		ALLOW(exit), ALLOW(exit_group), ALLOW(rt_sigreturn), ALLOW(nanosleep), ALLOW(clock_nanosleep),
		ALLOW(restart_syscall), ALLOW(clock_gettime), ALLOW(rt_sigprocmask), ALLOW(getpid), ALLOW(gettid),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mmap, 0, 3),
		LOAD(args[4]),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffffu, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) != 0)
		give_up("seccomp");
}

/* From here on only read, write, exit and sigreturn: the heap must be large enough as it is. */
static void set_strict(void)
{
	void *p;

#ifdef __GLIBC__
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
	p = malloc(16 << 20);
	KEEP(p);
	free(p);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0)
		give_up("seccomp");
}

/* Before the threads are there, and after. */
static void narrow(void)
{
	if (root && (chroot(root) != 0 || chdir("/") != 0))
		give_up("chroot");
	if (implies && personality(personality(0xffffffff) | READ_IMPLIES_EXEC) < 0)
		give_up("READ_IMPLIES_EXEC");
	if (mdwe && prctl(PR_SET_MDWE, 1, 0, 0, 0) != 0)
		give_up("PR_SET_MDWE");
	if (locking && mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
		give_up("mlockall");
	if (no_clock && prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0)
		give_up("PR_SET_TSC");
	set_trap();
}

static void narrow_more(void)
{
	limit(RLIMIT_AS, 0, address_mb);
	limit(RLIMIT_DATA, 5, data_mb);
	limit(RLIMIT_MEMLOCK, 0, locked_mb);
	if (nobody && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
		give_up("setuid");
	if (files)
		fill_files();
	if (strcmp(secure, "filter") == 0)
		set_filter(SECCOMP_FILTER_FLAG_TSYNC);
	else if (strcmp(secure, "thread") == 0)
		set_filter(0);
	else if (strcmp(secure, "strict") == 0)
		set_strict();
}

static void obey(const char *line)
{
	if (obey_blocks(line)) {
		return;
	} else if (after(line, "load")) {
		say("ok %lu", pairs);
	} else if (after(line, "filter")) {
		set_filter(SECCOMP_FILTER_FLAG_TSYNC);
		say("ok");
	} else if (after(line, "trap")) {
		__asm__ volatile("int3" : : : "memory");
		say("ok %d", (int)traps);
	} else {
		say("bad command %s", line);
	}
}

static int options(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "t:r:s:wlf:a:d:m:ucix:")) != -1) {
		switch (opt) {
		case 't': threads = atoi(optarg); break;
		case 'r': root = optarg; break;
		case 's': secure = optarg; break;
		case 'w': mdwe = 1; break;
		case 'l': locking = 1; break;
		case 'f': files = optarg; break;
		case 'a': address_mb = atol(optarg); break;
		case 'd': data_mb = atol(optarg); break;
		case 'm': locked_mb = atol(optarg); break;
		case 'u': nobody = 1; break;
		case 'c': no_clock = 1; break;
		case 'i': implies = 1; break;
		case 'x': trap = optarg; break;
		default: return 0;
		}
	}
	return threads <= THREADS_MAX;
}

int main(int argc, char **argv)
{
	pid_t self = getpid();
	char *line;
	int i;

	if (!options(argc, argv))
		return 2;
	narrow();
	for (i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)i) != 0)
			return 1;
	while (at_work != (1 << threads) - 1)
		nap_us(100);
	narrow_more();
	say("ready %d", (int)self);
	while ((line = hear()) && !after(line, "quit"))
		obey(line);
	ending = 1;
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	/* (exit_group is no call that strict seccomp lets through.) */
	if (strcmp(secure, "strict") == 0)
		syscall(SYS_exit, bad_blocks() != 0);
	return bad_blocks() != 0;
}
