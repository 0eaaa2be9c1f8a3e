/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target that has children one after the other, waits for them in every way, and counts the SIGCHLDs: a child that it has not
 * made, or a signal too many, is noticed.
 *
 *	go, rest		a thread makes children and waits for them; it does so no more
 *	children		`ok N`: how many there were
 *	none			wait says that there is no child, however it is asked (not while it goes)
 *	grow			80 MB of blocks, all reachable, that are written to all the time while it goes
 *	share MB, direct PATH	shared memory; a file open for direct I/O; `no` where that cannot be had
 *	huge MB			the same with private memory of huge pages (hugetlbfs)
 *	undo			without them
 *	hide			three blocks of 4567 bytes: the only pointers to them are in memory that is shared, that no fork
 *				copies, and that a fork wipes
 *	verify, quit
 */
#include "target.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PAGE		4096u
#define HIDDEN		4567u
#define NODE_PAYLOAD	1000u
#define NODES		80000u

struct node {
	struct node *next;
	uint64_t written;
	char payload[NODE_PAYLOAD];
};

static struct node *list;
static volatile bool going, bad;
static volatile int nr_children, nr_signals;
static pthread_t thread;
static void *shared;
static size_t shared_len;
static int direct = -1;
static void ***hidden[3];

static void on_child(int signal UNUSED)
{
	__atomic_fetch_add(&nr_signals, 1, __ATOMIC_RELAXED);
}

static pid_t wait_somehow(unsigned how, pid_t pid, int *status)
{
	siginfo_t info = { .si_pid = 0 };
	pid_t got;

	switch (how % 4) {
	case 0:
		return wait4(-1, status, 0, NULL);
	case 1:
		return waitpid(pid, status, 0);
	case 2:
		do
			got = waitpid(-1, status, WNOHANG);
		while (!got);
		return got;
	default:
		if (waitid(P_ALL, 0, &info, WEXITED))
			return -1;
		*status = W_EXITCODE(info.si_status, 0);
		return info.si_pid;
	}
}

static bool has_none(void)
{
	siginfo_t info;
	int status;

	errno = 0;
	if (waitpid(-1, &status, WNOHANG) != -1 || errno != ECHILD)
		return false;
	errno = 0;
	return waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == -1 &&
	       errno == ECHILD;
}

static void have_child(unsigned i)
{
	int status, code = (int)(i % 100);
	pid_t pid = fork(), got;

	if (!pid)
		_exit(code);
	if (pid < 0) {
		bad = true;
		return;
	}
	do
		got = wait_somehow(i, pid, &status);
	while (got < 0 && errno == EINTR);
	if (got != pid || !WIFEXITED(status) || WEXITSTATUS(status) != code || !has_none())
		bad = true;
	nr_children++;
}

static void *have_children(void *arg UNUSED)
{
	for (unsigned i = 0; going; i++) {
		have_child(i);
		for (struct node *node = list; node; node = node->next)
			node->written = i;
	}
	return NULL;
}

static void go(void)
{
	going = true;
	if (pthread_create(&thread, NULL, have_children, NULL))
		_exit(98);
	say("ok");
}

static void rest(void)
{
	going = false;
	pthread_join(thread, NULL);
	say("ok");
}

static void grow(void)
{
	for (unsigned i = 0; i < NODES; i++) {
		struct node *node = malloc(sizeof(*node));

		memset(node, 0x5a, sizeof(*node));
		node->next = list;
		list = node;
	}
	say("ok");
}

static void share(size_t mb, int flags)
{
	shared_len = mb << 20;
	shared = mmap(NULL, shared_len, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		say("no");
		return;
	}
	memset(shared, 1, shared_len);		/* what was never touched is not copied */
	say("ok");
}

static void undo(void)
{
	if (shared)
		munmap(shared, shared_len);
	shared = NULL;
	if (direct >= 0)
		close(direct);
	direct = -1;
	say("ok");
}

static NOINLINE bool hide_one(unsigned i, int flags, int advice)
{
	void ***at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || (advice && madvise(at, PAGE, advice)))
		return false;
	*at = malloc(HIDDEN);
	hidden[i] = at;
	return true;
}

static NOINLINE void clear_stack(void)
{
	volatile char below[4096];

	for (size_t i = 0; i < sizeof(below); i++)
		below[i] = 0;
}

static void hide(void)
{
	bool done = hide_one(0, MAP_SHARED, 0) && hide_one(1, MAP_PRIVATE, MADV_DONTFORK) &&
		    hide_one(2, MAP_PRIVATE, MADV_WIPEONFORK);

	clear_stack();
	say(done ? "ok" : "no");
}

/* A signal may be still on its way. */
static void verify(void)
{
	bool good = !bad;

	for (unsigned i = 0; !going && nr_signals < nr_children && i < 10000; i++)
		usleep(1000);
	good = good && (going || nr_signals == nr_children);
	for (struct node *node = list; node; node = node->next)
		good = good && node->payload[NODE_PAYLOAD - 1] == 0x5a;
	say(good ? "ok" : "bad %d signals, %d children", nr_signals, nr_children);
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_child, .sa_flags = SA_RESTART };
	char *line;

	sigaction(SIGCHLD, &action, NULL);
	say_ready();
	while ((line = hear()) && strcmp(line, "quit")) {
		if (!strcmp(line, "go"))
			go();
		else if (!strcmp(line, "rest"))
			rest();
		else if (!strcmp(line, "children"))
			say("ok %d", nr_children);
		else if (!strcmp(line, "none"))
			say(has_none() ? "ok" : "bad: there is a child");
		else if (!strcmp(line, "grow"))
			grow();
		else if (!strncmp(line, "share ", 6))
			share((size_t)atoi(line + 6), MAP_SHARED);
		else if (!strncmp(line, "huge ", 5))
			share((size_t)atoi(line + 5), MAP_PRIVATE | MAP_HUGETLB);
		else if (!strncmp(line, "direct ", 7))
			say((direct = open(line + 7, O_RDONLY | O_DIRECT | O_CLOEXEC)) < 0 ? "no" : "ok");
		else if (!strcmp(line, "undo"))
			undo();
		else if (!strcmp(line, "hide"))
			hide();
		else
			verify();
	}
	return 0;
}
