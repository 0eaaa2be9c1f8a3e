/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `> FILE`, `>> FILE`, `| SHELL COMMAND`. */

#include "cmd/terminal/redirect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tcl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cmd/terminal/spawn.h"
#include "cmd/terminal/terminal.h"
#include "os/output.h"
#include "report/out.h"

struct redirect {
	struct redirect *below;
	enum redirect_kind kind;
	int saved;		/* the descriptor that was 1 before */
	pid_t child;		/* the process that reads the pipe */
	char name[256];
};

static struct err *open_file(struct redirect *redirect, const char *name, int *fd_ret)
{
	int how = redirect->kind == REDIRECT_APPEND ? O_APPEND : O_TRUNC;
	Tcl_DString native;
	struct err *err;

	if (!Tcl_TranslateFileName(NULL, name, &native))
		return err_create(ERR_NOTFOUND, "open %s: no such user", name);
	err = output_open(Tcl_DStringValue(&native), how, 0666, fd_ret);
	Tcl_DStringFree(&native);
	if (err)
		return err_wrap(err_recode(err, ERR_SYS), "open %s", name);
	snprintf(redirect->name, sizeof(redirect->name), "%s", name);
	return NULL;
}

static struct err *open_pipe(struct redirect *redirect, const char *command, int *fd_ret)
{
	int ends[2];
	struct err *err;

	if (pipe2(ends, O_CLOEXEC))
		return err_sys("pipe");
	err = spawn_shell(command, ends[0], &redirect->child);
	close(ends[0]);
	if (err) {
		close(ends[1]);
		return err;
	}
	snprintf(redirect->name, sizeof(redirect->name), "%s", command);
	*fd_ret = ends[1];
	return NULL;
}

struct err *redirect_open(struct terminal *terminal, enum redirect_kind kind, const char *rest)
{
	AUTO_FREE struct redirect *redirect = calloc(1, sizeof(*redirect));
	AUTO_CLOSE int fd = -1;
	struct err *err;

	if (!redirect)
		return err_nomem;
	rest += strspn(rest, " \t");
	if (!*rest)
		return err_create(ERR_USAGE, kind == REDIRECT_PIPE ? "no command after |" :
								     "no file name after >");
	err = redirect_flush(terminal);
	if (err)
		return err;
	redirect->kind = kind;
	err = kind == REDIRECT_PIPE ? open_pipe(redirect, rest, &fd) :
				      open_file(redirect, rest, &fd);
	if (err)
		return err;
	/* This is -1 if there is no standard output; then there is none to put back. */
	redirect->saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (dup2(fd, STDOUT_FILENO) < 0) {
		err = err_sys("dup2");
		if (redirect->saved >= 0)
			close(redirect->saved);
		return err;
	}
	redirect->below = terminal->redirect;
	terminal->redirect = take(redirect);
	return NULL;
}

struct err *redirect_open_words(struct terminal *terminal, enum redirect_kind kind, int nr,
				const char *const *words)
{
	AUTO_STR struct str rest = STR_INIT;
	struct err *err = str_add(&rest, words[0] + (kind == REDIRECT_APPEND ? 2 : 1));
	int i;

	for (i = 1; !err && i < nr; i++) {
		if (kind != REDIRECT_PIPE && rest.len)
			return err_create(ERR_USAGE, "one file name goes after %s",
					  kind == REDIRECT_APPEND ? ">>" : ">");
		err = str_addf(&rest, "%s%s", rest.len ? " " : "", words[i]);
	}
	return err ? err : redirect_open(terminal, kind, str_text(&rest));
}

static struct err *restore(struct redirect *redirect)
{
	/*
	 * dup2 would close the file and drop the error of close (quota, network file systems), so
	 * the file is closed by a descriptor of its own.
	 */
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	struct err *err = NULL;

	if (redirect->saved >= 0) {
		if (dup2(redirect->saved, STDOUT_FILENO) < 0)
			err = err_sys("dup2");
		close(redirect->saved);
	} else {
		close(STDOUT_FILENO);
	}
	if (fd >= 0 && close(fd) && !err)
		err = err_sys("write to %s", redirect->name);
	return err;
}

struct err *redirect_close(struct terminal *terminal)
{
	AUTO_FREE struct redirect *redirect = terminal->redirect;
	struct err *flush_err = redirect_flush(terminal), *err;
	int status = 0;

	terminal->redirect = redirect->below;
	err = restore(redirect);
	if (redirect->child)
		status = spawn_wait(redirect->child);
	if (flush_err)
		return flush_err;
	if (!err && WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127))
		err = err_create(ERR_NOTFOUND, "| %s: cannot be run", redirect->name);
	return err;
}

bool redirect_is_pipe(const struct terminal *terminal)
{
	return terminal->redirect && terminal->redirect->kind == REDIRECT_PIPE;
}

bool redirect_reader_may_leave(const struct terminal *terminal)
{
	return !terminal->redirect || redirect_is_pipe(terminal);
}

const char *redirect_name(const struct terminal *terminal)
{
	return terminal->redirect ? terminal->redirect->name : "standard output";
}

struct err *redirect_write_err(const struct terminal *terminal)
{
	errno = Tcl_GetErrno();
	return err_recode(out_write_err(redirect_name(terminal)), ERR_SYS);
}

struct err *redirect_flush(struct terminal *terminal)
{
	Tcl_Channel channel = Tcl_GetStdChannel(TCL_STDOUT);

	if (!channel || Tcl_Flush(channel) == TCL_OK)
		return NULL;
	if (Tcl_GetErrno() == EPIPE && redirect_reader_may_leave(terminal))
		return NULL;
	return redirect_write_err(terminal);
}
