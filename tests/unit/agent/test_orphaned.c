/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Breakpoints whose mdbg is gone: the SIGTRAP handler takes them out, all of a mapping at the first
 * trap, and only then. Each test runs in a child of its own.
 */

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "agent_offsets.h"
#include "arch/arch.h"
#include "base/cleanup.h"
#include "child.h"
#include "image.h"
#include "unit.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE	65
#endif

#define PAGE		4096ul
#define FUNCTIONS	4
#define THREADS		4
#define CYCLES		10000
#define SLOT		64
#define SKIPPED		77
#define TF		0x100

/* They return their argument plus 1, 2, 3, 4. All lie in one page. */
__asm__(
	".pushsection .text.orphaned, \"ax\", @progbits\n"
	".balign 4096\n"
	".globl orphans\n"
	"orphans:\n"
	".set n, 1\n"
	".rept 4\n"
	".balign 64\n"
	"push %rbx; mov %rdi, %rbx; lea n(%rbx), %rax; pop %rbx; ret\n"
	".set n, n + 1\n"
	".endr\n"
	".balign 4096\n"
	".popsection\n");

extern const char orphans[];

static char *slots;
static struct agent_range text;
static uint32_t *owner;		/* shared with the children */
static uint8_t original;
static int memory;

static uint64_t address_of(unsigned i)
{
	return (uintptr_t)orphans + i * SLOT;
}

static bool is_right(unsigned i, long x)
{
	long (*call)(long x) = (long (*)(long))address_of(i);

	return call(x) == x + 1 + (long)i;
}

static bool all_right(void)
{
	bool right = true;

	for (unsigned i = 0; i < FUNCTIONS; i++)
		right = right && is_right(i, 41);
	return right;
}

static unsigned nr_in(void)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < FUNCTIONS; i++)
		nr += *(const volatile uint8_t *)address_of(i) == 0xcc;
	return nr;
}

static bool put_in(uint8_t byte)
{
	for (unsigned i = 0; i < FUNCTIONS; i++)
		if (pwrite(memory, &byte, 1, (off_t)address_of(i)) != 1)
			return false;
	return true;
}

/* The mappings of files, as text. */
static char *file_maps(void)
{
	AUTO_FCLOSE FILE *file = fopen("/proc/self/maps", "re");
	char *lines = calloc(1, 1 << 16), line[512];

	while (file && fgets(line, sizeof(line), file))
		if (strchr(line, '/'))
			strcat(lines, line);
	return lines;
}

static bool find_text(void)
{
	AUTO_FCLOSE FILE *file = fopen("/proc/self/maps", "re");
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx-%lx r-xp", &text.start, &text.end) == 2 &&
		    address_of(0) >= text.start && address_of(0) < text.end)
			return true;
	return false;
}

/* 0: all is well. */
static int run(int (*body)(void), uint32_t word)
{
	pid_t pid;
	int status;

	*owner = word;
	pid = fork();
	if (!pid) {
		close(memory);
		memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
		if (memory < 0 || !put_in(0xcc))
			_exit(90);
		image_install();
		_exit(body());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 91;
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
		unit_skip("this kernel has not what it takes");
	else if (status)
		printf("status %#x: ", status);
	return WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED ? 0 : status;
}

static int take_out(void)
{
	AUTO_FREE char *before = file_maps(), *after = NULL;

	if (!is_right(2, 1) || nr_in())
		return 1;
	after = file_maps();
	return strcmp(before, after) ? 2 : !all_right() || *owner != FUTEX_OWNER_DIED;
}

TEST("all of a mapping go at the first trap")
{
	CU_ASSERT_EQUAL(run(take_out, FUTEX_OWNER_DIED), 0);
}

static int stay(void)
{
	AUTO_FREE char *before = file_maps(), *after = NULL;
	uint32_t word = *owner;

	for (unsigned i = 0; i < 100; i++)
		if (!all_right() || nr_in() != FUNCTIONS)
			return 1;
	after = file_maps();
	return strcmp(before, after) ? 2 : *owner != word;
}

TEST("not while their mdbg lives")
{
	CU_ASSERT_EQUAL(run(stay, (uint32_t)getpid()), 0);
	CU_ASSERT_EQUAL(run(stay, (uint32_t)getpid() | FUTEX_WAITERS), 0);
	CU_ASSERT_EQUAL(run(stay, 0), 0);
}

/* Sent on, and not tried again. */
static int stay_in_vain(void)
{
	if (!is_right(0, 1) || nr_in() != FUNCTIONS || *owner)
		return 1;
	return stay();
}

static int stay_mdwe(void)
{
	return prctl(PR_SET_MDWE, 1, 0, 0, 0) ? SKIPPED : stay_in_vain();
}

/* ret for mprotect with PROT_EXEC, and for process_vm_writev; all else is allowed. */
static bool set_filter(uint32_t mprotect_ret, uint32_t write_ret)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_writev, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, write_ret),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mprotect, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_READ | PROT_WRITE | PROT_EXEC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, mprotect_ret),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(filter), filter };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int stay_no_mprotect(void)
{
	return set_filter(SECCOMP_RET_ERRNO | 1, SECCOMP_RET_ALLOW) ? stay_in_vain() : SKIPPED;
}

static int stay_no_write(void)
{
	return set_filter(SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | 38) ? stay_in_vain() : SKIPPED;
}

/* No system call is made where the word forbids it. */
static int stay_or_die(void)
{
	return set_filter(SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_PROCESS) ? stay() : SKIPPED;
}

TEST("text that cannot be changed")
{
	CU_ASSERT_EQUAL(run(stay_mdwe, FUTEX_OWNER_DIED), 0);
	CU_ASSERT_EQUAL(run(stay_no_mprotect, FUTEX_OWNER_DIED), 0);
	CU_ASSERT_EQUAL(run(stay_no_write, FUTEX_OWNER_DIED), 0);
	CU_ASSERT_EQUAL(run(stay_or_die, 0), 0);
}

/* A forked child's text is its own. */
static int fork_children(void)
{
	for (unsigned i = 0; i < 3; i++) {
		pid_t pid = fork();
		int status;

		if (!pid)
			_exit(take_out());
		if (waitpid(pid, &status, 0) != pid || status || nr_in() != FUNCTIONS)
			return 1;
	}
	return take_out();
}

TEST("a forked child takes out its own")
{
	CU_ASSERT_EQUAL(run(fork_children, FUTEX_OWNER_DIED), 0);
}

static volatile unsigned steps;

/* The program's own: it steps through a function's first instruction, which is one byte long. */
static void on_step(int signo UNUSED, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	if (info->si_code != TRAP_TRACE)
		_exit(3);
	steps++;
	if (uc->uc_mcontext.gregs[REG_RIP] == (greg_t)address_of(0) + 1)
		uc->uc_mcontext.gregs[REG_EFL] &= ~TF;
}

static int step(void)
{
	struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
	long ret;

	sigaction(SIGTRAP, &action, NULL);
	image_install();
	if (take_out())
		return 1;
	__asm__ volatile("sub $128, %%rsp; pushf; orq $0x100, (%%rsp); popf; call *%2; add $128, %%rsp"
			 : "=a" (ret) : "D" (41l), "r" (address_of(0)) : "memory", "cc");
	return ret != 42 || !steps;
}

/* PC behind a breakpoint that has gone is like any other. */
TEST("a step over where one was")
{
	CU_ASSERT_EQUAL(run(step, FUTEX_OWNER_DIED), 0);
}

static pthread_barrier_t barrier;

static void *hammer_thread(void *arg)
{
	unsigned id = (unsigned)(uintptr_t)arg;
	long wrong = 0;

	for (unsigned i = 0; i < CYCLES; i++) {
		pthread_barrier_wait(&barrier);		/* they are in */
		for (unsigned n = 0; n < FUNCTIONS; n++)
			wrong += !is_right((id + n) % FUNCTIONS, i);
		pthread_barrier_wait(&barrier);
	}
	return (void *)wrong;
}

static volatile bool spoiling;

/* As another thread does it that is done. */
static void *spoil(void *arg)
{
	while (spoiling)
		mprotect((void *)text.start, text.end - text.start, PROT_READ | PROT_EXEC);
	return arg;
}

/* Four threads run into four breakpoints of one page at the same time, again and again. */
static int hammer(void)
{
	AUTO_FREE char *before = file_maps(), *after = NULL;
	pthread_t threads[THREADS], spoiler;
	long wrong = 0;

	if (spoiling && pthread_create(&spoiler, NULL, spoil, NULL))
		return 1;

	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, hammer_thread, (void *)i))
			return 1;
	for (unsigned i = 0; i < CYCLES; i++) {
		if (!put_in(0xcc))
			return 2;
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		if ((!spoiling && nr_in()) || *owner != FUTEX_OWNER_DIED)
			return 3;
	}
	for (unsigned i = 0; i < THREADS; i++) {
		void *ret;

		pthread_join(threads[i], &ret);
		wrong += (long)ret;
	}
	if (spoiling) {
		spoiling = false;
		pthread_join(spoiler, NULL);
		if (!is_right(0, 1) || nr_in())
			return 6;
	}
	after = file_maps();
	return wrong ? 4 : strcmp(before, after) ? 5 : 0;
}

static int hammer_spoiled(void)
{
	spoiling = true;
	return hammer();
}

TEST("four threads at four of one page")
{
	CU_ASSERT_EQUAL(run(hammer, FUTEX_OWNER_DIED), 0);
	CU_ASSERT_EQUAL(run(hammer_spoiled, FUTEX_OWNER_DIED), 0);
}

static int setup(void)
{
	struct agent_trap trap[FUNCTIONS];

	memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	owner = child_share(sizeof(*owner));
	slots = image_map_near(orphans, PAGE);
	original = *(const uint8_t *)orphans;
	if (memory < 0 || !owner || !slots || image_load() || !find_text())
		return -1;
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		uint64_t at = (uintptr_t)slots + i * SLOT;
		struct displaced displaced;

		if (arch_host()->displace((const uint8_t *)address_of(i), 10, address_of(i), at, 1,
					  &displaced))
			return -1;
		memcpy((void *)at, displaced.code, displaced.len);
		trap[i] = (struct agent_trap){ .pc = address_of(i) + 1, .displaced = at,
					       .old = original };
	}
	image_replace(trap, FUNCTIONS, (struct agent_range){ (uintptr_t)slots,
							    (uintptr_t)slots + PAGE });
	image_own(text, owner);
	return mprotect(slots, PAGE, PROT_READ | PROT_EXEC);
}

static int teardown(void)
{
	close(memory);
	return munmap(owner, sizeof(*owner)) | munmap(slots, PAGE) | image_unload();
}

FIXTURE(setup, teardown);
