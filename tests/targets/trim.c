/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program with many free pages in its heap, for malloc trim.
 *
 *	trim [-t N] [-b]	N threads that allocate and free all the time; -b: the first thread computes between
 *				commands and waits for nothing
 *	holes MB	allocate that much, and free every other block: `ok`
 *	errno		errno, as it was when the last read was begun, which must not be changed by what succeeds: `ok N`
 *	rounds		how often the threads have come round: `ok N`
 *	seccomp		a filter that allows everything: `ok`
 *	damage		write over the size of a free chunk, and `repair` it
 *	verify, quit
 *
 * Vector registers must be the same behind a read as before, as the kernel has them. Blocks have canaries.
 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>

#define SIZE		100000u
#define BLOCKS_MAX	20000u
#define HELD		200u

static unsigned char *block[BLOCKS_MAX];
static size_t nr_blocks;
static volatile bool wrong;
static atomic_ulong rounds;
static bool busy;

/* read(0, buf, len), with sixteen vector registers that it must not change. */
static ssize_t read_checked(void *buf, size_t len)
{
	unsigned char before[16][16], after[16][16];
	ssize_t got;

	for (unsigned i = 0; i < sizeof(before); i++)
		(&before[0][0])[i] = (unsigned char)(i * 7 + 1);
	__asm__ volatile(
		"movdqu 0(%[before]), %%xmm0\n\t"	"movdqu 16(%[before]), %%xmm1\n\t"
		"movdqu 32(%[before]), %%xmm2\n\t"	"movdqu 48(%[before]), %%xmm3\n\t"
		"movdqu 64(%[before]), %%xmm4\n\t"	"movdqu 80(%[before]), %%xmm5\n\t"
		"movdqu 96(%[before]), %%xmm6\n\t"	"movdqu 112(%[before]), %%xmm7\n\t"
		"movdqu 128(%[before]), %%xmm8\n\t"	"movdqu 144(%[before]), %%xmm9\n\t"
		"movdqu 160(%[before]), %%xmm10\n\t"	"movdqu 176(%[before]), %%xmm11\n\t"
		"movdqu 192(%[before]), %%xmm12\n\t"	"movdqu 208(%[before]), %%xmm13\n\t"
		"movdqu 224(%[before]), %%xmm14\n\t"	"movdqu 240(%[before]), %%xmm15\n\t"
		"syscall\n\t"
		"movdqu %%xmm0, 0(%[after])\n\t"	"movdqu %%xmm1, 16(%[after])\n\t"
		"movdqu %%xmm2, 32(%[after])\n\t"	"movdqu %%xmm3, 48(%[after])\n\t"
		"movdqu %%xmm4, 64(%[after])\n\t"	"movdqu %%xmm5, 80(%[after])\n\t"
		"movdqu %%xmm6, 96(%[after])\n\t"	"movdqu %%xmm7, 112(%[after])\n\t"
		"movdqu %%xmm8, 128(%[after])\n\t"	"movdqu %%xmm9, 144(%[after])\n\t"
		"movdqu %%xmm10, 160(%[after])\n\t"	"movdqu %%xmm11, 176(%[after])\n\t"
		"movdqu %%xmm12, 192(%[after])\n\t"	"movdqu %%xmm13, 208(%[after])\n\t"
		"movdqu %%xmm14, 224(%[after])\n\t"	"movdqu %%xmm15, 240(%[after])\n\t"
		: "=a"(got)
		: "0"((long)SYS_read), "D"(0l), "S"(buf), "d"(len), [before] "r"(before), [after] "r"(after)
		: "rcx", "r11", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
		  "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	if (memcmp(before, after, sizeof(before)))
		wrong = true;
	return got;
}

static unsigned long compute(unsigned long n)
{
	for (unsigned i = 0; i < 1000; i++)
		n = n * 6364136223846793005ul + 1442695040888963407ul;
	return n;
}

/* Without a wait, if that is how it is. */
static bool next_line(char *line, size_t room)
{
	static unsigned long n;
	size_t len = 0;

	while (len + 1 < room) {
		ssize_t got = read_checked(line + len, 1);

		if (got == -EAGAIN && busy) {
			for (unsigned i = 0; i < 10000; i++)
				n = compute(n);
			KEEP(n);
			continue;
		}
		if (got != 1) {
			if (got)
				wrong = true;
			return false;
		}
		if (line[len] == '\n')
			break;
		len++;
	}
	line[len] = '\0';
	return true;
}

static void fill(unsigned char *at, size_t size)
{
	for (size_t i = 0; i < size; i += 64)
		at[i] = (unsigned char)((uintptr_t)at / 16 + i / 64);
}

static bool is_filled(const unsigned char *at, size_t size)
{
	for (size_t i = 0; i < size; i += 64)
		if (at[i] != (unsigned char)((uintptr_t)at / 16 + i / 64))
			return false;
	return true;
}

static void *work(void *arg)
{
	unsigned char *held[HELD] = { NULL };
	size_t size[HELD] = { 0 };
	unsigned long n = (unsigned long)(uintptr_t)arg;

	for (;;) {
		unsigned i = (unsigned)((n = compute(n)) >> 33) % HELD;

		if (held[i] && !is_filled(held[i], size[i]))
			wrong = true;
		free(held[i]);
		size[i] = (n >> 20) % 3 ? (n >> 24) % 200 : (n >> 24) % 60000;
		held[i] = malloc(size[i]);
		fill(held[i], size[i]);
		atomic_fetch_add(&rounds, 1);
		if (i % 16 == 0)
			nanosleep(&(struct timespec){ 0, 200000 }, NULL);
	}
	return NULL;
}

static void make_holes(size_t mb)
{
	size_t nr = mb * 1000000 / SIZE;

	nr = nr > BLOCKS_MAX ? BLOCKS_MAX : nr;
	for (; nr_blocks < nr; nr_blocks++) {
		block[nr_blocks] = malloc(SIZE);
		fill(block[nr_blocks], SIZE);
	}
	for (size_t i = 0; i + 1 < nr_blocks; i += 2) {
		free(block[i]);
		block[i] = NULL;
	}
}

static bool all_well(void)
{
	for (size_t i = 0; i < nr_blocks; i++)
		if (block[i] && !is_filled(block[i], SIZE))
			return false;
	return !wrong;
}

static void filter_calls(void)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &all };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		say("bad seccomp");
	else
		say("ok");
}

/* The size of the free chunk behind block 1, as the chunk after it has it. */
static void turn_size(void)
{
	((unsigned long *)block[3])[-2] ^= 0x10000;
	say("ok");
}

static void obey(const char *line, int kept)
{
	if (!strncmp(line, "holes ", 6)) {
		make_holes(strtoul(line + 6, NULL, 10));
		say("ok");
	} else if (!strcmp(line, "errno")) {
		say("ok %d", kept);
	} else if (!strcmp(line, "rounds")) {
		say("ok %lu", atomic_load(&rounds));
	} else if (!strcmp(line, "seccomp")) {
		filter_calls();
	} else if (!strcmp(line, "damage") || !strcmp(line, "repair")) {
		turn_size();
	} else if (!strcmp(line, "verify")) {
		say(all_well() ? "ok" : "bad");
	} else {
		say("bad command");
	}
}

int main(int argc, char **argv)
{
	unsigned long threads = 0;
	char line[64];

	for (int i = 1; i < argc; i++) {
		busy |= !strcmp(argv[i], "-b");
		if (!strcmp(argv[i], "-t") && i + 1 < argc)
			threads = strtoul(argv[++i], NULL, 10);
	}
	if (busy)
		fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_NONBLOCK);
	for (unsigned long i = 0; i < threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)(i + 1)))
			return 2;
	}
	say_ready();
	for (;;) {
		errno = 77;
		if (!next_line(line, sizeof(line)) || !strcmp(line, "quit"))
			break;
		obey(line, errno);
	}
	return 0;
}
