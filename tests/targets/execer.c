/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target that executes itself anew, and has no children that it would know of: a SIGCHLD, or a child, is noticed.
 *
 *	execer [handled|blocked|ignored|spin]	what it does with SIGCHLD. spin: blocked, and it executes itself again and again as long as
 *						nothing is said to it
 *	exec HOW	execute itself so; `ready PID` again
 *	none		no SIGCHLD has come, and there is no child, however wait is asked
 *	unseen		the same, but for children that only __WALL or __WCLONE show
 *	grow		80 MB of blocks
 *	verify, quit
 */
#include "target.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#define BLOCK	1000u
#define BLOCKS	80000u
#define SPIN_MS	2

static volatile sig_atomic_t nr_signals;
static void **list;

static void on_child(int signal UNUSED)
{
	nr_signals++;
}

static void block(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(how, &set, NULL);
}

static void prepare(const char *how)
{
	struct sigaction action = { .sa_handler = !strcmp(how, "ignored") ? SIG_IGN : on_child };

	sigaction(SIGCHLD, &action, NULL);
	block(!strcmp(how, "blocked") || !strcmp(how, "spin") ? SIG_BLOCK : SIG_UNBLOCK);
}

static bool has_heard(void)
{
	sigset_t pending;

	return nr_signals || sigpending(&pending) || sigismember(&pending, SIGCHLD);
}

static bool has_child(int flags)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | flags) != -1 || errno != ECHILD;
}

static void check(int flags)
{
	if (has_heard() || has_child(flags))
		say("bad: %s%s", has_heard() ? "a SIGCHLD" : "", has_child(flags) ? " a child" : "");
	else
		say("ok");
}

static void grow(void)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		void **block_of = malloc(BLOCK);

		memset(block_of, 0x5a, BLOCK);
		*block_of = list;
		list = block_of;
	}
	say("ok");
}

/* The next one has it so from its first instruction on. */
static void become(const char *how)
{
	block(!strcmp(how, "blocked") || !strcmp(how, "spin") ? SIG_BLOCK : SIG_UNBLOCK);
	execl("/proc/self/exe", "execer", how, NULL);
	_exit(97);
}

static void spin(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	if (poll(&input, 1, SPIN_MS) == 0)
		become("spin");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "handled", *next;
	char *line;

	prepare(how);
	if (strcmp(how, "spin"))
		say_ready();
	else
		spin();
	while ((line = hear()) && strcmp(line, "quit")) {
		next = after(line, "exec");
		if (next)
			become(next);
		else if (!strcmp(line, "none"))
			check(__WALL);
		else if (!strcmp(line, "unseen"))
			check(0);
		else if (!strcmp(line, "grow"))
			grow();
		else
			say("ok");
	}
	return 0;
}
