/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Debug files from a server, as the settings allow. */

#include "cmd/shell/debuginfod.h"

#include "cmd/shell/shell.h"
#include "report/progress.h"
#include "symbol/debug_server.h"
#include "symbol/symbol.h"

static void step(void *ctx UNUSED, uint64_t done, uint64_t total)
{
	progress_step("getting a debug file", done, total);
}

static struct err *ask(struct shell *shell, const char *build_id, int *fd_ret)
{
	const struct debug_request request = {
		.build_id = build_id,
		.most_bytes = shell->debuginfod_size,
		.most_seconds = shell->debuginfod_time,
		.step = step,
	};
	struct err *err = debug_server_find(shell->debug_server, &request, fd_ret);

	progress_step(NULL, 0, 0);
	return err;
}

static const char *hint_for(enum err_code code)
{
	if (code == ERR_RANGE)
		return "set debuginfod-size SIZE, and then set debuginfod on";
	if (code == ERR_TIMEOUT)
		return "no other file is asked for until `set debuginfod on`; set debuginfod-time "
		       "SECONDS before it";
	return "no other file is asked for until `set debuginfod on`";
}

/*
 * A file that no server has is no warning: `map -v` shows it. Nor is Ctrl-C: the command that it
 * ends reports it.
 */
static int fetch(void *ctx, const char *build_id, const char *path)
{
	struct shell *shell = ctx;
	struct err *err;
	int fd = -1;

	if (shell->debug_server_failed)
		return -1;
	if (session_state(shell->session) == SESSION_STOPPED) {
		shell->debug_server_skipped = true;
		return -1;
	}
	err = ask(shell, build_id, &fd);
	if (!err || err->code == ERR_NOTFOUND || err->code == ERR_CANCELLED)
		return fd;
	shell->debug_server_failed = err->code != ERR_RANGE;
	err = err_wrap(err, "debuginfod: the debug file of %s", path);
	terminal_warning(&shell->terminal, err->msg, hint_for(err->code));
	return -1;
}

static void tell_symbols(struct shell *shell)
{
	if (session_log(shell->session))
		symbol_file_set_fetch(session_symbols(shell->session),
				      shell->debuginfod ? fetch : NULL, shell);
}

struct err *debuginfod_switch(struct shell *shell, bool on)
{
	struct err *err = on && !shell->debug_server ? debug_server_create(&shell->debug_server) :
						       NULL;

	if (err)
		return err;
	shell->debuginfod = on;
	shell->debug_server_failed = shell->debug_server_skipped = false;
	tell_symbols(shell);
	return NULL;
}

struct err *debuginfod_new_symbols(struct shell *shell)
{
	struct err *err = symbols_set_debug_path(session_symbols(shell->session),
						 shell->debug_path);

	shell->debug_server_skipped = shell->lines_hinted = false;
	if (shell->debuginfod)
		tell_symbols(shell);
	return err;
}

void debuginfod_look_again(struct shell *shell)
{
	struct symbols *symbols;

	if (!shell->debug_server_skipped || session_state(shell->session) == SESSION_STOPPED)
		return;
	shell->debug_server_skipped = false;
	symbols = session_symbols_known(shell->session);
	if (symbols)
		symbols_retry(symbols);
}

void debuginfod_hint(struct shell *shell)
{
	const struct symbols *symbols;
	size_t nr;

	if (!shell->interactive || shell->quiet || shell->lines_hinted || !shell->session)
		return;
	symbols = session_symbols_known(shell->session);
	nr = symbols ? symbol_file_lacking_lines(symbols) : 0;
	if (!nr)
		return;
	shell->lines_hinted = true;
	terminal_note(&shell->terminal,
		      "%zu %s without debug information, so without lines; `map -v` says which, "
		      "and what to install", nr, nr == 1 ? "module is" : "modules are");
}
