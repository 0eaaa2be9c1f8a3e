/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that has memory files of its own, called mdbg as mdbg's are. Each is made as mdbg makes its own, but for one
 * thing.
 *
 *	verify		all are open, mapped where they were, have what was written, and no memory but for that: `ok`
 *	hold		a block that only a word in one of the files holds: `ok ADDRESS`
 *	quit
 */
#include "target.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define JOURNAL	(256l << 10)	/* bytes of a journal's mapping */
#define LARGE	(64l << 20)	/* of a log */
#define AS_OURS	(MFD_CLOEXEC | MFD_ALLOW_SEALING)
#define SEALS	(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static const struct own {
	unsigned flags;
	long size, mapped, written;	/* bytes; 0: not given a size, not mapped, not written to */
	int seals;
	bool status;			/* O_APPEND */
	bool used;			/* it was given a size, and cut to none again */
} own[] = {
	{ .flags = 0 },
	{ .flags = MFD_CLOEXEC },
	{ .flags = AS_OURS, .status = true },
	{ .flags = AS_OURS, .seals = F_SEAL_SHRINK },
	{ .flags = AS_OURS, .written = 1 },
	{ .flags = AS_OURS, .size = LARGE },
	{ .flags = AS_OURS, .used = true },
	{ .flags = AS_OURS, .size = JOURNAL, .mapped = JOURNAL },
	{ .flags = AS_OURS, .size = LARGE, .mapped = LARGE },
	{ .flags = AS_OURS, .size = LARGE, .mapped = JOURNAL, .written = 1 },
	{ .flags = 0, .size = LARGE, .mapped = JOURNAL, .written = 1, .seals = SEALS },
};

#define HOLDER	10u	/* its number: it is mapped as a journal is, and sealed */
#define NR	(sizeof(own) / sizeof(*own))

static int fd[NR];
static char *at[NR];

static void must(bool good)
{
	if (!good) {
		say("bad: %s", strerror(errno));
		_exit(1);
	}
}

static void make(unsigned i)
{
	/* The allowance to be sealed is a seal less. */
	unsigned flags = own[i].flags | (own[i].seals ? MFD_ALLOW_SEALING : 0);

	fd[i] = (int)syscall(SYS_memfd_create, "mdbg", flags);
	must(fd[i] >= 0);
	if (own[i].used) {
		usleep(20000);	/* times of files are as coarse as the kernel's clock */
		must(!ftruncate(fd[i], 4096) && !ftruncate(fd[i], 0));
	}
	must(!own[i].size || !ftruncate(fd[i], own[i].size));
	must(!own[i].seals || !fcntl(fd[i], F_ADD_SEALS, own[i].seals));
	must(!own[i].status || !fcntl(fd[i], F_SETFL, O_APPEND));
	if (own[i].mapped) {
		at[i] = mmap(NULL, (size_t)own[i].mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd[i], 0);
		must(at[i] != MAP_FAILED);
	}
	must(!own[i].written || pwrite(fd[i], "x", 1, 100) == 1);
}

static bool is_kept(unsigned i)
{
	struct stat st;
	char byte = 'x';

	if (fstat(fd[i], &st) || st.st_size != (own[i].size || !own[i].written ? own[i].size : 101))
		return false;
	if (own[i].written && (pread(fd[i], &byte, 1, 100) != 1 || byte != 'x'))
		return false;
	if (!own[i].mapped)
		return true;
	if (own[i].written)
		return *(volatile char *)(at[i] + 100) == 'x';
	/* It is there, and nobody has looked into it. */
	return !msync(at[i], (size_t)own[i].mapped, MS_ASYNC) && !st.st_blocks;
}

static void verify(void)
{
	for (unsigned i = 0; i < NR; i++) {
		if (!is_kept(i)) {
			say("bad: file %u", i);
			return;
		}
	}
	say("ok");
}

/* The block is held by its address in file HOLDER alone. */
static NOINLINE void hold(void)
{
	void *volatile *word = (void *volatile *)(void *)(at[HOLDER] + 4096);

	*word = malloc(4321);
	say("ok %p", *word);
}

int main(void)
{
	const char *line;

	for (unsigned i = 0; i < NR; i++)
		make(i);
	/* mdbg watches programs that have an allocator. */
	free(malloc(100));
	say_ready();
	while ((line = hear()) && strcmp(line, "quit")) {
		if (!strcmp(line, "verify"))
			verify();
		else if (!strcmp(line, "hold"))
			hold();
		else
			say("bad: what?");
	}
	return 0;
}
