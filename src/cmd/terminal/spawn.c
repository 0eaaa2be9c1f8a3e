/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs that the user asked for. */

#include "cmd/terminal/spawn.h"

#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "cmd/terminal/signals.h"
#include "os/environment.h"
#include "os/oom_score.h"

#define LOOK_MS	100

/* Signals that mdbg ignores must not be ignored in the child. */
static void default_signals(posix_spawnattr_t *attr)
{
	sigset_t set;

	sigemptyset(&set);
	posix_spawnattr_setsigmask(attr, &set);
	sigaddset(&set, SIGTTIN);
	sigaddset(&set, SIGTTOU);
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGTSTP);
	posix_spawnattr_setsigdefault(attr, &set);
	posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

/* With the score of mdbg before it has taken another one (os/oom_score.h). */
static int spawn_as_before(pid_t *ret, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attr, char *const *argv, char *const *env)
{
	int error;

	oom_score_before_spawn();
	error = posix_spawn(ret, "/bin/sh", actions, attr, argv, env);
	oom_score_after_spawn();
	return error;
}

struct err *spawn_shell(const char *command, int stdin_fd, pid_t *ret)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)"--", (char *)command, NULL };
	AUTO_FREE char **env = environment_for_programs();
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	struct err *err = NULL;

	if (posix_spawn_file_actions_init(&actions))
		return err_nomem;
	if (posix_spawnattr_init(&attr)) {
		posix_spawn_file_actions_destroy(&actions);
		return err_nomem;
	}
	default_signals(&attr);
	if (stdin_fd >= 0)
		errno = posix_spawn_file_actions_adddup2(&actions, stdin_fd, STDIN_FILENO);
	else
		errno = 0;
	if (!errno)
		errno = env ? spawn_as_before(ret, &actions, &attr, argv, env) : ENOMEM;
	if (errno)
		err = err_sys("start sh");
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return err;
}

/* If mdbg is in the foreground of a terminal, its Ctrl-C has reached the child already. */
static void pass_on_interrupt(pid_t pid, bool *done)
{
	if (*done || !cancel_requested())
		return;
	*done = true;
	if (tcgetpgrp(STDIN_FILENO) != getpgrp())
		kill(pid, SIGINT);
}

int spawn_wait(pid_t pid)
{
	bool interrupted = false;
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int status = 0;
	pid_t ended;

	/* The loop looks again and again, since a signal may have come just before the wait. */
	while (!(ended = waitpid(pid, &status, WNOHANG)) || (ended < 0 && errno == EINTR)) {
		if (signals_ending()) {
			kill(pid, SIGTERM);
			break;
		}
		pass_on_interrupt(pid, &interrupted);
		poll(&end, 1, LOOK_MS);
	}
	if (end.fd >= 0)
		close(end.fd);
	return status;
}
