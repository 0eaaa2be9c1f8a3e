/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target whose journal of mdbg's changes all the time: numbers of entries become wild ones and what they were again,
 * as fast as can be, by a thread, or by a process that mdbg does not stop.
 *
 *	flip thread|process any		all kinds of lies: for an mdbg that goes by what it knows itself
 *	flip thread|process left	for a later mdbg: nothing that hides from it the text that the earlier one
 *					has patched, or lets it take what is the target's own for that one's
 *	still				no more: all is what it was, but for what mdbg has written
 *	child				a child that lives on, and that entries name: `ok PID`
 *	alloc N				N blocks more
 *	verify, quit
 */
#include "journal.h"
#include "target.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define JUNK		64		/* entries behind those of mdbg's */
#define UNKNOWN		77		/* a kind that there is not */
#define PAGE		4096ul
#define ELSEWHERE	0x30000000ul	/* and not where a forked copy has it */
#define MAX		10000

/* Of the target and of the process that flips for it. */
static struct order {
	char link[96];
	pid_t child;			/* that entries name */
	bool left, by_thread;
	volatile bool go, busy;
} *order;

static struct journal_entry saved[JOURNAL_ROOM];
static uint8_t *precious;		/* a page of data with nothing around it */
static pid_t helper;
static pthread_t thread;
static void *block[MAX];
static int nr_blocks;

/* --- the journal --- */

static uint64_t pick(uint64_t *random, const uint64_t *from, size_t nr)
{
	return from[next_random(random) % nr];
}

#define PICK(random, ...) \
	pick(random, (uint64_t[]){ __VA_ARGS__ }, sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static uint64_t wild_address(uint64_t *random)
{
	return PICK(random, (uintptr_t)precious, 0, 1, UINT64_MAX, UINT64_MAX - PAGE + 1, 1ul << 63);
}

static uint64_t wild_len(uint64_t *random)
{
	return PICK(random, 0, 33, PAGE - 1, 1ul << 63, UINT64_MAX);
}

static void lay_junk(struct journal_entry *entry, uint64_t *random)
{
	entry->kind = (uint32_t)(next_random(random) % 10);
	entry->address = wild_address(random);
	entry->len = PICK(random, 5, 32, 20480, 256 << 10, wild_len(random));
	entry->aux = PICK(random, 1, SIGUSR1, SIGTRAP, (uint64_t)order->child, (uint64_t)getppid(), UINT32_MAX);
	memset(entry->old, 0, sizeof(entry->old));
	memcpy(entry->new, precious, sizeof(entry->new));
	entry->state = (uint32_t)(next_random(random) % 5);
}

static void flip_any(struct journal *journal, uint32_t nr, uint64_t *random)
{
	uint32_t i = (uint32_t)(next_random(random) % nr);
	volatile struct journal_entry *entry = &journal->entry[i];

	entry->kind = (uint32_t)(next_random(random) % 10);
	entry->address = wild_address(random);
	entry->len = wild_len(random);
	*(volatile uint32_t *)&journal->nr = (uint32_t)PICK(random, 0, 1, JOURNAL_ROOM, UINT32_MAX);
	entry->kind = saved[i].kind;
	entry->address = saved[i].address;
	entry->len = saved[i].len;
	*(volatile uint32_t *)&journal->nr = nr;
}

static void flip_left(struct journal *journal, uint32_t nr, uint64_t *random)
{
	uint32_t i = (uint32_t)(next_random(random) % nr);
	volatile struct journal_entry *entry = &journal->entry[i];

	switch (next_random(random) % 4) {
	case 0:
		entry->kind = UNKNOWN;
		break;
	case 1:
		entry->len = wild_len(random);
		break;
	case 2:
		if (entry->kind != JOURNAL_TEXT)
			entry->address = wild_address(random);
		break;
	default:
		*(volatile uint32_t *)&journal->nr = (uint32_t)PICK(random, nr + JUNK, JOURNAL_ROOM, UINT32_MAX);
	}
	entry->kind = saved[i].kind;
	entry->address = saved[i].address;
	entry->len = saved[i].len;
	*(volatile uint32_t *)&journal->nr = nr;
}

/* mdbg takes out what it has mapped, but this has other rights (a thread), or is no process of mdbg's. */
static void flip(int also)
{
	int fd = open(order->link, O_RDWR | O_CLOEXEC);
	struct journal *journal = (struct journal *)mmap((void *)ELSEWHERE, JOURNAL_SIZE, PROT_READ | PROT_WRITE | also,
							 MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
	uint64_t random = 0x9e3779b97f4a7c15ul;
	uint32_t nr;

	close(fd);
	if (journal == MAP_FAILED)
		_exit(90);
	nr = journal->nr;
	memcpy(saved, journal->entry, nr * sizeof(*saved));
	for (order->busy = true; order->go;) {
		if (order->left)
			flip_left(journal, nr, &random);
		else
			flip_any(journal, nr, &random);
		lay_junk(&journal->entry[nr + next_random(&random) % JUNK], &random);
	}
	memset(&journal->entry[nr], 0, JUNK * sizeof(*saved));
	munmap(journal, JOURNAL_SIZE);
	order->busy = false;
}

/* --- who flips --- */

static void *flip_in_thread(void *arg)
{
	flip(PROT_EXEC);
	return arg;
}

/* It is there before mdbg is, which has nothing to do with it. */
static void start_helper(void)
{
	helper = fork();
	if (helper)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		while (!order->go || order->by_thread)
			nap_us(100);
		flip(0);
	}
}

static bool begin(const char *who, const char *how)
{
	char link[80];

	if (!find_journal(link, sizeof(link)))
		return false;
	/* Not "self": it may be the helper that opens it. */
	snprintf(order->link, sizeof(order->link), "/proc/%d%s", (int)getpid(), link + strlen("/proc/self"));
	order->left = !strcmp(how, "left");
	order->by_thread = !strcmp(who, "thread");
	__sync_synchronize();
	order->go = true;
	if (order->by_thread && pthread_create(&thread, NULL, flip_in_thread, NULL))
		return false;
	while (!order->busy && (order->by_thread || !waitpid(helper, NULL, WNOHANG)))
		nap_us(100);
	return order->busy;
}

static void end(void)
{
	order->go = false;
	if (order->by_thread)
		pthread_join(thread, NULL);
	while (order->busy)
		nap_us(100);
}

/* --- what is the target's own --- */

static void on_signal(int signal)
{
	(void)signal;
}

static bool prepare(void)
{
	uint8_t *pages = (uint8_t *)mmap(NULL, 129 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	order = (struct order *)mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || order == MAP_FAILED)
		return false;
	precious = pages + 64 * PAGE;
	if (mprotect(precious, PAGE, PROT_READ | PROT_WRITE))
		return false;
	canary_fill(precious, PAGE);
	return signal(SIGUSR1, on_signal) != SIG_ERR;
}

static void make_child(void)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	order->child = child;
	say("ok %d", (int)child);
}

static void allocate(int nr)
{
	for (; nr > 0 && nr_blocks < MAX; nr--) {
		block[nr_blocks] = malloc(333);
		canary_fill(block[nr_blocks++], 333);
	}
	say("ok");
}

static bool verify(void)
{
	struct sigaction action;

	for (int i = 0; i < nr_blocks; i++)
		if (!canary_holds(block[i], 333))
			return false;
	return canary_holds(precious, PAGE) && !sigaction(SIGUSR1, NULL, &action) &&
		action.sa_handler == on_signal;
}

static void obey(const char *line)
{
	char who[16], how[16];
	const char *rest;

	if (sscanf(line, "flip %15s %15s", who, how) == 2) {
		say(begin(who, how) ? "ok" : "bad: no journal");
	} else if (after(line, "still")) {
		end();
		say("ok");
	} else if (after(line, "child")) {
		make_child();
	} else if ((rest = after(line, "alloc"))) {
		allocate(atoi(rest));
	} else if (after(line, "verify")) {
		say(verify() ? "ok" : "bad: its data was changed");
	} else {
		say("bad: not understood: %s", line);
	}
}

int main(void)
{
	char *line;

	if (!prepare())
		return 1;
	start_helper();
	say_ready();
	while ((line = hear()) && strcmp(line, "quit"))
		obey(line);
	if (order->child > 0) {
		kill(order->child, SIGKILL);
		waitpid(order->child, NULL, 0);
	}
	kill(helper, SIGKILL);
	waitpid(helper, NULL, 0);
	return 0;
}
