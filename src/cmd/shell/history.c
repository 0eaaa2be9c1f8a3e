/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * history, and the history of the prompt's lines, which is kept from one run to the next in
 * $XDG_STATE_HOME/mdbg/history (~/.local/state).
 *
 * The file is made, read and written only where nobody but root and mdbg's own user can change what
 * that path leads to (os/trust.h), and never through a symbolic link. Lines are written to a new file beside it, mode 0600, which then takes its place.
 */

#include "cmd/shell/history.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <readline/history.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/shell/cmd.h"
#include "heap/filter.h"
#include "os/trust.h"

#define LINES_MAX	2000

static struct err *check_file(const char *file)
{
	struct stat st;

	if (lstat(file, &st))
		return err_sys("%s", file);
	if (S_ISLNK(st.st_mode))
		return err_create(ERR_PERM, "%s: it is a symbolic link", file);
	return trust_file(file, NULL);
}

/* The file, which is made, empty, where there is none: so it can be checked. */
static struct err *make_file(const char *folder, char **ret)
{
	AUTO_FREE char *file = NULL;
	AUTO_CLOSE int dir_fd = -1, fd = -1;
	struct err *err = trust_folder(folder, true, &dir_fd);

	if (err)
		return err;
	if (asprintf(&file, "%s/history", folder) < 0) {
		file = NULL;
		return err_nomem;
	}
	fd = openat(dir_fd, "history", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 && errno != EEXIST)
		return err_sys("%s", file);
	err = check_file(file);
	if (!err)
		*ret = take(file);
	return err;
}

struct err *history_load(char **file_ret)
{
	AUTO_FREE char *folder = trust_user_folder("XDG_STATE_HOME", ".local/state");
	struct err *err;

	*file_ret = NULL;
	using_history();
	stifle_history(LINES_MAX);
	/* Without both variables there is no history across runs. */
	if (!folder)
		return NULL;
	err = make_file(folder, file_ret);
	/* Only what somebody else may have written is worth a message. */
	if (err)
		return err->code == ERR_SYS || err->errnum ? NULL : err_wrap(err, "no history");
	read_history(*file_ret);
	return NULL;
}

static struct err *write_lines(FILE *out, const char *file)
{
	HIST_ENTRY **list = history_list();

	for (size_t i = 0; list && list[i]; i++)
		fprintf(out, "%s\n", list[i]->line);
	return fflush(out) || ferror(out) ? err_sys("%s", file) : NULL;
}

struct err *history_save(const char *file)
{
	struct str beside AUTO_STR = STR_INIT;
	AUTO_FCLOSE FILE *out = NULL;
	AUTO_CLOSE int fd = -1;
	struct err *err = check_file(file);

	if (!err)
		err = str_addf(&beside, "%s.XXXXXX", file);
	if (err)
		return err_wrap(err, "the history is not kept");
	fd = mkostemp(beside.at, O_CLOEXEC);	/* mode 0600 */
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		return err_sys("the history is not kept: %s", file);
	(void)take_fd(fd);
	err = write_lines(out, file);
	if (!err && rename(beside.at, file))
		err = err_sys("%s", file);
	if (err)
		unlink(beside.at);
	return err ? err_wrap(err, "the history is not kept") : NULL;
}

static struct err *run(struct call *call)
{
	HIST_ENTRY *const *lines = history_list();
	uint64_t most = LINES_MAX;
	int i;

	if (call->argc && parse_number(call->argv[0], &most))
		return err_create(ERR_USAGE, "'%s' is no number of lines", call->argv[0]);
	for (i = most < (uint64_t)history_length ? history_length - (int)most : 0;
	     lines && i < history_length; i++) {
		out_f(call->out, "%5d  ", history_base + i);
		out_outside(call->out, (struct outside){ lines[i]->line });
		out_text(call->out, "\n");
	}
	return NULL;
}

const struct cmd cmd_history = {
	.name		= "history",
	.usage		= "?N?",
	.brief		= "list the lines typed at the prompt, or the last N of them",
	.help		= "The oldest comes first. The arrow keys and Ctrl-R bring a line back. Lines of\n"
			  "earlier runs are kept in $XDG_STATE_HOME/mdbg/history.\n",
	.run		= run,
	.max_args	= 1,
};
