/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A shell over the fake session. */

#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/shell/create.h"
#include "cmd/shell/lines.h"
#include "cmd/shell/script_file.h"
#include "cmd/terminal/signals.h"
#include "unwind/walk.h"

static struct shell *shell;
static char *texts[2];

/* In the child of harness_left. */
static void leave(struct shell *which, int status)
{
	(void)which;
	_exit(status);
}

struct shell *harness_shell(void)
{
	struct session_config *config;

	if (!shell && (signals_setup() || shell_create("mdbg", commands, leave, &shell)))
		abort();
	shell->failed = false;
	shell->thread = 0;
	config = session_config(shell->session);
	*config = session_config_default;
	fake_forget(shell->session);
	return shell;
}

struct shell *harness_attached(void)
{
	struct session *session;
	uint32_t stack;

	session = harness_shell()->session;
	fake_attach(session);
	*fake_asked(session) = (struct fake_asked){ .cont_signal = -1 };
	stack = fake_stack(session, WALK_COMPLETE);
	fake_block(session, 0x1000, 100, stack);
	fake_block(session, 0x2000, 5000, stack);
	fake_block(session, 0x3000, 24, LOG_STACK_NONE);
	return shell;
}

static int divert(int fd)
{
	int file = memfd_create("harness", MFD_CLOEXEC), saved = dup(fd);

	if (file < 0 || saved < 0 || dup2(file, fd) < 0)
		abort();
	close(file);
	return saved;
}

static char *restore(int fd, int saved)
{
	off_t len = lseek(fd, 0, SEEK_END);
	char *text = calloc(1, (size_t)len + 1);

	if (!text || pread(fd, text, (size_t)len, 0) != len)
		abort();
	dup2(saved, fd);
	close(saved);
	return text;
}

static struct outcome run(const char *text, bool (*fn)(struct shell *shell, const char *text))
{
	struct outcome outcome;
	int out, err;

	fflush(stdout);
	out = divert(STDOUT_FILENO);
	err = divert(STDERR_FILENO);
	outcome.ok = fn(shell, text);
	free(texts[0]);
	free(texts[1]);
	outcome.out = texts[0] = restore(STDOUT_FILENO, out);
	outcome.err = texts[1] = restore(STDERR_FILENO, err);
	return outcome;
}

struct outcome harness_line(const char *line)
{
	return run(line, shell_line);
}

int harness_left(const char *line)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		shell_line(shell, line);
		_exit(HARNESS_STAYED);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		abort();
	return WEXITSTATUS(status);
}

struct outcome harness_script(const char *text)
{
	char name[] = "/tmp/harness-XXXXXX";
	struct outcome outcome;
	int fd = mkstemp(name);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
	outcome = run(name, script_file_run);
	unlink(name);
	return outcome;
}

const char *harness_value(const char *script)
{
	Tcl_EvalEx(shell->tcl, script, -1, TCL_EVAL_GLOBAL);
	return Tcl_GetStringResult(shell->tcl);
}
